// The form, and what starts the parts of the page.
"use strict";

(() => {
  const data = JSON.parse(byId("data").textContent);
  const world = makeWorld(data.world);
  const { features } = world;
  const examples = data.examples.map((state) => state.map((number) => number ?? NaN));
  let state = examples[0].slice();
  let shown = 0;

  // A field knows how to show a number of the state, and writes what is entered into it.
  const controls = data.fields.map((field) => {
    const feature = features[field.feature];
    if (field.from) return computedField(field, feature);
    return feature.kind === "number" ? numberField(field, feature) : choiceField(field, feature);
  });

  function choiceField(field, feature) {
    const id = `feature-${field.feature}`;
    const select = make("select", { id });
    feature.labels.forEach((label, rank) => select.append(make("option", { value: rank, text: label })));
    if (feature.missing) select.append(make("option", { value: "", text: "not known" }));
    select.addEventListener("change", () => {
      state[field.feature] = select.value === "" ? NaN : Number(select.value);
      answer();
    });
    byId("fields").append(
      make("div", { className: "field choice" }, make("label", { htmlFor: id, text: capital(feature.label) }), select),
    );
    return { show: () => { select.value = Number.isNaN(state[field.feature]) ? "" : state[field.feature]; }, fault: () => "" };
  }

  function numberField(field, feature) {
    const id = `feature-${field.feature}`;
    const entry = make("input", { id, type: "number", step: feature.integer ? 1 : "any", inputMode: "decimal" });
    if (feature.low !== null) entry.min = feature.low;
    if (feature.high !== null) entry.max = feature.high;
    const slider = make("input", {
      type: "range", className: "sliding", min: field.low, max: field.high, step: field.step,
      "aria-label": `${capital(feature.label)}, slider`,
    });
    const wrong = make("p", { className: "wrong", id: `${id}-wrong` });
    const odd = make("p", { className: "odd", id: `${id}-odd` });
    const unknown = make("input", { type: "checkbox" });
    const read = () => (entry.value.trim() === "" ? NaN : Number(entry.value));
    entry.setAttribute("aria-describedby", `${wrong.id} ${odd.id}`);
    entry.addEventListener("input", () => { take(read()); });
    slider.addEventListener("input", () => { entry.value = slider.value; take(Number(slider.value)); });
    unknown.addEventListener("change", () => {
      take(unknown.checked ? NaN : Number(slider.value));
      show();
    });
    const unit = make("span", { className: "unit", text: feature.unit ?? "" });
    byId("fields").append(make("div", { className: "field" },
      make("label", { htmlFor: id, text: capital(feature.label) }),
      make("span", { className: "entry" }, entry, ...(feature.unit ? [unit] : [])), slider,
      ...(feature.missing ? [make("label", { className: "unknown" }, unknown, "not known")] : []), wrong, odd));

    function take(number) {
      state[field.feature] = number;
      if (!Number.isNaN(number)) slider.value = number;
      unknown.checked = Number.isNaN(number);
      answer();
    }
    function show() {
      const number = state[field.feature];
      entry.value = Number.isNaN(number) ? "" : number;
      if (!Number.isNaN(number)) slider.value = number;
      unknown.checked = Number.isNaN(number);
    }
    function fault() {
      const number = state[field.feature];
      const exact = !(Math.abs(number) > 2 ** 53);
      const right = world.within(feature, number) && (!feature.integer || Number.isNaN(number) || Number.isInteger(number));
      const fine = !entry.validity.badInput && exact && right;
      const bounds = boundsOf(feature);
      const why = exact ? "" : ": this one has too many digits";
      wrong.textContent = fine ? "" : `Please enter a ${feature.integer ? "whole " : ""}number${bounds ? `, ${bounds}` : ""}${why}.`;
      const strange = fine && (number < field.low || number > field.high);
      const range = `${numberInWords(field.low)} to ${numberInWords(field.high)}${feature.unit ? ` ${feature.unit}` : ""}`;
      odd.textContent = strange ? `Is that right? Most people have ${range}; further out, the plan is less certain.` : "";
      entry.setAttribute("aria-invalid", String(!fine));
      return fine ? "" : feature.label;
    }
    return { show, fault };
  }

  // A feature that follows from others: shown, not asked.
  function computedField(field, feature) {
    const value = make("output", { id: `feature-${field.feature}` });
    const wrong = make("p", { className: "wrong" });
    const sources = field.from.map((index) => features[index].label);
    const origin = sources.join(", ").replace(/, ([^,]*)$/, " and $1");
    byId("fields").append(make("div", { className: "field" },
      make("label", { htmlFor: value.id, text: capital(feature.label) }), value,
      make("p", { className: "origin", text: `Worked out from ${origin}.` }), wrong));

    function fault() {
      const number = state[field.feature];
      const fine = world.within(feature, number);
      value.textContent = Number.isFinite(number) || Number.isNaN(number) ? inWords(feature, number) : "";
      const bounds = boundsOf(feature);
      wrong.textContent = fine ? "" : `This should be ${bounds || "a number"}. Please check ${origin}.`;
      return fine ? "" : feature.label;
    }
    return { show: () => {}, fault };
  }

  const boundsOf = (feature) => [feature.low === null ? "" : `at least ${numberInWords(feature.low)}`,
    feature.high === null ? "" : `at most ${numberInWords(feature.high)}`].filter(Boolean).join(" and ");

  const wishes = makeWishes(data, world, answer);

  // The parts, of which one is shown

  let soon;
  function tell(text) {
    byId("peek").textContent = `${text}: see the plan`;
    clearTimeout(soon);
    soon = setTimeout(() => { byId("said").textContent = text; }, 400);
  }

  function wish(changes) {
    wishes.take(changes);
    answer();
  }

  function allow(names) {
    wish({ allow: names });
    byId("plan").focus();
  }

  const page = { tell, allow, wish, clipped: wishes.clipped, changed: wishes.changed, select };
  const names = Object.keys(views);
  const parts = Object.fromEntries(names.map((name) => [name, views[name](data, world, page)]));
  let active = names[0];

  function answer() {
    state = world.derive(state);
    const faults = controls.map((control) => control.fault()).filter(Boolean);
    if (faults.length) {
      tell(`Please check ${faults.join(", ")}`);
      names.forEach((name) => parts[name].clear(`The plan appears here as soon as this is corrected: ${faults.join(", ")}.`));
    } else parts[active].show({ state, cannot: wishes.cannot, weights: wishes.weights });
  }

  function select(name) {
    active = name;
    document.querySelectorAll("[data-part]").forEach((element) => { element.hidden = element.dataset.part !== name; });
    for (const other of names) {
      byId(`tab-${other}`)?.setAttribute("aria-selected", String(other === name));
      byId(`tab-${other}`)?.setAttribute("tabindex", other === name ? 0 : -1);
    }
    answer();
  }

  names.forEach((name, i) => {
    const tab = byId(`tab-${name}`);
    tab?.addEventListener("click", () => select(name));
    tab?.addEventListener("keydown", (event) => {
      const way = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!way) return;
      const next = names[(i + way + names.length) % names.length];
      select(next);
      byId(`tab-${next}`).focus();
    });
  });

  function showExample(number) {
    shown = number % examples.length;
    state = examples[shown].slice();
    controls.forEach((control) => control.show());
    byId("who").textContent = data.real
      ? `Example person ${shown + 1} of ${examples.length}. Change anything.`
      : "These are average values. Change anything.";
    answer();
  }

  byId("person").addEventListener("submit", (event) => event.preventDefault());
  byId("example").textContent = examples.length > 1 ? "Another example" : data.real ? "Example person" : "Start over";
  byId("example").addEventListener("click", () => showExample(shown + 1));
  new IntersectionObserver(([entry]) => { byId("peek").hidden = entry.isIntersecting; }).observe(byId("plan"));
  select(active);
  showExample(0);

  // For tests, and for the curious.
  window.counterplan = { data, parts, wishes };
})();
