"use strict";
/* Cells: what each cell is, and its numbers in each run, loaded chunk by chunk when asked for. */
(() => {
  const core = site.held("core");
  const chunks = new Map();
  const backends = new Map(core.backends.map((look) => [look.name, look]));
  const NUMBERS = {
    time: "time_median_s",
    low: "time_low_s",
    high: "time_high_s",
    peak: "peak_bytes",
  };

  async function loaded(number) {
    const raw = await site.load(`cells-${number}`);
    const runs = site.unpack(raw.runs);
    const made = { runs, status: site.unpack(raw.status), column: new Map() };
    runs.forEach((run, column) => made.column.set(run, column));
    for (const [short, name] of Object.entries(NUMBERS)) made[short] = site.unpack(raw[name]);
    return made;
  }

  function chunk(number) {
    if (!chunks.has(number)) chunks.set(number, loaded(number));
    return chunks.get(number);
  }

  /** Return a cell's numbers over the runs that hold its backend: arrays of one length. */
  async function track(cell) {
    const part = await chunk(core.cells.chunk[cell]);
    const from = core.cells.row[cell] * part.runs.length;
    const cut = (values) => values.subarray(from, from + part.runs.length);
    const made = { cell, runs: part.runs, status: cut(part.status) };
    for (const short of Object.keys(NUMBERS)) made[short] = cut(part[short]);
    return made;
  }

  /** Return a cell's numbers in one run, null if the run has no such cell. */
  async function point(cell, run) {
    const part = await chunk(core.cells.chunk[cell]);
    if (!part.column.has(run)) return null;
    const place = core.cells.row[cell] * part.runs.length + part.column.get(run);
    const made = { cell, status: core.statuses[part.status[place]] };
    for (const short of Object.keys(NUMBERS)) made[short] = part[short][place];
    return made;
  }

  /** Return an estimate and its interval in the unit of a quantity; NaN where there is none. */
  function measure(quantity, { cell, time, low, high, peak }) {
    if (quantity === "memory") return { value: peak, low: NaN, high: NaN };
    if (quantity === "time") return { value: time, low, high };
    const flops = core.cells.flops[cell] ?? NaN;
    return { value: flops / time, low: flops / high, high: flops / low };
  }

  const field = (cell, name) => core.cells[name][cell];
  const all = core.cells.name.map((_, cell) => cell);
  const short = (cell) =>
    field(cell, "name").startsWith(`${field(cell, "backend")}.`)
      ? field(cell, "name").slice(field(cell, "backend").length + 1)
      : field(cell, "name");
  const distinct = (cells, name) => [...new Set(cells.map((cell) => field(cell, name)))];

  /** Return the place of a run by its name, -1 if there is none. */
  const run = (name) => core.runs.name.indexOf(name);

  /** Return the era that a run belongs to, and whether the run is its newest. */
  const era = (place) => core.eras.find((one) => one.runs.includes(place));

  site.cells = { all, field, short, distinct, track, point, measure, run, era, backends };
})();
