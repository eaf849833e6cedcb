// Questions about what is hard for a person, whose answers set the sliders.
"use strict";

function makeInterviewView(world, page, ways) {
  const logic = makeInterview(world, ways);
  const section = byId("interview"), now = byId("interview-now"), said = byId("interview-said");
  // `answers` is null before the first question; `applied` is the form once the questions are over, with the weights that
  // they set, and `before` has the weights until then.
  let task = null, answers = null, applied = null, before = {}, known = [], place = "", moving = false, stop = () => {};

  const formOf = (state, { cannot, weights }) => JSON.stringify([state, [...cannot].sort(), Object.entries(weights).sort()]);
  const choices = () => answers.filter((answer) => answer.costs);
  const button = (text, act, options = {}) => {
    const made = make("button", { type: "button", text, ...options });
    made.addEventListener("click", act);
    return made;
  };

  // Follows the form: called with each plan.
  function show(state, options, plan) {
    pause();
    task = { state, options: { ...options, strict: !plan.short }, plan };
    if (applied !== null && applied !== formOf(state, options)) answers = applied = null;
    section.hidden = answers === null && plan.status !== "found";
    if (answers === null) begin();
    else if (applied === null) ask();
  }

  function pause() {
    stop();
    stop = () => {};
  }

  function hide() {
    pause();
    section.hidden = true;
  }

  // The focus follows if the person has just used a button here.
  function follow(element) {
    if (moving) element.focus();
    moving = false;
  }

  function render(heading, ...rest) {
    const title = make("h3", { text: heading, tabIndex: -1 });
    now.replaceChildren(title, ...rest);
    follow(title);
  }

  const go = button("Ask me", () => { moving = true; answers = []; ask(); });

  function begin() {
    if (go.isConnected) return;
    now.replaceChildren(make("p", { className: "note", text: "Not sure how to set the sliders? Compare a few ways and say which would be easier. Your answers set the sliders for you." }), go);
    said.textContent = "";
    follow(go);
  }

  function ask() {
    pause();
    const { state, options, plan } = task;
    if (!plan.steps.length) return lost();
    const key = formOf(state, options);
    if (key !== place) [known, place] = [[], key];
    const waiting = setTimeout(() => now.replaceChildren(make("p", { className: "note", text: "Working it out …" })), 150);
    const halt = inTurns(logic.question(state, options, choices(), known), ({ pool, plans }) => {
      clearTimeout(waiting);
      known = pool;
      if (plans) question(plans);
      else finish();
    });
    stop = () => { halt(); clearTimeout(waiting); };
  }

  function question(plans) {
    said.textContent = "";
    const word = plans.length > 2 ? "easiest" : "easier";
    const take = (chosen) => () => { moving = true; answers.push(logic.answer(plans, chosen)); ask(); };
    render(`Question ${choices().length + 1}: which would be ${word} for you?`,
      make("p", { className: "note", text: `Think of your own life. Each leads to ${task.plan.short ? "the most points within your reach" : "enough points"}; none is checked with the model that decides.` }),
      make("ol", { className: "choices" }, ...plans.map((plan, i) => {
        const letter = "ABC"[i], id = `choice-${i}`;
        return make("li", {}, make("h4", { text: `Way ${letter}` }),
          make("ul", { id }, ...plan.steps.map((step) => make("li", {}, make("span", { text: step.text }),
            button("I cannot do this", () => forbid(step.function), { className: "plain", "aria-label": `I cannot do this: ${step.text}` })))),
          button(`${letter} is ${word}`, take(i), { className: "choose", "aria-describedby": id }));
      })),
      make("p", { className: "acts" }, button("About the same", take(null)), ...acts(), button("Stop asking", end)));
  }

  // The plan follows what cannot be done, and with it the next question.
  function forbid(name) {
    moving = true;
    answers.push({ cannot: name });
    page.wish({ forbid: [name] });
  }

  const acts = () => (answers.length ? [button("Undo", undo), button("Start over", over)] : []);

  function undo() {
    back([answers.pop()]);
  }

  function over() {
    back(answers.splice(0));
  }

  // Takes answers back, and goes on with the questions.
  function back(gone) {
    moving = true;
    const weights = applied === null ? task.options.weights : before;
    applied = null;
    page.wish({ weights, allow: gone.filter((answer) => answer.cannot).map((answer) => answer.cannot) });
  }

  // The sliders and the plan follow the answers.
  function finish() {
    pause();
    const some = choices(), learned = some.length ? logic.learned(task.options.weights, some) : task.options.weights;
    before = task.options.weights;
    const weights = page.clipped(learned);
    applied = formOf(task.state, { ...task.options, weights });
    report(learned);
    page.wish({ weights });
  }

  function end() {
    moving = true;
    if (answers.length) return finish();
    pause();
    answers = null;
    begin();
  }

  function report(learned) {
    const change = ({ name }) => learned[name] / (before[name] ?? 1);
    const able = world.functions.filter(({ name }) => !task.options.cannot.has(name));
    const findings = [["Harder for you", able.filter((doing) => change(doing) >= 1.2)], ["Easier for you", able.filter((doing) => change(doing) <= 1 / 1.2)]]
      .filter(([, some]) => some.length).map(([words, some]) => `${words}: ${some.map(({ name }) => world.doing(name)).join(", ")}.`);
    const text = !answers.length ? "There is nothing to ask: whatever is hard for you, another way would hardly be easier."
      : findings.length ? "The sliders now show your answers, and the plan above follows them. You can still move the sliders."
        : "The plan above fits your answers.";
    render(answers.length ? `Done: ${counted(answers.length, "answer")}` : "No questions for you",
      ...findings.map((line) => make("p", { className: "findings", text: line })), make("p", { className: "note", text }),
      make("p", { className: "acts" }, ...acts()));
    said.textContent = [...findings, text].join(" ");
  }

  function lost() {
    const text = "No plan was found without what you cannot do. Take an answer back, or see what would help above.";
    render("No way is left", make("p", { className: "note", text }), make("p", { className: "acts" }, ...acts()));
    said.textContent = text;
  }

  return { show, pause, hide, logic };
}
