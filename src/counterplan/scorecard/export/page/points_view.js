// The points of a person, the plan that they lead to, and other ways.
"use strict";

// Runs a search in small turns, so that the page stays responsive; returns a function that stops it.
function inTurns(search, done, waiting = () => {}) {
  let timer;
  (function turn() {
    const until = performance.now() + 12;
    let next = search.next();
    while (!next.done && performance.now() < until) next = search.next();
    if (next.done) done(next.value);
    else {
      waiting();
      timer = setTimeout(turn);
    }
  })();
  return () => clearTimeout(timer);
}

views.card = (data, world, page) => {
  const engine = makePoints(world, data.card);
  const { needed, rows } = data.card;
  const result = byId("card-result"), others = byId("others"), table = byId("points");
  const rules = data.program && makeRules(world, data.program);
  const points = (count) => counted(count, "point");
  const signed = (count) => (count < 0 ? `−${-count}` : `+${count}`);
  const did = (plan) => [...new Set(plan.steps.map((step) => step.function))];
  let stop = () => {}, later;

  function show(wishes) {
    cancel();
    const options = { cannot: new Set(wishes.cannot), weights: { ...wishes.weights } };
    const { state } = wishes, now = engine.points(state), first = () => [score(now), ...already(now)];
    const waiting = setTimeout(() => result.replaceChildren(...first(), make("p", { className: "note", text: "Working it out …" })), 150);
    others.hidden = true;
    mark(state, state);
    const halt = inTurns(engine.search(state, options), (plan) => {
      clearTimeout(waiting);
      result.replaceChildren(score(now, plan), ...already(now), ...(plan.steps.length ? found(plan, state, options) : none(plan, state, options)));
      mark(state, plan.end);
      if (plan.status === "found") later = setTimeout(() => more(state, options, plan), 200);
    });
    stop = () => { halt(); clearTimeout(waiting); };
  }

  function cancel() {
    stop();
    stop = () => {};
    clearTimeout(later);
  }

  function clear(text) {
    cancel();
    others.hidden = true;
    mark(null, null);
    result.replaceChildren(make("p", { className: "note", text }));
  }

  // The points now, and a bar of them; the plan's steps add to it.
  function score(now, plan) {
    const parts = [{ className: "have", size: now }, ...(plan?.steps ?? []).filter((step) => step.gained > 0)
      .map((step) => ({ className: "gain", size: step.gained }))];
    const end = plan?.points ?? now, scale = Math.max(needed, end, now, 1);
    const bar = make("div", { className: "bar", "aria-hidden": "true" }, ...parts.map(({ className, size }) => {
      const piece = make("i", { className });
      piece.style.width = `${(100 * size) / Math.max(scale, parts.reduce((sum, part) => sum + part.size, 0))}%`;
      return piece;
    }));
    const goal = make("b");
    goal.style.left = `${(100 * needed) / scale}%`;
    bar.append(goal);
    const short = now < needed ? `${points(needed - now)} short.` : "";
    const number = (count) => make("strong", { text: count.toLocaleString("en-US") });
    return make("div", { className: "score" }, make("p", {}, "You have ", number(now), " of ", number(needed), " points. ", short), bar);
  }

  // What is to be said to people who were refused although they have enough points.
  function already(now) {
    if (now < needed) return [];
    return [make("div", { className: "none" }, make("strong", { text: "You have enough points already" }),
      make("p", { text: `By points, the decision should be ${data.goal} as things are. If it was not, more points than you have may help: see below. Better still, ask for a search with the model that decides.` }))];
  }

  function found(plan, state, options) {
    const own = Object.keys(options.weights).length ? "for you, in all" : "in all";
    page.tell(`${engine.points(state)} of ${needed} points. Plan: ${steps(plan.steps.length)}, effort ${effort(plan.cost)}`);
    const gave = plan.status === "gave_up" ? [make("p", { className: "caution", text: "The search was stopped because it took too long. This is the best way it had found: there may be an easier one." })] : [];
    return [
      total(plan, own, world.timeUnit),
      timeline(plan, (step) => [make("p", { className: "points" }, ...(step.gained > 0
        ? [make("strong", { text: `${signed(step.gained)} points` }), make("span", { text: `${step.total} so far` })]
        : [make("span", { text: `${step.gained < 0 ? `${signed(step.gained)} points` : "No points"} by itself: it makes a later step possible or easier` })]))], [
        make("p", { className: "what", text: `Stop here: with ${points(plan.points)}, the decision ${plan.short ? "may" : "should"} now be ${data.goal}` }),
        make("p", { className: "why", text: engine.points(state) >= needed ? "because that is more than you have" : plan.short ? `because ${engine.required(state)} are out of your reach, and these are the most within it` : `because ${engine.required(state)} are enough` }),
      ], world.timeUnit),
      ...gave, ...besides(plan, state, options),
      make("p", { className: "caution", text: "Worked out from points; not checked with the model that decides. Have it checked before you rely on it." }),
    ];
  }

  // What the rules of a program lead to, where the page has them too.
  function besides(plan, state, { cannot }) {
    if (!rules) return [];
    const other = rules.recommend(state, cannot);
    const line = (steps) => steps.map((step) => `${step.function}=${step.argument}`).join();
    if (other.status !== "found") return [make("p", { className: "note", text: "The rules have no plan for you." })];
    if (line(other.steps) === line(plan.steps)) return [make("p", { className: "note", text: "The rules lead to the same plan." })];
    const button = make("button", { type: "button", text: "See it" });
    button.addEventListener("click", () => { page.select("program"); byId("plan").focus(); });
    return [make("p", { className: "note besides" }, `The rules lead to another plan, of ${steps(other.steps.length)}. `, button)];
  }

  function none(plan, state, { cannot, weights }) {
    page.tell(`${engine.points(state)} of ${needed} points. No plan`);
    if (plan.status === "gave_up") {
      return [make("div", { className: "none" }, make("strong", { text: "No plan found" }),
        make("p", { text: "The search was stopped because it took too long. There may be a plan: ask for a search with the model that decides." }))];
    }
    const box = make("div", { className: "none" }, make("strong", { text: "No plan" }),
      make("p", { text: `Nothing that is possible for you leads to ${points(engine.required(state))} in ${steps(world.longest)} or fewer.` }),
      make("p", { text: "That does not prove that nothing helps: points are a summary, and work without the model that decides." }));
    const last = make("p", { text: "What you can try: check what you entered, or ask for a search with the model that decides." });
    box.append(last);
    const tries = allowances(world.functions, cannot, page.changed);
    stop = inTurns((function* () {
      const some = [];
      for (const one of tries) {
        const allowed = new Set([...cannot].filter((name) => !one.names.includes(name)));
        const plan = yield* engine.search(state, { cannot: allowed, weights, strict: true });
        if (plan.status === "found") some.push({ ...one, plan });
      }
      return some;
    })(), (some) => {
      if (some.length) last.replaceWith(make("p", { text: "What would help:" }), helping(some, page));
      else if (tries.length) last.prepend("Allowing all changes would not help either. ");
    });
    return [box];
  }

  // Other ways, compared with the plan.
  function more(state, options, first) {
    stop = inTurns(engine.alternatives(state, options, first), ({ plans, complete }) => {
      const list = byId("ways"), said = byId("others-note");
      others.hidden = false;
      list.replaceChildren(...plans.map((plan) => way(plan, first)));
      said.textContent = plans.length
        ? `Each does without something that the plan above does, the least effort first.${complete ? "" : " There may be more: the search was stopped because it took too long."}`
        : complete ? "There is no other way to enough points without something that the plan above does."
          : "The search for other ways was stopped because it took too long.";
    });
  }

  function way(plan, first) {
    const apart = plan.cost - first.cost, without = did(first).filter((name) => !did(plan).includes(name)).map(world.doing);
    const compared = apart < 0.05 ? "the same effort" : `${effort(apart)} more effort`;
    return make("li", {},
      make("h3", {}, `${steps(plan.steps.length)}, effort ${effort(plan.cost)} `, make("span", { text: compared })),
      make("p", { className: "note", text: `without: ${without.join(", ")}` }),
      make("ol", {}, ...plan.steps.map((step) => make("li", {}, make("span", { text: step.text }), " ", make("b", { text: signed(step.gained) })))),
      make("p", { className: "note", text: `${points(plan.points)} in the end` }));
  }

  // The points by feature: those now and, after the plan, those it ends with; the same entries in the card.
  const lines = rows.map((row) => {
    const feature = world.features[row.feature], most = engine.most(row);
    const value = make("small"), bar = make("span", { className: "part", "aria-hidden": "true" }), have = make("i"), gain = make("i", { className: "gain" });
    const now = make("td"), then = make("td", { className: "then" });
    bar.append(have, gain);
    table.append(make("tr", {}, make("th", { scope: "row" }, capital(feature.label), " ", value, bar), now,
      make("td", { text: most.toLocaleString("en-US") }), then));
    return (state, end) => {
      const before = state ? engine.parts(state)[rows.indexOf(row)] : 0, after = end ? engine.parts(end)[rows.indexOf(row)] : 0;
      value.textContent = state ? inWords(feature, state[row.feature]) : "";
      now.textContent = state ? before.toLocaleString("en-US") : "";
      then.textContent = after === before ? "" : signed(after - before);
      have.style.width = `${(100 * Math.min(before, after)) / most}%`;
      gain.style.width = `${(100 * Math.abs(after - before)) / most}%`;
      gain.className = after < before ? "loss" : "gain";
    };
  });

  function mark(state, end) {
    lines.forEach((line) => line(state, end));
    const [sum, after] = [state, end].map((one) => (one ? engine.points(one) : 0));
    byId("points-sum").textContent = state ? sum.toLocaleString("en-US") : "";
    byId("points-then").textContent = after === sum ? "" : signed(after - sum);
    document.querySelectorAll(".entry-now, .entry-then").forEach((entry) => entry.classList.remove("entry-now", "entry-then"));
    rows.forEach((row, place) => {
      const at = (one) => byId(`entry-${place}-${engine.entryOf(row, one[row.feature])}`);
      if (state) at(state)?.classList.add("entry-now");
      if (end && at(end) !== at(state)) at(end)?.classList.add("entry-then");
    });
  }

  return { show, clear, ...engine };
};
