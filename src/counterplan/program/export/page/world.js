// Runs a program for one person. A state is a list of numbers, one for each feature: a category is the rank of its
// value, NaN is not known. The same rules, in the same order of arithmetic, as the program in Python.
"use strict";

function makeEngine(program) {
  const { features, functions, causes, nodes, reasons, cautions, longest, derived } = program;
  const STOP = functions.length + 1;
  const consequences = causes.filter((cause) => cause.table || cause.formula !== null);

  function evaluate(node, state, x) {
    if (!Array.isArray(node)) return node;
    const [op, ...args] = node;
    const value = (i) => evaluate(args[i], state, x);
    switch (op) {
      case "at": return state[args[0]];
      case "argument": return x;
      case "and": return args.every((arg) => evaluate(arg, state, x));
      case "or": return args.some((arg) => evaluate(arg, state, x));
      case "not": return !value(0);
      case "missing": return Number.isNaN(value(0));
      case "in": return args[1].includes(value(0));
      case "base": { const rank = value(0); return Number.isNaN(rank) ? 0 : args[1][rank]; }
      case "negate": return -value(0);
      case "+": return value(0) + value(1);
      case "-": return value(0) - value(1);
      case "*": return value(0) * value(1);
      case "/": { const by = value(1); return by === 0 ? NaN : value(0) / by; }
      case "==": return value(0) === value(1);
      case "!=": return value(0) !== value(1);
      case "<": return value(0) < value(1);
      case "<=": return value(0) <= value(1);
      case ">": return value(0) > value(1);
      case ">=": return value(0) >= value(1);
      default: throw new Error(`unknown operation ${op}`);
    }
  }

  // Halves go to the even neighbour.
  function whole(number) {
    const below = Math.floor(number), rest = number - below;
    if (!Number.isFinite(number) || rest === 0) return number;
    return rest < 0.5 || (rest === 0.5 && below % 2 === 0) ? below : below + 1;
  }

  // To nine decimals, so that two ways to one value give one value.
  function rounded(number) {
    return Math.abs(number) < 2 ** 53 / 1e9 ? whole(number * 1e9) / 1e9 : number;
  }

  function within(feature, number) {
    if (Number.isNaN(number)) return feature.missing;
    return Number.isFinite(number) && number >= (feature.low ?? -Infinity) && number <= (feature.high ?? Infinity);
  }

  function legal(doing, which, state) {
    const now = state[doing.target], x = doing.arguments[which];
    if (doing.adds) {
      const feature = features[doing.target], after = rounded(now + x);
      if (!(after >= (feature.low ?? -Infinity) && after <= (feature.high ?? Infinity)) || after === now) return false;
    } else if (now === x) return false;
    if (!evaluate(doing.when, state, x)) return false;
    if (!doing.bounded.length) return true;
    const after = apply(doing, which, state);
    return doing.bounded.every((target) => within(features[target], after[target]));
  }

  function apply(doing, which, state) {
    const after = state.slice();
    const x = doing.arguments[which];
    after[doing.target] = doing.adds ? rounded(state[doing.target] + x) : x;
    for (const cause of consequences) {
      if (Object.is(state[cause.source] + 0, after[cause.source] + 0)) continue;
      const value = consequence(cause, after);
      if (!cause.table || !Number.isNaN(value)) after[cause.target] = value;
    }
    return after;
  }

  function consequence({ source, target, table, formula }, state) {
    if (table) return Number.isNaN(state[source]) ? NaN : table[state[source]] ?? NaN;
    const value = evaluate(formula, state);
    return features[target].integer ? whole(value) : rounded(value);
  }

  // The state with the features that follow from others.
  function derive(state) {
    const after = state.slice();
    for (const index of derived) after[causes[index].target] = consequence(causes[index], after);
    return after;
  }

  function effort(doing, which, state) {
    let scale = 1;
    for (const cause of causes) {
      if (cause.target === doing.target) scale *= easier(cause, state[cause.source]);
    }
    return rounded(doing.surcharge[which] + doing.base[which] * scale);
  }

  function easier({ by_value, intervals }, number) {
    if (by_value) return by_value[Number.isNaN(number) ? by_value.length - 1 : number];
    for (const [low, lowIn, high, highIn, scale] of intervals ?? []) {
      const from = low ?? -Infinity, to = high ?? Infinity;
      if ((lowIn ? number >= from : number > from) && (highIn ? number <= to : number < to)) return scale;
    }
    return 1;
  }

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
    const can = (i) => !cannot.has(doing.actions[i]) && legal(doing, i, state);
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
    return { ...plan, caution: plan.steps.length && cannot.size ? caution(plan, run(start, new Set()), cannot) : "" };
  }

  // What is to be said of a plan that would be another one if nothing were forbidden.
  function caution(plan, freely, cannot) {
    if (plan.taken.join() === freely.taken.join()) return "";
    const off = functions.map((doing) => doing.actions.map((action) => cannot.has(doing.name) || cannot.has(action)));
    const touched = functions.map((_, i) => i).filter((i) => off[i].includes(true));
    return touched.length === 1 && !off[touched[0]].includes(false) ? cautions.without[touched[0]] : cautions.otherwise;
  }

  function run(start, cannot) {
    let state = start, node = 0;
    const steps = [], ways = [], taken = [];
    while (nodes[node]) {
      const leaf = leafOf(nodes[node], state);
      let rank = -1, which = -1;
      for (const [i, choice] of leaf.do.entries()) {
        if (choice.function === undefined) which = steps.length ? 0 : -1;
        else which = steps.length < longest ? pick(choice, state, cannot) : -1;
        if (which >= 0) { rank = i; break; }
      }
      if (rank < 0) break;
      const reason = reasons[node][leaf.leaf][rank];
      const doing = functions[leaf.do[rank].function];
      const next = doing ? leaf.do[rank].function + 1 : STOP;
      ways.push([node, next]);
      if (!doing) {
        const cost = rounded(steps.reduce((sum, step) => sum + step.cost, 0));
        return { status: "found", steps, cost, ways, taken, reason };
      }
      const after = apply(doing, which, state);
      steps.push({
        function: doing.name, argument: doing.natives[which], cost: effort(doing, which, state),
        text: say(doing, which, state, after), reason,
      });
      taken.push(doing.actions[which]);
      state = after;
      node = next;
    }
    return { status: "not_found", steps: [], cost: null, ways, taken: [], tried: steps };
  }

  function say(doing, which, before, after) {
    const feature = features[doing.target], x = doing.arguments[which];
    const words = {
      argument: inWords(feature, x), amount: inWords(feature, Math.abs(x)),
      before: inWords(feature, before[doing.target]), after: inWords(feature, after[doing.target]),
    };
    return doing.phrase.replace(/\{(argument|amount|before|after)\}/g, (_, word) => words[word]);
  }

  return { recommend, within, derive };
}

function inWords(feature, number) {
  if (Number.isNaN(number)) return "unknown";
  if (feature.kind !== "number") return feature.labels[number];
  return numberInWords(number) + (feature.unit ? ` ${feature.unit}` : "");
}

// With thousands set apart and no more than four decimals that matter.
function numberInWords(number) {
  if (Number.isInteger(number)) return grouped(BigInt(number).toString());
  const size = Math.abs(number);
  if (size < 0.01) {
    if (size >= 0.0001) return String(Number(number.toPrecision(4)));
    const [digits, power] = number.toExponential(3).split("e");
    return `${Number(digits)}e-${power.slice(1).padStart(2, "0")}`;
  }
  let fixed = size.toFixed(4);
  if ((size * 32) % 2 === 1) { // just between two: to the even one
    const below = Math.floor(size * 1e4);
    fixed = ((below + (below % 2)) / 1e4).toFixed(4);
  }
  const [front, decimals] = fixed.split(".");
  const end = decimals.replace(/0+$/, "");
  return (number < 0 ? "-" : "") + grouped(front) + (end ? `.${end}` : "");
}

function grouped(digits) {
  return digits.replace(/\B(?=(\d{3})+$)/g, ",");
}
