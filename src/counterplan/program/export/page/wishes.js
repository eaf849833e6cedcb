// What a person cannot do and, where plans are made for one's own effort, how hard the rest is.
"use strict";

const HARD = [
  [0.25, "much easier for me: a quarter of the effort"], [0.35, "much easier for me: about a third of the effort"],
  [0.5, "easier for me: half the effort"], [0.7, "a little easier for me"], [1, "as hard as for most people"],
  [1.4, "a little harder for me"], [2, "harder for me: twice the effort"],
  [2.8, "much harder for me: about three times the effort"], [4, "much harder for me: four times the effort"],
];
const USUAL = 4;

// The position of a slider that is nearest to a weight, and the weight in words.
const nearest = (weight) => {
  const apart = HARD.map(([one]) => Math.abs(Math.log(one / weight)));
  return apart.indexOf(Math.min(...apart));
};
const inEffort = (weight) => HARD.find(([one]) => one === weight)?.[1]
  ?? (Math.abs(weight - 1) < 0.1 ? "about as hard as for most people" : `${weight > 1 ? "harder" : "easier"} for me: about ${numberInWords(Math.round(10 * weight) / 10)} times the effort`);

function makeWishes(data, world, answer) {
  const { features, functions } = world;
  const cannot = new Set(), weights = {};
  const shown = functions.map((_, index) => index).filter((index) => data.reached[index]);
  const same = (doing) => shown.filter((index) => functions[index].target === doing.target);
  const changed = (doing) => (same(doing).length > 1 ? doing.spoken : features[doing.target].label);
  const boxes = functions.map((doing, index) => {
    const box = make("input", { type: "checkbox", id: `cannot-${index}` });
    box.addEventListener("change", () => { set(index, box.checked); answer(); });
    return box;
  });
  const rows = new Map(), sliders = new Map();
  let refresh = () => {};

  function set(index, off) {
    boxes[index].checked = off;
    rows.get(index)?.classList.toggle("off", off);
    if (off) cannot.add(functions[index].name);
    else cannot.delete(functions[index].name);
    refresh();
  }

  // Takes what is given: weights by function, things that can or cannot be done.
  function take({ weights: own, forbid = [], allow = [] }) {
    functions.forEach(({ name }, index) => {
      if (forbid.includes(name) || allow.includes(name)) set(index, forbid.includes(name));
      if (own) sliders.get(index)?.(own[name] ?? 1);
    });
  }

  // Weights within the range of the sliders, without those of 1.
  function clipped(own) {
    const round = (weight) => Math.round(100 * Math.min(HARD.at(-1)[0], Math.max(HARD[0][0], weight))) / 100;
    return Object.fromEntries(Object.entries(own).map(([name, weight]) => [name, round(weight)]).filter(([, weight]) => weight !== 1));
  }

  const title = (text) => make("legend", { text });
  const note = (text) => make("p", { className: "note", text });
  // Shown only with one of the parts of the page.
  const only = (part, element) => { element.setAttribute("data-part", part); return element; };

  // A switch for each function.
  function switches() {
    const all = shown.map((index) => {
      const doing = functions[index];
      boxes[index].setAttribute("role", "switch");
      const more = same(doing).length > 1 ? [make("small", { text: doing.spoken })] : [];
      return make("label", { className: "switch" }, make("span", {}, capital(features[doing.target].label), ...more), boxes[index]);
    });
    return [title("What I cannot change"), note("Switch on what has to stay as it is. The plan then avoids it."), ...all];
  }

  // A slider and a box for each function; a box for all functions that change the same thing.
  function efforts() {
    const reset = make("button", { type: "button", id: "reset", text: "Reset" });
    const wholes = [];
    function one(index) {
      const { name } = functions[index];
      const heading = make("span", { className: "name", id: `doing-${index}`, text: world.doing(name) });
      const slider = make("input", { type: "range", id: `hard-${index}`, min: 0, max: HARD.length - 1, step: 1, value: USUAL });
      const words = make("span", { className: "how", "aria-hidden": "true" });
      slider.setAttribute("aria-labelledby", `doing-${index}`);
      const show = (weight, text) => {
        words.textContent = text;
        slider.setAttribute("aria-valuetext", text);
        if (weight === 1) delete weights[name];
        else weights[name] = weight;
      };
      show(...HARD[USUAL]);
      slider.addEventListener("input", () => { show(...HARD[slider.value]); answer(); });
      sliders.set(index, (weight) => { slider.value = nearest(weight); show(weight, inEffort(weight)); });
      boxes[index].setAttribute("aria-describedby", heading.id);
      const row = make("div", { className: "doing" }, heading,
        make("label", { className: "cannot" }, boxes[index], "I cannot do this"),
        only("card", make("span", { className: "ends" }, make("span", { text: "easier" }), slider, make("span", { text: "harder" }))),
        only("card", words));
      rows.set(index, row);
      return row;
    }
    function keep(label, own) {
      const box = make("input", { type: "checkbox" });
      box.addEventListener("change", () => { const off = box.checked; own.forEach((index) => set(index, off)); answer(); });
      wholes.push(() => {
        const off = own.filter((index) => boxes[index].checked).length;
        box.checked = off === own.length;
        box.indeterminate = off > 0 && off < own.length;
      });
      return make("label", { className: "cannot keep" }, box, `Keep ${label} as it is`);
    }
    const groups = [...new Set(shown.map((index) => functions[index].target))].map((target) => {
      const own = shown.filter((index) => functions[index].target === target);
      return make("div", { className: "together" }, ...(own.length > 1 ? [keep(features[target].label, own)] : []), ...own.map(one));
    });
    refresh = () => {
      wholes.forEach((update) => update());
      shown.forEach((index) => { byId(`hard-${index}`).disabled = boxes[index].checked; });
    };
    reset.addEventListener("click", () => {
      sliders.forEach((put) => put(1));
      shown.forEach((index) => set(index, false));
      answer();
    });
    return [title("How hard is this for you?"),
      make("div", { className: "row" },
        only("card", make("p", { className: "note" }, "Move a slider if something is easier or harder for you than for most people. The plan follows at once. ",
          make("a", { href: "#interview", text: "Not sure? Answer a few questions." }))),
        only("program", note("Rules avoid what you cannot do. They do not ask how hard the rest is for you; points do.")), reset),
      ...groups];
  }

  byId("doing").append(...(data.card ? efforts() : switches()));
  return { cannot, weights, take, clipped, changed };
}
