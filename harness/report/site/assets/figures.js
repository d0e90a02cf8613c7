"use strict";
/* Figures: the tables below the explorer's chart: slopes, figures, and what there are none of. */
(() => {
  const { h, words, cells, sweeps } = site;
  const { swatch } = site.grid;
  const core = site.held("core");

  function slopes(lines, { verdicts, metric }) {
    const row = ({ look, points }) => {
      const found = sweeps.judged(verdicts, { backend: look.name, metric, cell: points[0].cell });
      const known = points.filter((point) => words.known(point.value));
      return [
        [swatch(look.name), look.name],
        words.count(known.length),
        words.plain(sweeps.slope(points)),
        found ? words.plain(found.observed, found.low, found.high) : words.ABSENT,
        found ? `${found.claim}: ${words.spoken(found.verdict)}` : words.ABSENT,
      ];
    };
    return site.table({
      caption:
        "Slopes: exponent of T by least squares through the points shown, beside the judged one",
      page: "slopes",
      columns: ["backend", "points", "slope", "judged [95 %]", "claim"],
      numeric: ["points", "slope", "judged [95 %]"],
      items: lines,
      row,
    });
  }

  function table(chosen, lines, reasons) {
    const { span, name } = words.QUANTITIES[chosen.metric];
    const lengths = [
      ...new Set(lines.flatMap(({ points }) => points.map((point) => point.length))),
    ].sort((a, b) => a - b);
    const told = (point) => {
      if (!point) return words.ABSENT;
      if (words.known(point.value)) return span(point.value, point.low, point.high);
      const why = site.named(reasons, cells.field(point.cell, "name"));
      return h(
        "span",
        { class: "absent", title: why ?? null },
        point.status === "ok" ? words.ABSENT : words.spoken(point.status),
      );
    };
    const names = lines.map(({ look }) => look.name);
    return site.table({
      caption: `${name} of ${core.runs.name[chosen.run]}`,
      columns: ["T", ...names],
      numeric: names,
      page: "lengths",
      items: lengths,
      row: (length) => [
        words.count(length),
        ...lines.map(({ points }) => told(points.find((point) => point.length === length))),
      ],
    });
  }

  function absences(lines, reasons) {
    const found = new Map();
    for (const { look, points } of lines) {
      for (const point of points.filter((one) => one.status !== "ok")) {
        const why = site.named(reasons, cells.field(point.cell, "name"), "");
        found.set(`${look.name}: ${words.spoken(point.status)}${why ? `: ${why}` : ""}`, true);
      }
    }
    return found.size
      ? h(
          "details",
          {},
          h("summary", {}, `What was not measured, and why (${words.count(found.size)})`),
          h(
            "ul",
            { class: "series" },
            [...found.keys()].map((text) => h("li", {}, text)),
          ),
        )
      : null;
  }

  site.figures = { slopes, table, absences };
})();
