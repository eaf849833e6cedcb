// How a person's state changes. A state is a list of numbers, one for each feature: a category is the rank of its value,
// NaN is not known. The same rules, in the same order of arithmetic, as the problem in Python.
"use strict";

const MICRO = 1e6; // times are whole millionths of the unit, so that sums are exact

function makeWorld({ features, functions, causes, derived, longest, timeUnit = "" }) {
  const conditions = functions.map((doing) => compiled(doing.when));
  const formulas = causes.map((cause) => (cause.formula === null ? null : compiled(cause.formula)));
  const consequences = causes.map((_, index) => index).filter((index) => causes[index].table || formulas[index]);

  // An expression as a function of a state, the argument of an action, and the state before it.
  function compiled(node) {
    if (!Array.isArray(node)) return () => node;
    const [op, ...args] = node;
    if (op === "at") return (state) => state[args[0]];
    if (op === "before") return (state, x, before) => before[args[0]];
    if (op === "argument") return (_, x) => x;
    const parts = (op === "in" || op === "base" ? args.slice(0, 1) : args).map(compiled);
    const [a, b] = parts;
    switch (op) {
      case "and": return (state, x, before) => parts.every((part) => part(state, x, before));
      case "or": return (state, x, before) => parts.some((part) => part(state, x, before));
      case "not": return (state, x, before) => !a(state, x, before);
      case "missing": return (state, x, before) => Number.isNaN(a(state, x, before));
      case "in": return (state, x, before) => args[1].includes(a(state, x, before));
      case "base": return (state, x, before) => { const rank = a(state, x, before); return Number.isNaN(rank) ? 0 : args[1][rank]; };
      case "negate": return (state, x, before) => -a(state, x, before);
      case "+": return (state, x, before) => a(state, x, before) + b(state, x, before);
      case "-": return (state, x, before) => a(state, x, before) - b(state, x, before);
      case "*": return (state, x, before) => a(state, x, before) * b(state, x, before);
      case "/": return (state, x, before) => { const by = b(state, x, before); return by === 0 ? NaN : a(state, x, before) / by; };
      case "==": return (state, x, before) => a(state, x, before) === b(state, x, before);
      case "!=": return (state, x, before) => a(state, x, before) !== b(state, x, before);
      case "<": return (state, x, before) => a(state, x, before) < b(state, x, before);
      case "<=": return (state, x, before) => a(state, x, before) <= b(state, x, before);
      case ">": return (state, x, before) => a(state, x, before) > b(state, x, before);
      case ">=": return (state, x, before) => a(state, x, before) >= b(state, x, before);
      default: throw new Error(`unknown operation ${op}`);
    }
  }

  function within(feature, number) {
    if (Number.isNaN(number)) return feature.missing;
    return Number.isFinite(number) && number >= (feature.low ?? -Infinity) && number <= (feature.high ?? Infinity);
  }

  // Functions are numbered, and so are their arguments.
  function legal(index, which, state) {
    const doing = functions[index], now = state[doing.target], x = doing.arguments[which];
    if (doing.adds) {
      const feature = features[doing.target], after = rounded(now + x);
      if (!(after >= (feature.low ?? -Infinity) && after <= (feature.high ?? Infinity)) || after === now) return false;
    } else if (now === x) return false;
    if (!conditions[index](state, x)) return false;
    if (!doing.bounded.length) return true;
    const after = apply(index, which, state);
    return doing.bounded.every((target) => within(features[target], after[target]));
  }

  function apply(index, which, state) {
    const doing = functions[index], after = state.slice(), x = doing.arguments[which];
    after[doing.target] = doing.adds ? rounded(state[doing.target] + x) : x;
    for (const place of consequences) {
      const cause = causes[place];
      if (Object.is(state[cause.source] + 0, after[cause.source] + 0)) continue;
      const value = consequence(place, after, x, state);
      if (!cause.table || !Number.isNaN(value)) after[cause.target] = value;
    }
    return after;
  }

  function consequence(place, state, x, before) {
    const { source, target, table } = causes[place];
    if (table) return Number.isNaN(state[source]) ? NaN : table[state[source]] ?? NaN;
    const value = formulas[place](state, x, before);
    return features[target].integer ? whole(value) : rounded(value);
  }

  // The state with the features that follow from others.
  function derive(state) {
    const after = state.slice();
    for (const place of derived) after[causes[place].target] = consequence(place, after);
    return after;
  }

  // The effort as the problem defines it, not yet rounded; `factor` is what a cause multiplies it by.
  function cost(index, which, state, factor = (cause) => easier(cause, state[cause.source])) {
    const doing = functions[index];
    return doing.surcharge[which] + doing.base[which] * scaled(doing, factor);
  }

  // The product of what the causes of the feature that is changed multiply by.
  function scaled(doing, factor) {
    let scale = 1;
    for (const cause of causes) {
      if (cause.target === doing.target) scale *= factor(cause);
    }
    return scale;
  }

  // When each of the steps starts and how long it takes, if anything takes time. A step has the number of its function
  // and argument, and the state before it.
  function schedule(taken) {
    if (!timeUnit) return taken.map(() => ({}));
    const durations = taken.map(({ index, which, state }) => {
      const doing = functions[index], scale = scaled(doing, (cause) => easier(cause, state[cause.source]));
      return whole((doing.timeSurcharge[which] + doing.timeBase[which] * scale) * MICRO);
    });
    const starts = earliest(taken.map(({ index }) => index), durations);
    return durations.map((lasts, step) => ({ start: starts[step] / MICRO, duration: lasts / MICRO }));
  }

  // When steps start in the order that takes the least time; those that depend on each other stay in order. A plan of
  // more than 8 steps keeps its order.
  function earliest(taken, durations) {
    const steps = taken.map((_, step) => step), alone = steps.map((step) => !functions[taken[step]].overlaps);
    const dependent = (one, other) => functions[taken[one]].dependent.includes(taken[other]);
    const conflict = (one, other) => alone[one] || alone[other] || dependent(one, other);
    const sum = (some) => some.reduce((total, step) => total + durations[step], 0);
    const latest = (order, starts) => order.reduce((end, step) => Math.max(end, starts[step] + durations[step]), 0);
    let best = [], least = sum(steps) + 1;
    const visit = (order, starts) => {
      const left = steps.filter((step) => !order.includes(step)), last = order.at(-1) ?? -1, end = latest(order, starts);
      if (end + sum(left.filter((step) => alone[step])) >= least) return;
      if (!left.length) [best, least] = [starts, steps.length > 8 ? 0 : end];
      for (const step of left) {
        if (left.some((other) => other < step && dependent(other, step)) || !(last < step || conflict(last, step))) continue;
        const own = starts.slice();
        own[step] = latest(order.filter((other) => conflict(other, step)), starts);
        visit([...order, step], own);
      }
    };
    visit([], steps.map(() => 0));
    return best;
  }

  // The time that all steps take, those that can be side by side.
  function ready(steps) {
    return timeUnit ? { duration: Math.max(0, ...steps.map((step) => whole((step.start + step.duration) * MICRO) / MICRO)) } : {};
  }

  function easier({ by_value, intervals }, number) {
    if (by_value) return by_value[Number.isNaN(number) ? by_value.length - 1 : number];
    for (const [low, lowIn, high, highIn, scale] of intervals ?? []) {
      const from = low ?? -Infinity, to = high ?? Infinity;
      if ((lowIn ? number >= from : number > from) && (highIn ? number <= to : number < to)) return scale;
    }
    return 1;
  }

  function say(index, which, before, after) {
    const doing = functions[index], feature = features[doing.target], x = doing.arguments[which];
    const words = {
      argument: inWords(feature, x), amount: inWords(feature, Math.abs(x)),
      before: inWords(feature, before[doing.target]), after: inWords(feature, after[doing.target]),
    };
    return doing.phrase.replace(/\{(argument|amount|before|after)\}/g, (_, word) => words[word]);
  }

  // What a function does, in words: by the feature that it changes, or by its name if others change it too.
  function doing(name) {
    const { target, spoken } = functions.find((one) => one.name === name);
    return functions.filter((one) => one.target === target).length > 1 ? spoken : `Change ${features[target].label}`;
  }

  return { features, functions, causes, longest, timeUnit, legal, apply, cost, easier, derive, within, say, doing, schedule, ready };
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
