// Ways out that suit different people: the cheapest plans for draws of personal weights, and the few of them that
// together minimize the expected least cost. A draw multiplies the weights that the person has set.
"use strict";

const WAYS = { draws: 128, sigma: 0.7, seed: 20, searches: 48, others: 2, dearest: 2.5, gain: 0.01, labels: 1500, allLabels: 12000 };

// Numbers in [0, 1) that follow from a seed (mulberry32).
function makeRandom(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

// Independent log-normal weights [count][functions] with median 1.
function drawWeights(functions, { count, sigma, seed }) {
  const random = makeRandom(seed);
  const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  return Array.from({ length: count }, () => functions.map(() => Math.exp(sigma * normal())));
}

// Costs [plans][draws] from costs by function [plans][functions] and weights [draws][functions].
function costsOf(plans, draws) {
  return plans.map((plan) => {
    const used = plan.map((_, index) => index).filter((index) => plan[index] !== 0);
    return draws.map((draw) => used.reduce((sum, index) => sum + plan[index] * draw[index], 0));
  });
}

// Whether a cost is less than another by more than rounding: the first of equal plans is preferred.
const lowerThan = (cost, other) => cost < other - 1e-9 * Math.abs(other);

// The plans that are added to `first` one by one, each the one that lowers the expected least cost most, while that is by
// at least `gain`. `chances` [draws] add up to 1; `fits` says which plans may be added to those picked.
function pickGreedily({ costs, chances, first, most, gain, fits = () => true }) {
  const expect = (row) => chances.reduce((sum, chance, draw) => sum + chance * row[draw], 0);
  const picked = [first], expected = [expect(costs[first])];
  let least = costs[first];
  while (picked.length < most) {
    let best = null;
    costs.forEach((row, plan) => {
      if (picked.includes(plan) || !fits(plan, picked)) return;
      const lower = row.map((cost, draw) => Math.min(cost, least[draw])), value = expect(lower);
      if (best === null || lowerThan(value, best.value)) best = { plan, lower, value };
    });
    if (best === null || !(expected.at(-1) - best.value >= gain)) break;
    picked.push(best.plan);
    expected.push(best.value);
    least = best.lower;
  }
  return { picked, expected };
}

function makeWays(world, engine) {
  const { functions } = world;
  const places = new Map(functions.map(({ name }, index) => [name, index]));
  const draws = drawWeights(functions, { count: WAYS.draws, sigma: WAYS.sigma, seed: WAYS.seed });

  // The costs of a plan by function, under weights of 1.
  function usual(plan) {
    const costs = functions.map(() => 0);
    for (const step of plan.steps) costs[places.get(step.function)] += step.usual;
    return costs;
  }

  // The same plan, with its costs under other weights.
  function weighed(plan, weights) {
    const steps = plan.steps.map((step) => ({ ...step, cost: rounded(step.usual * weightOf(weights, step.function)) }));
    return { ...plan, steps, cost: rounded(steps.reduce((sum, step) => sum + step.cost, 0)) };
  }

  const named = (factors, weights) => Object.fromEntries(functions.map(({ name }, index) => [name, (weights[name] ?? 1) * factors[index]]));
  const keyOf = (plan) => plan.path.join();
  const done = (plan) => [...new Set(plan.steps.map((step) => step.function))].sort().join("\n");

  // The cheapest plans for weights times each of `factors`, or the best ones found within limits on labels, for each search
  // and for all together. They limit the time, and do not depend on the device.
  function* plansFor(start, { weights = {}, ...options }, factors) {
    const plans = [];
    let left = WAYS.allLabels, complete = true;
    for (const one of factors) {
      if (left <= 0) return { plans, complete: false };
      const search = engine.search(start, { ...options, weights: named(one, weights), limit: Math.min(WAYS.labels, left) });
      let turn = search.next(), made = 0;
      for (; !turn.done; turn = search.next()) yield made = turn.value;
      left -= made;
      const { status, steps, short } = turn.value;
      if (status === "gave_up") complete = false;
      if (status === "found" || (steps.length && !short)) plans.push(turn.value);
    }
    return { plans, complete };
  }

  // Plans without repetition.
  function distinct(plans) {
    const found = new Map();
    for (const plan of plans) if (!found.has(keyOf(plan))) found.set(keyOf(plan), plan);
    return [...found.values()];
  }

  // Up to so many other ways beside the cheapest plan: other sets of functions that are at most a stated factor more expensive.
  function choose(plans, weights) {
    const own = functions.map(({ name }) => weights[name] ?? 1), [first] = plans;
    const costs = costsOf(plans.map(usual), draws.map((draw) => draw.map((factor, index) => factor * own[index])));
    const limit = WAYS.dearest * first.cost;
    const { picked, expected } = pickGreedily({
      costs, chances: draws.map(() => 1 / draws.length), first: 0, most: 1 + WAYS.others, gain: WAYS.gain * first.cost,
      fits: (plan, some) => plans[plan].cost <= limit && some.every((other) => done(plans[other]) !== done(plans[plan])),
    });
    return { picked, expected };
  }

  function* others(start, options, first) {
    const { weights = {} } = options;
    if (!(first.cost > 0)) return { plans: [], complete: true, pool: [] };
    const { plans, complete } = yield* plansFor(start, { ...options, strict: !first.short }, draws.slice(0, WAYS.searches));
    const pool = distinct([first, ...plans]).map((plan) => weighed(plan, weights));
    return { plans: choose(pool, weights).picked.slice(1).map((plan) => pool[plan]), complete, pool };
  }

  return { draws, usual, plansFor, distinct, keyOf, choose, others };
}
