"use strict";
/* History: a cell or a backend from run to run, with intervals, eras and marked changes. */
(() => {
  const { h, words, cells, series } = site;
  const { eraTable, runTable } = site.eraTables;
  const core = site.held("core");
  const SPANS = [
    ["", "all"],
    ["365", "newest 365"],
    ["100", "newest 100"],
    ["30", "newest 30"],
  ];
  // A change of time says nothing on a chart of memory, and the other way round.
  const FOREIGN = {
    memory: ["slower", "faster"],
    time: ["bigger", "smaller"],
    throughput: ["bigger", "smaller"],
  };
  const PAGES = ["page", "changes", "eras"];

  /** Read the choices from the address; what it does not name, or names wrongly, has a default. */
  function choices(params) {
    const one = (name, options, usual) =>
      options.includes(params.get(name)) ? params.get(name) : usual;
    const devices = cells.distinct(cells.all, "device");
    const device = one("device", devices, core.runs.device.at(-1));
    const here = cells.all.filter((cell) => cells.field(cell, "device") === device);
    const there = new Set(cells.distinct(here, "backend"));
    const backends = core.backends.map((look) => look.name).filter((name) => there.has(name));
    const backend = one("backend", backends, backends[0]);
    const own = here.filter((cell) => cells.field(cell, "backend") === backend);
    const cell = own.find((place) => cells.field(place, "name") === params.get("cell")) ?? null;
    return {
      devices,
      device,
      backends,
      backend,
      own,
      cell,
      single: cell !== null,
      metric: one("metric", Object.keys(words.QUANTITIES), "time"),
      span: one(
        "span",
        SPANS.map(([key]) => key),
        "",
      ),
    };
  }

  function controls({ devices, device, backends, backend, own, cell, metric, span }) {
    const listed = own.map((place) => [cells.field(place, "name"), cells.short(place)]);
    const together = ["", `all ${words.many(own.length, "cell")} together`];
    const quantities = Object.entries(words.QUANTITIES).map(([key, { name }]) => [key, name]);
    return site.controls(
      devices.length < 2
        ? null
        : site.select("device", "Device", {
            options: devices,
            value: device,
            clears: ["backend", "cell", ...PAGES],
          }),
      site.select("backend", "Backend", {
        options: backends,
        value: backend,
        clears: ["cell", ...PAGES],
      }),
      site.select("cell", "Cell", {
        options: [together, ...listed],
        value: cell === null ? "" : cells.field(cell, "name"),
        clears: PAGES,
      }),
      site.select("metric", "Quantity", { options: quantities, value: metric, clears: PAGES }),
      site.select("span", "Runs", { options: SPANS, value: span, clears: PAGES }),
    );
  }

  /** Return the changes to mark: those of the cell, or of any cell of the backend. */
  function marks({ own, cell, metric }, runs) {
    const wanted = new Set(cell === null ? own : [cell]);
    return core.changes.filter(
      (one) => wanted.has(one.cell) && runs.has(one.run) && !FOREIGN[metric].includes(one.kind),
    );
  }

  function hint({ single }, changes) {
    const dotted = changes ? " A dotted upright marks a change." : "";
    return h(
      "p",
      { class: "hint" },
      single
        ? `The band is the 95 % interval. A solid upright begins a new era.${dotted}`
        : `1 is each cell's median in its era; the band holds the middle 80 % of the cells. ` +
            `A solid upright begins a new era.${dotted}`,
    );
  }

  site.views.set("history", {
    title: "History",
    async draw(params) {
      site.prepare();
      const chosen = choices(params);
      const { single, metric, own, cell } = chosen;
      const runs = series.recent(chosen.device, Number(chosen.span));
      const tracks = await Promise.all((single ? [cell] : own).map(cells.track));
      const parts = single
        ? series.parts(tracks[0], metric, runs)
        : series.together(tracks, metric, runs);
      const found = marks(chosen, runs);
      const quantity = single ? words.QUANTITIES[metric] : words.RATIO;
      const subject = single
        ? cells.field(cell, "name")
        : `${chosen.backend}, ${words.many(own.length, "cell")} together`;
      const chart = site.chart(`${words.QUANTITIES[metric].name} of ${subject} from run to run`);
      const known = new Set(parts.flatMap(series.measured).map((point) => point.run)).size;
      const few = [
        "No run has a figure of this quantity.",
        "A line takes two runs; there is one.",
      ];
      return {
        nodes: [
          controls(chosen),
          h("h2", {}, subject),
          known > 1 ? [hint(chosen, found.length), chart] : h("p", { class: "empty" }, few[known]),
          site.changeTable(found, "No change in these runs."),
          eraTable(parts, quantity),
          runTable(parts, { quantity, single }),
        ],
        after: () => (known > 1 ? site.draw(chart, site.trail(chosen, parts, found)) : null),
      };
    },
  });
})();
