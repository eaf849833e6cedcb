// What is hard for a person, from choices between plans: a posterior over weights by function, as importance weights of
// particles. A choice has the probabilities of a logit model, P(i) ∝ exp(−sharpness · cost of i / least cost shown).
"use strict";

const INTERVIEW = { particles: 1000, sigma: 0.8, seed: 30, sharpness: 8, searches: 32, shown: 3, gain: 0.01 };

// An answer has the plans that were `shown`, by key, their `costs` by function under weights of 1, and the one `chosen`, or
// null if there was no difference.
function makeInterview(world, ways) {
  const { functions } = world;
  const particles = drawParticles();

  // Their mean is 1, so that nothing is learned from no answers.
  function drawParticles() {
    const drawn = drawWeights(functions, { count: INTERVIEW.particles, sigma: INTERVIEW.sigma, seed: INTERVIEW.seed });
    const means = functions.map((_, index) => drawn.reduce((sum, one) => sum + one[index], 0) / drawn.length);
    return drawn.map((one) => one.map((weight, index) => weight / means[index]));
  }

  const times = (own) => particles.map((one) => one.map((weight, index) => weight * own[index]));
  const ownOf = (weights) => functions.map(({ name }) => weights[name] ?? 1);

  // The logarithm of the probability of an answer, for costs [plans] of one particle. Beside a plan without any cost, a
  // choice tells nothing about weights.
  function likelihood(costs, chosen) {
    const least = Math.min(...costs);
    if (least === 0) return 0;
    const utilities = costs.map((cost) => (-INTERVIEW.sharpness * (cost - least)) / least);
    const total = Math.log(utilities.reduce((sum, utility) => sum + Math.exp(utility), 0));
    const mean = utilities.reduce((sum, utility) => sum + utility, 0) / costs.length;
    return (chosen === null ? mean : utilities[chosen]) - total;
  }

  // The chances [particles] after all answers, which add up to 1; `weights` are those that the person has set.
  function posterior(weights, answers) {
    const mine = times(ownOf(weights)), logs = particles.map(() => 0);
    for (const { costs, chosen } of answers) {
      const rows = costsOf(costs, mine);
      logs.forEach((_, at) => { logs[at] += likelihood(rows.map((row) => row[at]), chosen); });
    }
    const top = logs.reduce((a, b) => Math.max(a, b)), chances = logs.map((log) => Math.exp(log - top));
    const sum = chances.reduce((a, b) => a + b);
    return chances.map((chance) => chance / sum);
  }

  const means = (chances) => functions.map((_, index) => chances.reduce((sum, chance, at) => sum + chance * particles[at][index], 0));

  // The posterior means of the weights, by name.
  function learned(weights, answers) {
    const found = means(posterior(weights, answers)), own = ownOf(weights);
    return Object.fromEntries(functions.map(({ name }, index) => [name, own[index] * found[index]]));
  }

  // Particles that stand for the posterior, at equal distances of its cumulative chances.
  function sample(chances) {
    const places = [];
    let at = 0, sum = chances[0];
    for (let i = 0; i < INTERVIEW.searches; i += 1) {
      while (sum < (i + 0.5) / INTERVIEW.searches && at < chances.length - 1) sum += chances[at += 1];
      if (places.at(-1) !== at) places.push(at);
    }
    return places;
  }

  // Of these plans the two or three to show, in the order in which they were picked: the one with the least expected cost,
  // and those that lower the expected least cost most. No two are compared with the first one again. Null if no question
  // would lower the expected cost by enough.
  function choose(plans, weights, answers) {
    if (plans.length < 2) return null;
    const chances = posterior(weights, answers);
    const costs = costsOf(plans.map(ways.usual), times(ownOf(weights)));
    const expected = costs.map((row) => row.reduce((sum, cost, at) => sum + chances[at] * cost, 0));
    const first = expected.reduce((best, cost, plan) => (lowerThan(cost, expected[best]) ? plan : best), 0);
    const compared = (one, other) => answers.some(({ shown }) => shown.includes(ways.keyOf(one)) && shown.includes(ways.keyOf(other)));
    const { picked, expected: lowered } = pickGreedily({
      costs, chances, first, most: INTERVIEW.shown, gain: INTERVIEW.gain * expected[first],
      fits: (plan, some) => some.length > 1 || !compared(plans[plan], plans[first]),
    });
    return picked.length > 1 ? { picked, expected: lowered } : null;
  }

  // The plans of the next question, or null if there is none; `known` has the plans that were found before, for the same
  // person and weights.
  function* question(start, options, answers, known) {
    const { weights = {} } = options, chances = posterior(weights, answers);
    const factors = [means(chances), ...sample(chances).map((at) => particles[at])];
    const { plans } = yield* ways.plansFor(start, options, factors);
    const pool = ways.distinct([...known, ...plans]);
    const chosen = choose(pool, weights, answers);
    return { pool, plans: chosen && chosen.picked.map((plan) => pool[plan]) };
  }

  const answer = (plans, chosen) => ({ shown: plans.map(ways.keyOf), costs: plans.map(ways.usual), chosen });

  return { particles, posterior, learned, sample, choose, question, answer };
}
