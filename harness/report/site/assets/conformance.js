"use strict";
/* Behaviour: what each backend does where people got hurt, as a matrix of answers to open. */
(() => {
  const { h, words } = site;
  const core = site.held("core");
  const SIGNS = { conforms: "✓", deviates: "✗", refuses: "–", crashes: "!" };
  const SHOWN = [
    ["", "all behaviours"],
    ["differing", "those some backend does not conform to"],
    ["deviates", "with a deviation"],
    ["refuses", "with a refusal"],
    ["crashes", "with a crash"],
  ];

  function kept(rows, params) {
    const only = params.get("only") ?? "";
    const find = (params.get("find") ?? "").trim().toLowerCase();
    const behaviours = new Map();
    for (const row of rows) {
      if (!behaviours.has(row.behaviour)) behaviours.set(row.behaviour, new Map());
      behaviours.get(row.behaviour).set(row.backend, row);
    }
    const fits = (found) =>
      !only ||
      [...found.values()].some((row) =>
        only === "differing" ? row.verdict !== "conforms" : row.verdict === only,
      );
    return [...behaviours].filter(
      ([name, found]) => fits(found) && name.toLowerCase().includes(find),
    );
  }

  const key = (row) => `${row.behaviour} ${row.backend}`;

  function answer(row, open) {
    if (!row) return words.ABSENT;
    return h(
      "a",
      {
        class: `answer ${row.verdict}`,
        href: site.changed({ at: key(row) === open ? null : key(row) }),
        id: `at-${key(row).replaceAll(" ", "-")}`,
        "aria-label": `${row.backend}, ${row.behaviour}: ${row.verdict}`,
        "aria-current": key(row) === open ? "true" : null,
      },
      h("span", { class: "sign", "aria-hidden": "true" }, site.named(SIGNS, row.verdict, "")),
      h("span", { class: "word" }, row.verdict),
    );
  }

  function opened(row) {
    if (!row) return null;
    const facts = {
      expected: row.expected,
      observed: row.observed,
      why: row.reason,
      "data type": row.dtype,
      device: row.device,
    };
    return h(
      "section",
      { class: "opened", "aria-label": "The answer chosen" },
      h(
        "h3",
        {},
        `${row.backend}, ${row.behaviour} `,
        site.badge(row.verdict, site.named(SIGNS, row.verdict, "")),
      ),
      h(
        "dl",
        {},
        Object.entries(facts)
          .filter(([, value]) => value)
          .flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]),
      ),
      h("a", { href: site.changed({ at: null }), id: "close" }, "Close"),
    );
  }

  function matrix(rows, params) {
    const found = kept(rows, params);
    const order = new Map(core.backends.map((look, at) => [look.name, at]));
    const rank = (name) => order.get(name) ?? core.backends.length;
    const names = [...new Set(rows.map((row) => row.backend))].sort(
      (one, other) => rank(one) - rank(other),
    );
    if (!found.length) return h("p", { class: "empty" }, "No behaviour matches these choices.");
    const open = params.get("at");
    return site.table({
      caption: `${words.many(found.length, "behaviour")} of ${words.many(names.length, "backend")}`,
      size: 200,
      columns: ["behaviour", ...names],
      items: found,
      row: ([name, row]) => [name, ...names.map((backend) => answer(row.get(backend), open))],
    });
  }

  function tally(rows) {
    const count = (word) => rows.filter((row) => row.verdict === word).length;
    return h(
      "p",
      { class: "tally" },
      Object.keys(SIGNS)
        .filter(count)
        .map((word) =>
          h("span", {}, site.badge(word, SIGNS[word]), ` ${words.count(count(word))} `),
        ),
    );
  }

  site.views.set("conformance", {
    title: "Behaviour",
    async draw(params) {
      const era = site.machine(params);
      const run = era.runs.at(-1);
      const { conformance: rows } = await site.load(`newest-${run}`);
      const lead = h(
        "p",
        { class: "lead" },
        "What each backend does with empty rows, NaN, odd masks and the like, in ",
        h("a", { href: site.link("runs", { run: core.runs.name[run] }) }, core.runs.name[run]),
        ".",
      );
      if (!rows.length)
        return [
          lead,
          site.controls(site.machines(era)),
          h("p", { class: "empty" }, "This run asked no questions of behaviour."),
        ];
      return [
        lead,
        site.controls(
          site.machines(era),
          site.select("only", "Show", {
            options: SHOWN,
            value: params.get("only") ?? "",
            clears: ["page"],
          }),
          site.field("find", "Find a behaviour", params.get("find") ?? ""),
        ),
        tally(rows),
        opened(rows.find((row) => key(row) === params.get("at"))),
        matrix(rows, params),
      ];
    },
  });
})();
