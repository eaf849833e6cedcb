// The search runs in a worker, which browsers do not allow a page that was opened as a file. There, a frame stands in.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inside = this.frame.contentWindow;
      const script = Object.assign(inside.document.createElement("script"), { src: new URL(url, location).href });
      inside.postMessage = (data) => {
        this.dispatchEvent(new MessageEvent("message", { data }));
        this.onmessage?.(new MessageEvent("message", { data }));
      };
      inside.importScripts = () => {};
      this.ready = new Promise((resolve) => (script.onload = resolve));
      inside.document.body.append(script);
    }
    postMessage(data) {
      this.ready.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })));
    }
    terminate() {
      this.frame.remove();
    }
  };
}
