// The plan of a program, and its way through the picture.
"use strict";

views.program = (data, world, page) => {
  const rules = makeRules(world, data.program);
  const result = byId("program-result");
  const drawing = document.querySelector("svg.automaton");

  function show({ state, cannot }) {
    const plan = rules.recommend(state, cannot);
    light(plan.ways);
    result.replaceChildren(...(plan.status === "found" ? found(plan) : none(plan, state, cannot)));
  }

  function clear(text) {
    light([]);
    result.replaceChildren(make("p", { className: "note", text }));
  }

  function found(plan) {
    page.tell(`${steps(plan.steps.length)}, effort ${effort(plan.cost)} in all`);
    return [
      total(plan, "in all", world.timeUnit),
      timeline(plan, (step) => [make("p", { className: "why", text: `because ${step.reason}` })], [
        make("p", { className: "what", text: `Stop here: the decision ${plan.caution ? "might" : "should"} now be ${data.goal}` }),
        make("p", { className: "why", text: `because ${plan.reason}` }),
      ], world.timeUnit),
      make("p", { className: "caution", text: `Not checked with the model that decides. ${plan.caution} Have it checked before you rely on it.`.replace("  ", " ") }),
    ];
  }

  function none(plan, state, cannot) {
    page.tell("No plan");
    const begun = plan.tried.map((step) => step.text).join("; ");
    const limit = plan.tried.length === world.longest ? `a plan may not be longer than ${steps(world.longest)}` : "its rules lead no further";
    const box = make("div", { className: "none" }, make("strong", { text: "No plan" }));
    box.append(make("p", { text: begun
      ? `The program would begin like this: ${begun}. But then ${limit}, so there is no plan to rely on.`
      : plan.givenUp || "The program knows no first step that is possible for you." }));
    box.append(make("p", { text: "That does not prove that there is none: this program is a summary, and works without the model that decides." }));
    const tries = allowances(world.functions, cannot, page.changed).map((one) => {
      const plan = rules.recommend(state, new Set([...cannot].filter((name) => !one.names.includes(name))));
      return { ...one, plan, more: plan.caution ? ", but less certain" : "" };
    });
    const some = tries.filter((one) => one.plan.status === "found");
    const why = cannot.size ? "Allowing all changes would not help either. " : "";
    box.append(make("p", { text: some.length ? "What would help:"
      : `${why}What you can try: check what you entered, or ask for a search with the model that decides.` }));
    if (some.length) box.append(helping(some, page));
    return [box];
  }

  function light(ways) {
    drawing.querySelectorAll(".lit").forEach((part) => part.classList.remove("lit"));
    drawing.classList.toggle("showing", ways.length > 0);
    for (const [from, to] of ways) {
      drawing.querySelectorAll(`[data-way="${from}-${to}"], [data-node="${from}"], [data-node="${to}"]`)
        .forEach((part) => part.classList.add("lit"));
    }
  }

  return { show, clear, recommend: rules.recommend };
};
