// Runs a program for one person: the same rules as the program in Python.
"use strict";

function makeRules(world, { nodes, reasons, cautions }) {
  const { functions, longest } = world;
  const STOP = functions.length + 1;

  function passes({ at, least, among }, state) {
    if (least !== undefined) return state[at] >= least;
    return among ? among.includes(state[at]) : Number.isNaN(state[at]);
  }

  function leafOf(tree, state) {
    while (tree.if) tree = passes(tree.if, state) ? tree.then : tree.else;
    return tree;
  }

  // Which argument of a choice is taken, by number; -1 if none can be.
  function pick({ argument, reach, function: index }, state, cannot) {
    const doing = functions[index];
    const can = (i) => !cannot.has(doing.actions[i]) && world.legal(index, i, state);
    if (cannot.has(doing.name)) return -1;
    if (reach === undefined) return can(argument) ? argument : -1;
    const way = doing.arguments.every((x) => x < 0) ? -1 : 1;
    const after = doing.arguments.map((x) => way * rounded(state[doing.target] + x));
    const possible = after.map((_, i) => i).filter(can);
    const enough = possible.filter((i) => after[i] >= way * reach);
    if (enough.length) return enough.reduce((best, i) => (after[i] < after[best] ? i : best));
    return possible.length ? possible.reduce((best, i) => (after[i] > after[best] ? i : best)) : -1;
  }

  function recommend(start, cannot = new Set()) {
    const plan = run(start, cannot);
    const less = plan.steps.length && cannot.size ? caution(plan, run(start, new Set()), cannot) : "";
    return { ...plan, caution: plan.givenUp || less };
  }

  // What is to be said of a plan that would be another one if nothing were forbidden.
  function caution(plan, freely, cannot) {
    if (plan.taken.join() === freely.taken.join()) return "";
    const off = functions.map((doing) => doing.actions.map((action) => cannot.has(doing.name) || cannot.has(action)));
    const touched = functions.map((_, i) => i).filter((i) => off[i].includes(true));
    return touched.length === 1 && !off[touched[0]].includes(false) ? cautions.without[touched[0]] : cautions.otherwise;
  }

  function run(start, cannot) {
    let state = start, node = 0, givenUp = "";
    const steps = [], ways = [], taken = [], done = [];
    while (nodes[node]) {
      const leaf = leafOf(nodes[node], state);
      let rank = -1, which = -1;
      for (const [i, choice] of leaf.do.entries()) {
        if (choice.function === undefined) which = steps.length ? 0 : -1;
        else which = steps.length < longest ? pick(choice, state, cannot) : -1;
        if (which >= 0) { rank = i; break; }
      }
      if (rank < 0) {
        if (!leaf.do.length && !steps.length) givenUp = reasons[node][leaf.leaf][0];
        break;
      }
      const reason = reasons[node][leaf.leaf][rank];
      const index = leaf.do[rank].function, doing = functions[index];
      const next = doing ? index + 1 : STOP;
      ways.push([node, next]);
      if (!doing) {
        const cost = rounded(steps.reduce((sum, step) => sum + step.cost, 0));
        const timed = world.schedule(done).map((times, i) => ({ ...steps[i], ...times }));
        return { status: "found", steps: timed, cost, ...world.ready(timed), ways, taken, reason };
      }
      const after = world.apply(index, which, state);
      steps.push({
        function: doing.name, argument: doing.natives[which], cost: rounded(world.cost(index, which, state)),
        text: world.say(index, which, state, after), reason,
      });
      taken.push(doing.actions[which]);
      done.push({ index, which, state });
      state = after;
      node = next;
    }
    return { status: "not_found", steps: [], cost: null, ways, taken: [], tried: steps, givenUp };
  }

  return { recommend };
}
