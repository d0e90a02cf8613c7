"use strict";
/* Era tables: a history's eras with what began each, and its runs one by one. */
(() => {
  const { h, words, series } = site;
  const core = site.held("core");

  const named = (run) =>
    h("a", { href: site.link("runs", { run: core.runs.name[run] }) }, core.runs.name[run]);

  /** Make the table of eras with what began each. */
  function eraTable(parts, quantity) {
    const changed = new Map(core.eras.map((era) => [era.name, era.changed]));
    const row = ({ name, points }) => [
      [name, h("div", { class: "why" }, changed.get(name).join(", "))],
      words.moment(core.runs.began[points[0].run]),
      words.moment(core.runs.began[points.at(-1).run]),
      words.count(points.length),
      quantity.write(series.level({ points })),
    ];
    return site.table({
      caption: "Eras: runs of one machine and one set of versions",
      page: "eras",
      items: parts.toReversed(),
      row,
      columns: ["machine and versions", "from (UTC)", "to (UTC)", "runs", "median"],
      numeric: ["runs", "median"],
    });
  }

  function runTable(parts, { quantity, single }) {
    const items = parts.flatMap((part) => part.points).sort((one, other) => other.run - one.run);
    const figure = (point) =>
      point.status === "ok"
        ? quantity.span(point.value, point.low, point.high)
        : words.spoken(point.status);
    const row = (point) => [
      named(point.run),
      words.moment(core.runs.began[point.run]),
      figure(point),
      ...(single ? [] : [words.count(point.cells)]),
    ];
    const what = single ? "figure [95 % interval]" : "median over the cells [middle 80 % of them]";
    return site.table({
      caption: "Every run, the newest first",
      columns: ["run", "began (UTC)", what, ...(single ? [] : ["cells"])],
      numeric: [what, "cells"],
      items,
      row,
    });
  }

  site.eraTables = { eraTable, runTable };
})();
