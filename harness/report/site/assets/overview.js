"use strict";
/* Overview: the newest run of a machine: its verdicts, and what came to differ lately. */
(() => {
  const { h, words } = site;
  const core = site.held("core");

  function changes(era) {
    const runs = new Set(era.runs);
    const items = core.changes.filter((change) => runs.has(change.run));
    return [
      h("h2", { id: "changes" }, "Changes"),
      site.changeTable(
        items,
        era.runs.length > 1
          ? "No cell has changed between the runs of this machine."
          : "A change takes two runs; there is one.",
      ),
    ];
  }

  site.views.set("overview", {
    title: "Overview",
    async draw(params) {
      const era = site.machine(params);
      const run = era.runs.at(-1);
      const { verdicts: rows, before } = await site.load(`newest-${run}`);
      const { runs } = core;
      const facts =
        `${words.moment(runs.began[run])} UTC on ${runs.device[run]}, ` +
        `grid ${runs.grid[run] || "unknown"}: ${words.many(runs.cells[run], "cell")}, ` +
        `${words.count(runs.ok[run])} measured, ${words.count(runs.failed[run])} failed. ` +
        `${words.many(era.runs.length, "run")} on this machine.`;
      return [
        h(
          "p",
          { class: "lead" },
          "Newest run ",
          h("a", { href: site.link("runs", { run: runs.name[run] }) }, runs.name[run]),
          runs.complete[run] ? "" : " (cut short)",
          h("br"),
          facts,
        ),
        core.eras.length > 1 ? site.controls(site.machines(era)) : null,
        site.verdicts(rows, before, params.get("verdict") ?? ""),
        changes(era),
      ];
    },
  });
})();
