// The form, the plan and the picture. Texts of the problem are only ever put in as text, never as markup.
(() => {
  const program = JSON.parse(document.getElementById("program").textContent);
  const engine = makeEngine(program);
  const { features, functions, fields } = program;
  const examples = program.examples.map((state) => state.map((number) => number ?? NaN));
  const cannot = new Set();
  const byId = (id) => document.getElementById(id);
  let state = examples[0].slice();
  let shown = 0;

  function make(tag, options = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(options)) {
      if (name === "text") element.textContent = value;
      else if (name in element && name !== "list") element[name] = value;
      else element.setAttribute(name, value);
    }
    element.append(...children);
    return element;
  }

  const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);
  const effort = (number) => number.toLocaleString("en-US", { minimumFractionDigits: 1, maximumFractionDigits: 1 });
  const steps = (count) => (count === 1 ? "1 step" : `${count} steps`);

  // A field knows how to show a number of the state, and writes what is entered into it.
  const controls = fields.map((field) => {
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
      const right = engine.within(feature, number) && (!feature.integer || Number.isNaN(number) || Number.isInteger(number));
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
      const fine = engine.within(feature, number);
      value.textContent = Number.isFinite(number) || Number.isNaN(number) ? inWords(feature, number) : "";
      const bounds = boundsOf(feature);
      wrong.textContent = fine ? "" : `This should be ${bounds || "a number"}. Please check ${origin}.`;
      return fine ? "" : feature.label;
    }
    return { show: () => {}, fault };
  }

  const boundsOf = (feature) => [feature.low === null ? "" : `at least ${numberInWords(feature.low)}`,
    feature.high === null ? "" : `at most ${numberInWords(feature.high)}`].filter(Boolean).join(" and ");

  // Whether several functions change the same feature, so that its label does not tell them apart.
  const shared = (doing) => functions.filter((other) => other.target === doing.target).length > 1;
  const changed = (doing) => (shared(doing) ? doing.spoken : features[doing.target].label);

  const switches = functions.map((doing, index) => {
    const box = make("input", { type: "checkbox", role: "switch", id: `cannot-${index}` });
    box.addEventListener("change", () => {
      if (box.checked) cannot.add(doing.name);
      else cannot.delete(doing.name);
      answer();
    });
    const more = shared(doing) ? [make("small", { text: doing.spoken })] : [];
    const words = make("span", {}, capital(features[doing.target].label), ...more);
    if (program.reached[index]) byId("switches").append(make("label", { className: "switch" }, words, box));
    return box;
  });

  function allow(names) {
    functions.forEach((doing, index) => { if (names.includes(doing.name)) switches[index].checked = false; });
    names.forEach((name) => cannot.delete(name));
    answer();
    byId("plan").focus();
  }

  // The plan

  let soon;
  function tell(text) {
    byId("peek").textContent = `${text}: see the plan`;
    clearTimeout(soon);
    soon = setTimeout(() => { byId("said").textContent = text; }, 400);
  }

  function answer() {
    state = engine.derive(state);
    const faults = controls.map((control) => control.fault()).filter(Boolean);
    if (faults.length) {
      light([]);
      tell(`Please check ${faults.join(", ")}`);
      byId("result").replaceChildren(make("p", { className: "note", text: `The plan appears here as soon as this is corrected: ${faults.join(", ")}.` }));
      return;
    }
    const plan = engine.recommend(state, cannot);
    light(plan.ways);
    byId("result").replaceChildren(...(plan.status === "found" ? timeline(plan) : noPlan(plan)));
  }

  function timeline(plan) {
    tell(`${steps(plan.steps.length)}, effort ${effort(plan.cost)} in all`);
    const most = Math.max(...plan.steps.map((step) => step.cost), 1e-9);
    const items = plan.steps.map((step, i) => {
      const bar = make("i");
      bar.style.width = `${(45 * step.cost) / most}%`;
      return make("li", {},
        make("span", { className: "badge", text: i + 1, "aria-hidden": "true" }),
        make("p", { className: "what", text: step.text }),
        make("p", { className: "effort" }, bar, make("span", { text: `effort ${effort(step.cost)}` })),
        make("p", { className: "why", text: `because ${step.reason}` }));
    });
    const end = make("li", { className: "end" },
      make("span", { className: "badge", text: "✓", "aria-hidden": "true" }),
      make("p", { className: "what", text: `Stop here: the decision ${plan.caution ? "might" : "should"} now be ${program.goal}` }),
      make("p", { className: "why", text: `because ${plan.reason}` }));
    return [
      make("p", { className: "sum" }, make("strong", { text: steps(plan.steps.length) }),
        make("span", { text: `effort ${effort(plan.cost)} in all` })),
      make("ol", { className: "timeline" }, ...items, end),
      make("p", { className: "caution", text: `Not checked with the model that decides. ${plan.caution} Have it checked before you rely on it.`.replace("  ", " ") }),
    ];
  }

  function noPlan(plan) {
    tell("No plan");
    const begun = plan.tried.map((step) => step.text).join("; ");
    const limit = plan.tried.length === program.longest ? `a plan may not be longer than ${steps(program.longest)}` : "its rules lead no further";
    const off = functions.filter((doing) => cannot.has(doing.name));
    const box = make("div", { className: "none" }, make("strong", { text: "No plan" }));
    box.append(make("p", { text: begun
      ? `The program would begin like this: ${begun}. But then ${limit}, so there is no plan to rely on.`
      : "The program knows no first step that is possible for you." }));
    box.append(make("p", { text: "That does not prove that there is none: this program is a summary, and works without the model that decides." }));
    const tries = [...off.map((doing) => [doing]), ...(off.length > 1 ? [off] : [])].map((some) => {
      const names = some.map((doing) => doing.name);
      return { some, names, then: engine.recommend(state, new Set([...cannot].filter((name) => !names.includes(name)))) };
    });
    const helping = tries.filter(({ then }) => then.status === "found");
    const items = helping.map(({ some, names, then }) => {
      const button = make("button", { type: "button", text: some.length > 1 ? "Allow everything" : `Allow a change: ${changed(some[0])}` });
      button.addEventListener("click", () => allow(names));
      return make("li", {}, button, make("span", { text: `${steps(then.steps.length)}, effort ${effort(then.cost)}${then.caution ? ", but less certain" : ""}` }));
    });
    const why = off.length ? "Allowing all changes would not help either. " : "";
    box.append(make("p", { text: helping.length ? "What would help:"
      : `${why}What you can try: check what you entered, or ask for a search with the model that decides.` }));
    if (items.length) box.append(make("ul", { className: "try" }, ...items));
    return [box];
  }

  // The picture

  const drawing = document.querySelector("svg.automaton");
  function light(ways) {
    drawing.querySelectorAll(".lit").forEach((part) => part.classList.remove("lit"));
    drawing.classList.toggle("showing", ways.length > 0);
    for (const [from, to] of ways) {
      drawing.querySelectorAll(`[data-way="${from}-${to}"], [data-node="${from}"], [data-node="${to}"]`)
        .forEach((part) => part.classList.add("lit"));
    }
  }

  function showExample(number) {
    shown = number % examples.length;
    state = examples[shown].slice();
    controls.forEach((control) => control.show());
    byId("who").textContent = program.real
      ? `Example person ${shown + 1} of ${examples.length}. Change anything.`
      : "These are average values. Change anything.";
    answer();
  }

  byId("person").addEventListener("submit", (event) => event.preventDefault());
  byId("example").textContent = examples.length > 1 ? "Another example" : program.real ? "Example person" : "Start over";
  byId("example").addEventListener("click", () => showExample(shown + 1));
  new IntersectionObserver(([entry]) => { byId("peek").hidden = entry.isIntersecting; }).observe(byId("plan"));
  showExample(0);

  // For tests, and for the curious.
  window.counterplan = { program, recommend: engine.recommend };
})();
