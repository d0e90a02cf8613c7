"use strict";
/* Series: what the history draws, of one cell or of all cells of a backend, era by era. */
(() => {
  const { cells, words } = site;
  const core = site.held("core");
  const SHARES = [0.1, 0.9];

  /** Return the points of a track that lie in `runs`, as one part per era. */
  function parts(track, quantity, runs) {
    const place = new Map([...track.runs].map((run, at) => [run, at]));
    const point = (run) => {
      const at = place.get(run);
      const raw = {
        cell: track.cell,
        time: track.time[at],
        low: track.low[at],
        high: track.high[at],
        peak: track.peak[at],
      };
      return { run, status: core.statuses[track.status[at]], ...cells.measure(quantity, raw) };
    };
    return core.eras
      .map((era) => ({
        name: era.name,
        points: era.runs
          .filter((run) => runs.has(run) && place.has(run))
          .map(point)
          .filter((one) => one.status),
      }))
      .filter((part) => part.points.length);
  }

  function quantile(sorted, share) {
    const at = (sorted.length - 1) * share;
    const [low, high] = [sorted[Math.floor(at)], sorted[Math.ceil(at)]];
    return low + (high - low) * (at - Math.floor(at));
  }

  const ascending = (values) => Float64Array.from(values).sort();
  const measured = (part) => part.points.filter((point) => words.known(point.value));

  /** Return the median of a part's measured points, NaN if there are none. */
  function level(part) {
    const values = ascending(measured(part).map((point) => point.value));
    return values.length ? quantile(values, 0.5) : NaN;
  }

  /** Return a backend's parts: over its cells, the median of each run's ratio to its own era's
      median, with the range that holds the middle 80 % of the cells. */
  function together(tracks, quantity, runs) {
    const eras = new Map();
    for (const track of tracks) {
      for (const part of parts(track, quantity, runs)) {
        const usual = level(part);
        if (!eras.has(part.name)) eras.set(part.name, new Map());
        const ratios = eras.get(part.name);
        for (const point of measured(part)) {
          if (!ratios.has(point.run)) ratios.set(point.run, []);
          ratios.get(point.run).push(point.value / usual);
        }
      }
    }
    return [...eras].map(([name, ratios]) => ({
      name,
      points: [...ratios].sort((a, b) => a[0] - b[0]).map(summed),
    }));
  }

  function summed([run, ratios]) {
    const sorted = ascending(ratios);
    const [low, high] = SHARES.map((share) => quantile(sorted, share));
    return { run, status: "ok", value: quantile(sorted, 0.5), low, high, cells: sorted.length };
  }

  /** Return the newest so many runs of a device, as a set. */
  function recent(device, count) {
    const runs = core.runs.device
      .map((name, run) => (name === device ? run : -1))
      .filter((run) => run >= 0);
    return new Set(count ? runs.slice(-count) : runs);
  }

  site.series = { parts, together, level, measured, recent };
})();
