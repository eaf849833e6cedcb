// What all parts of the page use. Texts of the problem are only ever put in as text, never as markup.
"use strict";

const byId = (id) => document.getElementById(id);
const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);
const effort = (number) => number.toLocaleString("en-US", { minimumFractionDigits: 1, maximumFractionDigits: 1 });
const counted = (count, noun) => (count === 1 ? `1 ${noun}` : `${count.toLocaleString("en-US")} ${noun}s`);
const steps = (count) => counted(count, "step");

// The parts of the page by name: each makes a view from the data, the world and the page.
const views = {};

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

// A time in words: 9 months, 1 month; the unit is in the plural.
const singular = (unit) => (unit.endsWith("ies") ? unit.replace(/ies$/, "y") : unit.replace(/s$/, ""));
const short = (number) => numberInWords(Number(number.toFixed(number >= 1 ? 1 : 2)));
const timeInWords = (number, unit) => `${short(number)} ${short(number) === "1" ? singular(unit) : unit}`;

// When a step starts and ends: a bar over the time of the whole plan, and words; nothing if the problem has no times.
function when(step, plan, unit) {
  if (!plan.duration || !unit) return [];
  const bar = make("i"), start = step.start ? `${singular(unit)} ${short(step.start)}` : "now";
  bar.style.left = `${Math.min(99, (100 * step.start) / plan.duration)}%`;
  bar.style.width = `${Math.max(1, (100 * step.duration) / plan.duration)}%`;
  const text = step.duration ? `${start} to ${singular(unit)} ${short(step.start + step.duration)}` : `${start}, at once`;
  return [make("p", { className: "when" }, make("b", { "aria-hidden": "true" }, bar), make("span", { text }))];
}

// Steps in order, each with its text, a bar of its effort and when it takes place; `more` makes what stands below, `end`
// is the last item.
function timeline(plan, more, end, unit = "") {
  const most = Math.max(...plan.steps.map((step) => step.cost), 1e-9);
  const items = plan.steps.map((step, i) => {
    const bar = make("i");
    bar.style.width = `${(45 * step.cost) / most}%`;
    return make("li", {},
      make("span", { className: "badge", text: i + 1, "aria-hidden": "true" }),
      make("p", { className: "what", text: step.text }),
      make("p", { className: "effort" }, bar, make("span", { text: `effort ${effort(step.cost)}` })),
      ...when(step, plan, unit),
      ...more(step));
  });
  const last = make("li", { className: "end" }, make("span", { className: "badge", text: "✓", "aria-hidden": "true" }), ...end);
  return make("ol", { className: "timeline" }, ...items, last);
}

const total = (plan, words, unit = "") => make("p", { className: "sum" }, make("strong", { text: steps(plan.steps.length) }),
  make("span", { text: `effort ${effort(plan.cost)} ${words}` }),
  ...(unit ? [make("span", { text: plan.duration ? `ready in about ${timeInWords(plan.duration, unit)}` : "takes no time" })] : []));

// What would help where there is no plan: buttons that allow something again, each with the plan it leads to.
function helping(tries, page) {
  return make("ul", { className: "try" }, ...tries.map(({ text, names, plan, more }) => {
    const button = make("button", { type: "button", text });
    button.addEventListener("click", () => page.allow(names));
    return make("li", {}, button, make("span", { text: `${steps(plan.steps.length)}, effort ${effort(plan.cost)}${more ?? ""}` }));
  }));
}

// Each thing that is not allowed, and all of them together.
function allowances(functions, cannot, changed) {
  const off = functions.filter((doing) => cannot.has(doing.name));
  return [...off.map((doing) => [doing]), ...(off.length > 1 ? [off] : [])].map((some) => ({
    text: some.length > 1 ? "Allow everything" : `Allow a change: ${changed(some[0])}`,
    names: some.map((doing) => doing.name),
  }));
}
