"use strict";
/* Changes: the table of what came to differ from one run to the next. */
(() => {
  const { h, words } = site;
  const core = site.held("core");
  const KINDS = {
    slower: "▲",
    bigger: "▲",
    faster: "▼",
    smaller: "▼",
    broken: "✗",
    gone: "✗",
    fixed: "✓",
    new: "+",
  };
  const LINES = 25;

  function written(change, value) {
    if (typeof value === "string") return words.spoken(value);
    const memory = change.kind === "bigger" || change.kind === "smaller";
    return words.QUANTITIES[memory ? "memory" : "time"].write(value);
  }

  function changeRow(change) {
    const cell = site.cells.field(change.cell, "name");
    const memory = change.kind === "bigger" || change.kind === "smaller";
    const link = site.link("history", {
      device: site.cells.field(change.cell, "device"),
      backend: site.cells.field(change.cell, "backend"),
      cell,
      metric: memory ? "memory" : null,
    });
    return [
      words.moment(core.runs.began[change.run]),
      site.badge(change.kind, site.named(KINDS, change.kind, "")),
      h("a", { href: link }, cell),
      written(change, change.before),
      written(change, change.after),
      words.change(change.before, change.after),
    ];
  }

  /** Make the table of changes, or say that there is none. */
  site.changeTable = (items, empty = "Nothing has changed here.") =>
    items.length
      ? site.table({
          caption: "Changes: where a cell came to differ from the runs before, the newest first",
          columns: ["since (UTC)", "what", "cell", "before", "after", "change"],
          page: "changes",
          size: LINES,
          numeric: ["before", "after", "change"],
          items,
          row: changeRow,
        })
      : h("p", { class: "empty" }, empty);
})();
