// Plans with a card of points for one person: the cheapest legal way to enough points, then fewer steps, then the order
// of the file. The same plan as the card planner in Python without queries.
"use strict";

function makePoints(world, card) {
  const { features, functions, longest } = world;
  const { needed, even, mutable } = card;
  const FINE = 1e-9;
  const actions = functions.flatMap((doing, index) => doing.arguments.map((_, which) => ({ index, which })));
  actions.forEach((action, number) => { action.number = number; });

  // The entry of a feature that a number belongs to; the one after the last is that of a missing value.
  function entryOf(row, number) {
    if (Number.isNaN(number)) return row.points.length;
    if (features[row.feature].kind !== "number") return number;
    let place = 0;
    while (place < row.edges.length && number >= row.edges[place]) place += 1;
    return place;
  }

  const pointsOf = (row, number) => (Number.isNaN(number) ? row.missing ?? 0 : row.points[entryOf(row, number)]);
  const most = (row) => Math.max(...row.points, row.missing ?? 0);
  const parts = (state) => card.rows.map((row) => pointsOf(row, state[row.feature]));

  function points(state) {
    let sum = 0;
    for (const row of card.rows) sum += pointsOf(row, state[row.feature]);
    return sum;
  }

  // The points that a plan must reach: enough, and more than a refused person has.
  const required = (start) => Math.max(needed, points(start) + 1);

  // Features that are changed together, with the functions that change them. Points of other clusters do not depend on
  // these functions, so that each cluster's least costs can be bounded alone.
  function makeClusters() {
    let groups = [];
    functions.forEach((doing, index) => {
      const touched = groups.filter((group) => doing.changes.some((feature) => group.features.has(feature)));
      groups = [...groups.filter((group) => !touched.includes(group)), {
        features: new Set([...doing.changes, ...touched.flatMap((group) => [...group.features])]),
        functions: [...touched.flatMap((group) => group.functions), index],
      }];
    });
    return groups.map((group) => {
      const rows = card.rows.filter((row) => group.features.has(row.feature));
      const alone = rows.length === 1 && group.functions.every((index) => functions[index].changes.length === 1);
      return { rows, alone, functions: new Set(group.functions), most: rows.reduce((sum, row) => sum + most(row), 0) };
    }).filter((cluster) => cluster.rows.length);
  }

  const clusters = makeClusters();

  // What one person may do at which cost, in whole units that are exact in a sum.
  function makeTask(start, cannot, weights) {
    const factors = functions.map(({ name }) => weightOf(weights, name));
    const weighted = factors.some((factor) => factor !== 1);
    const weigh = (index, cost) => (weighted ? rounded(cost * factors[index]) : cost);
    const largest = functions.reduce((top, { most: high }, index) => Math.max(top, ...high.map((cost) => cost * factors[index])), 0);
    let unit = weighted ? FINE : card.unit;
    while ((largest * longest) / unit > 2 ** 52) unit *= 10;
    const possible = actions.filter(({ index, which }) => {
      const { name, actions: names } = functions[index];
      return !cannot.has(name) && !cannot.has(names[which]);
    });
    const useful = helpful(new Set(possible.map(({ index }) => index)));
    const allowed = possible.filter(({ index }) => useful.has(index));
    const factor = leastFactors(start, allowed);
    const least = actions.map(({ index, which }) => whole(weigh(index, world.cost(index, which, start, factor)) / unit));
    const units = (index, which, state) => whole(weigh(index, world.cost(index, which, state)) / unit);
    const effort = (index, which, state) => rounded(weigh(index, world.cost(index, which, state)));
    return { start, allowed, least, units, effort, bound: makeBound(allowed, least) };
  }

  // The functions that can add to the points, and those that make others possible or easier.
  function helpful(possible) {
    const wanted = new Set(card.rows.map((row) => row.feature)), found = new Set();
    for (let size = -1; size < found.size;) {
      size = found.size;
      for (const index of possible) {
        if (found.has(index) || !functions[index].changes.some((feature) => wanted.has(feature))) continue;
        found.add(index);
        functions[index].reads.forEach((feature) => wanted.add(feature));
        wanted.add(functions[index].target);
      }
    }
    return found;
  }

  // The least that each cause can multiply costs by, whatever of the allowed is done.
  function leastFactors(start, allowed) {
    const least = new Map(world.causes.map((cause) => {
      const changing = allowed.filter(({ index }) => functions[index].changes.includes(cause.source));
      const plain = changing.every(({ index }) => functions[index].target === cause.source && !functions[index].adds);
      const values = [start[cause.source], ...changing.map(({ index, which }) => functions[index].arguments[which])];
      const every = [1, ...(cause.by_value ?? []), ...(cause.intervals ?? []).map((interval) => interval.at(-1))];
      return [cause, Math.min(...(plain ? values.map((value) => world.easier(cause, value)) : every))];
    }));
    return (cause) => least.get(cause);
  }

  // Lower bounds on what is left: the cost and the number of steps to gain so many points from a state. Each cluster
  // has options, gains at least costs; the bound is the fractional choice among them, which no plan undercuts.
  function makeBound(allowed, least) {
    const groups = clusters.map((cluster) => ({
      ...cluster, known: new Map(), actions: allowed.filter((action) => cluster.functions.has(action.index)),
    }));
    return (state, missing) => {
      const slopes = [], gains = [];
      for (const group of groups) {
        const key = group.rows.length === 1 ? state[group.rows[0].feature] : group.rows.map((row) => state[row.feature]).join();
        let options = group.known.get(key);
        if (!options) {
          options = group.alone ? hull(single(group, state, least)) : hull(together(group, state, least));
          group.known.set(key, options);
        }
        if (!options.length) continue;
        slopes.push(...options);
        gains.push(options.reduce((sum, { gain }) => sum + gain, 0));
      }
      gains.sort((a, b) => b - a);
      let steps = 0, left = missing;
      while (left > 0 && steps < gains.length) left -= gains[steps++];
      if (left > 0) return { cost: Infinity, steps: Infinity };
      slopes.sort((a, b) => a.cost * b.gain - b.cost * a.gain);
      let cost = 0;
      left = missing;
      for (const slope of slopes) {
        if (slope.gain >= left) return { cost: Math.ceil(cost + (slope.cost * left) / slope.gain - 1e-3), steps };
        cost += slope.cost;
        left -= slope.gain;
      }
      return { cost: Infinity, steps: Infinity };
    };
  }

  // Gains of one feature that nothing but its own functions changes.
  function single({ rows: [row], actions: own }, state, least) {
    const now = state[row.feature], before = pointsOf(row, now), options = [];
    const setting = own.filter(({ index }) => !functions[index].adds), adding = own.filter(({ index }) => functions[index].adds);
    const argument = ({ index, which }) => functions[index].arguments[which];
    const cheapest = (some) => Math.min(...some.map(({ number }) => least[number]));
    row.points.forEach((after, entry) => {
      if (after <= before) return;
      const straight = cheapest(setting.filter((action) => entryOf(row, argument(action)) === entry));
      let cost = Math.min(straight, cheapest(setting) + cheapest(adding));
      if (features[row.feature].kind === "number" && !Number.isNaN(now) && adding.length) {
        const way = now < (row.edges[entry - 1] ?? -Infinity) ? 1 : -1;
        const distance = way > 0 ? row.edges[entry - 1] - now : now - row.edges[entry];
        const useful = adding.filter((action) => way * argument(action) > 0);
        const rate = Math.min(...useful.map((action) => least[action.number] / Math.abs(argument(action))));
        if (useful.length) cost = Math.min(cost, Math.max(cheapest(useful), Math.ceil(rate * distance * (1 - 1e-9) - 1e-3)));
      } else if (features[row.feature].kind !== "number" && adding.length) cost = Math.min(cost, cheapest(adding));
      if (cost < Infinity) options.push({ gain: after - before, cost });
    });
    return options;
  }

  // Gains of several features that change together: the best points for the cost of any action, up to the most there are.
  function together({ rows, actions: own, most: top }, state, least) {
    let best = null;
    const now = rows.map((row) => pointsOf(row, state[row.feature]));
    for (const { index, which, number } of own) {
      const { changes, target, adds, arguments: values } = functions[index];
      let gain = 0;
      rows.forEach((row, place) => {
        if (!changes.includes(row.feature)) return;
        const after = row.feature === target && !adds ? pointsOf(row, values[which]) : most(row);
        gain += Math.max(0, after - now[place]);
      });
      if (gain > 0 && (best === null || least[number] * best.gain < best.cost * gain)) best = { gain, cost: least[number] };
    }
    const gain = top - now.reduce((sum, part) => sum + part, 0);
    return best && gain > 0 ? [{ gain, cost: (best.cost * gain) / best.gain }] : [];
  }

  // The options that no mixture of others undercuts, as slopes from one to the next.
  function hull(options) {
    const slopes = [];
    let at = { gain: 0, cost: 0 };
    for (;;) {
      let next = null;
      for (const option of options) {
        if (option.gain <= at.gain) continue;
        const better = next === null ? -1
          : (option.cost - at.cost) * (next.gain - at.gain) - (next.cost - at.cost) * (option.gain - at.gain);
        if (better < 0 || (better === 0 && option.gain > next.gain)) next = option;
      }
      if (next === null) return slopes;
      slopes.push({ gain: next.gain - at.gain, cost: Math.max(0, next.cost - at.cost) });
      at = next;
    }
  }

  const keyOf = (state) => mutable.map((feature) => state[feature]).join();

  // Whether one way is before another in the order of the file: of the same length, or the beginning of it.
  function compare(path, other) {
    for (let i = 0; i < path.length; i += 1) {
      if (path[i] !== other[i]) return path[i] - other[i];
    }
    return 0;
  }

  // The search, which pauses after each state: a generator that returns a plan. A label is a way to a state.
  // If no plan leads to enough points, the goal is the most within reach, found by bisection, unless `strict`.
  function* search(start, { strict = false, ...options } = {}) {
    const goal = required(start);
    let found = yield* attempt(start, options, goal);
    if (strict || found.status !== "not_found") return found;
    let low = Math.min(Math.max(even, points(start) + 1), goal), high = goal - 1;
    while (low <= high) {
      const middle = Math.floor((low + high + 1) / 2);
      const next = yield* attempt(start, options, middle);
      if (next.status === "gave_up") return next.steps.length ? { ...next, short: true } : next;
      if (next.status === "found") [found, low] = [{ ...next, short: true }, next.points + 1];
      else high = middle - 1;
    }
    return found;
  }

  // The cheapest way to so many points.
  function* attempt(start, { cannot = new Set(), weights = {}, limit = 300000 }, goal) {
    const task = makeTask(start, cannot, weights);
    const seen = new Map(), queue = makeQueue();
    let best = null, made = 0;

    function add(state, cost, path, last) {
      const missing = goal - points(state), enough = missing <= 0;
      const label = { state, cost, path, last, dead: false, total: cost };
      if (!enough) {
        const bound = task.bound(state, missing);
        label.total = cost + bound.cost;
        label.steps = path.length + bound.steps;
        if (hopeless(label)) return;
      }
      if (!admit(label)) return;
      made += 1;
      if (!enough) queue.push(label);
      else if (best === null || cost < best.cost || (cost === best.cost
        && (path.length < best.path.length || (path.length === best.path.length && compare(path, best.path) < 0)))) best = label;
    }

    function hopeless({ total, steps, path }) {
      if (steps > longest || path.length >= longest) return true;
      if (best === null || total < best.cost) return false;
      if (total > best.cost || steps > best.path.length || path.length >= best.path.length) return true;
      return steps === best.path.length && compare(path, best.path) > 0;
    }

    function admit(label) {
      const key = keyOf(label.state), others = seen.get(key) ?? [];
      for (const other of others) {
        if (other.cost > label.cost || other.path.length > label.path.length) continue;
        const same = other.cost === label.cost && other.path.length === label.path.length;
        if (!same || compare(label.path, other.path) >= 0) return false;
      }
      seen.set(key, [label, ...others.filter((other) => {
        other.dead ||= other.cost >= label.cost && other.path.length >= label.path.length;
        return !other.dead;
      })]);
      return true;
    }

    add(start, 0, [], -1);
    for (let label = queue.pop(); label; label = queue.pop()) {
      yield made;
      if (best !== null && label.total > best.cost) break;
      if (label.dead || hopeless(label)) continue;
      if (made > limit) return describe(task, best, "gave_up");
      for (const { index, which, number } of task.allowed) {
        if (label.last >= 0 && functions[label.last].skips.includes(index)) continue;
        if (!world.legal(index, which, label.state)) continue;
        const cost = label.cost + task.units(index, which, label.state);
        if (best === null || cost <= best.cost) add(world.apply(index, which, label.state), cost, [...label.path, number], index);
      }
    }
    return describe(task, best, best ? "found" : "not_found");
  }

  function describe(task, label, status) {
    const untimed = [], done = [];
    let state = task.start, before = points(state);
    for (const number of label?.path ?? []) {
      const { index, which } = actions[number];
      const after = world.apply(index, which, state), total = points(after);
      done.push({ index, which, state });
      untimed.push({
        function: functions[index].name, argument: functions[index].natives[which], text: world.say(index, which, state, after),
        cost: task.effort(index, which, state), usual: rounded(world.cost(index, which, state)), gained: total - before, total,
      });
      [state, before] = [after, total];
    }
    const cost = label ? rounded(untimed.reduce((sum, step) => sum + step.cost, 0)) : null;
    const steps = world.schedule(done).map((times, i) => ({ ...untimed[i], ...times }));
    return { status, steps, cost, ...world.ready(steps), points: before, path: label?.path ?? [], end: state };
  }

  function plan(start, options) {
    return finish(search(start, options));
  }

  return { points, parts, required, entryOf, most, search, plan };
}

// Runs a search to its end.
function finish(search) {
  let turn = search.next();
  while (!turn.done) turn = search.next();
  return turn.value;
}

// Labels, the least total first, of these the longest way.
function makeQueue() {
  const heap = [];
  const before = (a, b) => a.total < b.total || (a.total === b.total && a.path.length > b.path.length);
  function push(label) {
    let at = heap.push(label) - 1;
    for (let up = (at - 1) >> 1; at > 0 && before(label, heap[up]); up = (at - 1) >> 1) {
      heap[at] = heap[up];
      at = up;
    }
    heap[at] = label;
  }
  function pop() {
    const top = heap[0], last = heap.pop();
    if (heap.length) {
      let at = 0;
      for (let down = 1; down < heap.length; down = 2 * at + 1) {
        if (down + 1 < heap.length && before(heap[down + 1], heap[down])) down += 1;
        if (!before(heap[down], last)) break;
        heap[at] = heap[down];
        at = down;
      }
      heap[at] = last;
    }
    return top;
  }
  return { push, pop };
}

// A weight to six decimals, so that equal sums of weighted costs are equal.
function weightOf(weights, name) {
  return whole((weights[name] ?? 1) * 1e6) / 1e6;
}
