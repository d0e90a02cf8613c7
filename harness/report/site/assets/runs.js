"use strict";
/* Runs: every run, and the environment of the one chosen beside that of the run before it. */
(() => {
  const { h, words } = site;
  const core = site.held("core");
  // What differs from run to run by nature says nothing about the machine.
  const PASSING = new Set([
    "run",
    "started",
    "ended",
    "wall_s",
    "timed_s",
    "command",
    "cells",
    "schema",
    "complete",
  ]);

  /** Lay nested facts flat: names joined by dots, values as text. */
  function flat(value, name = "") {
    if (value === null || typeof value !== "object")
      return [[name, value === null ? words.ABSENT : String(value)]];
    if (Array.isArray(value)) {
      const plain = value.every((one) => one === null || typeof one !== "object");
      return plain
        ? [[name, value.join(", ") || words.ABSENT]]
        : value.flatMap((one, at) => flat(one, `${name} ${at + 1}`));
    }
    return Object.entries(value).flatMap(([key, one]) => flat(one, name ? `${name}.${key}` : key));
  }

  async function facts(run) {
    const file = Math.floor(run / core.facts_per_file);
    return (await site.load(`facts-${file}`))[run - file * core.facts_per_file];
  }

  /** Return the run of the same device before this one, -1 if it is the first. */
  const before = (run) => core.runs.device.lastIndexOf(core.runs.device[run], run - 1);

  function differences(now, then) {
    const old = new Map(flat(then));
    const told = flat(now).filter(
      ([name, value]) => !PASSING.has(name) && old.get(name) !== value,
    );
    return told.map(([name, value]) => [name, old.get(name) ?? words.ABSENT, value]);
  }

  async function environment(run) {
    const earlier = run > 0 ? before(run) : -1;
    const now = await facts(run);
    const changed = earlier >= 0 ? differences(now, await facts(earlier)) : [];
    return [
      h("h2", {}, core.runs.name[run]),
      h(
        "p",
        {},
        h("a", { href: site.link("explorer", { run: core.runs.name[run] }) }, "Explore its grid"),
        " · ",
        h("a", { href: site.changed({ run: null }) }, "Close"),
      ),
      earlier < 0 ? h("p", { class: "empty" }, "It is the first run of its device.") : null,
      earlier >= 0 && !changed.length
        ? h("p", { class: "empty" }, `Same environment as ${core.runs.name[earlier]}.`)
        : null,
      changed.length
        ? site.table({
            caption: `What differs from the run before it, ${core.runs.name[earlier]}`,
            page: "differ",
            columns: ["fact", "before", "now"],
            items: changed,
            row: (one) => one,
          })
        : null,
      site.table({
        caption: `Environment of ${core.runs.name[run]}`,
        columns: ["fact", "value"],
        page: "facts",
        size: 200,
        items: flat(now),
        row: (one) => one,
      }),
    ];
  }

  function list(params) {
    const find = (params.get("find") ?? "").trim().toLowerCase();
    const eras = new Map(core.eras.flatMap((era) => era.runs.map((run) => [run, era.name])));
    const runs = core.runs.name
      .map((_, run) => run)
      .reverse()
      .filter((run) => `${core.runs.name[run]} ${eras.get(run)}`.toLowerCase().includes(find));
    const row = (run) => [
      h("a", { href: site.changed({ run: core.runs.name[run] }) }, core.runs.name[run]),
      words.moment(core.runs.began[run]),
      core.runs.grid[run] || words.ABSENT,
      words.count(core.runs.ok[run]),
      words.count(core.runs.failed[run]),
      core.runs.complete[run] ? "whole" : "cut short",
      eras.get(run),
    ];
    return runs.length
      ? site.table({
          caption: `${words.many(runs.length, "run")}, the newest first`,
          items: runs,
          row,
          numeric: ["measured", "failed"],
          columns: [
            "run",
            "began (UTC)",
            "grid",
            "measured",
            "failed",
            "state",
            "machine and versions",
          ],
        })
      : h("p", { class: "empty" }, "No run matches.");
  }

  function without() {
    if (!core.without.length) return null;
    return h(
      "details",
      {},
      h("summary", {}, `${words.many(core.without.length, "run")} left out`),
      h(
        "ul",
        { class: "series" },
        core.without.map((line) => h("li", {}, line)),
      ),
    );
  }

  site.views.set("runs", {
    title: "Runs",
    async draw(params) {
      const run = core.runs.name.indexOf(params.get("run"));
      return [
        run >= 0 ? await environment(run) : null,
        h("h2", {}, "All runs"),
        site.controls(site.field("find", "Find a run", params.get("find") ?? "")),
        list(params),
        without(),
      ];
    },
  });
})();
