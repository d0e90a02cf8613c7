"use strict";
/* Sweeps: cells that differ in their length alone, and the slope of a line through them. */
(() => {
  const { cells, words } = site;
  const core = site.held("core");
  const field = cells.field;

  /** Name what a cell is beside its length: batch, heads, features, window. */
  function shape(cell) {
    const get = (name) => field(cell, name);
    const parts = [`B=${get("batch")}`, `H=${get("heads")}`, `D=${get("dim_key")}`];
    if (get("heads_kv") !== get("heads")) parts.splice(2, 0, `KV heads=${get("heads_kv")}`);
    if (get("dim_value") !== get("dim_key")) parts.push(`D of values=${get("dim_value")}`);
    if (get("window") !== null) parts.push(`window=${get("window")}`);
    if (get("length_query") !== get("length_key")) parts.push(`queries=${get("length_query")}`);
    return parts.join(" ");
  }

  /** Count how often each value of a field or of a function comes, the most frequent first. */
  function ranked(list, value) {
    const counts = new Map();
    for (const cell of list) counts.set(value(cell), (counts.get(value(cell)) ?? 0) + 1);
    return [...counts].sort((one, other) => other[1] - one[1]).map(([name]) => name);
  }

  /** Return the values and the one chosen, and the cells that have it. */
  function narrowed(list, params, { name, value, preferred }) {
    const options = ranked(list, value);
    const asked = params.get(name);
    const usual = options.includes(preferred) ? preferred : options[0];
    const chosen = options.includes(asked) ? asked : usual;
    return { options, chosen, cells: list.filter((cell) => value(cell) === chosen) };
  }

  /** Fit log value over log length by least squares; NaN for fewer than two lengths. */
  function slope(points) {
    const known = points.filter((point) => words.known(point.value) && point.value > 0);
    const xs = known.map((point) => Math.log(point.length));
    const ys = known.map((point) => Math.log(point.value));
    const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
    const [x, y] = [mean(xs), mean(ys)];
    const spread = xs.reduce((sum, value) => sum + (value - x) ** 2, 0);
    return spread > 0
      ? xs.reduce((sum, value, at) => sum + (value - x) * (ys[at] - y), 0) / spread
      : NaN;
  }

  // The claims whose figure is an exponent over T, by quantity.
  const EXPONENTS = { time: ["C1"], memory: ["C3", "C4"], throughput: [] };

  /** Return the judged exponent of a sweep, if its run has one for just this shape. */
  function judged(verdicts, { backend, metric, cell }) {
    const same = (row) =>
      row.backend === backend &&
      words.known(row.observed) &&
      ["device", "dtype", "mask", "phase"].every((name) => row[name] === field(cell, name)) &&
      row.reason.includes(
        `B=${field(cell, "batch")} H=${field(cell, "heads")} D=${field(cell, "dim_key")}`,
      );
    return verdicts.find((row) => EXPONENTS[metric].includes(row.claim) && same(row)) ?? null;
  }

  /** Return each backend's points of a run, by length. */
  async function lines(list, { run, metric, least, most }) {
    const found = new Map();
    for (const cell of list) {
      const length = field(cell, "length_key");
      if (length < least || length > most) continue;
      const raw = await cells.point(cell, run);
      if (!raw || !raw.status) continue;
      const backend = field(cell, "backend");
      if (!found.has(backend)) found.set(backend, []);
      found.get(backend).push({ cell, length, status: raw.status, ...cells.measure(metric, raw) });
    }
    for (const points of found.values()) points.sort((one, other) => one.length - other.length);
    return core.backends
      .filter((look) => found.has(look.name))
      .map((look) => ({ look, points: found.get(look.name) }));
  }

  site.sweeps = { shape, narrowed, slope, judged, lines };
})();
