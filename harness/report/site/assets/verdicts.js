"use strict";
/* Verdicts: what a run says of every claim, to be narrowed by verdict and opened by series. */
(() => {
  const { h, words } = site;
  const core = site.held("core");
  const SIGNS = { supported: "✓", refuted: "✗", inconclusive: "?", not_measured: "–" };

  const verdict = (word) => site.badge(word, site.named(SIGNS, word, ""));
  const place = (row) => [row.backend, row.dtype, row.mask, row.phase].filter(Boolean).join(" · ");

  /** Sum up: one refuted refutes, all supported support; what was not measured is left out. */
  function overall(rows) {
    const found = new Set(rows.map((row) => row.verdict));
    found.delete("not_measured");
    if (!found.size) return "not_measured";
    if (found.has("refuted")) return "refuted";
    return found.size === 1 && found.has("supported") ? "supported" : "inconclusive";
  }

  function claimed(verdicts, before) {
    const claims = new Map();
    verdicts.forEach((row, at) => {
      if (!claims.has(row.claim)) claims.set(row.claim, []);
      claims.get(row.claim).push({ ...row, before: before[at] });
    });
    return [...claims].map(([id, rows]) => ({ id, rows, word: overall(rows) }));
  }

  function series(rows) {
    return h(
      "ul",
      { class: "series" },
      rows.map((row) =>
        h(
          "li",
          {},
          verdict(row.verdict),
          " ",
          h("strong", {}, place(row) || "the whole run"),
          row.before ? h("span", { class: "moved" }, ` was ${words.spoken(row.before)}`) : null,
          words.known(row.observed) ? ` ${words.plain(row.observed, row.low, row.high)}` : null,
          words.known(row.expected) ? ` (expected ${words.digits(row.expected, 2)})` : null,
          h("span", { class: "why" }, ` ${row.reason}`),
        ),
      ),
    );
  }

  function claim({ id, rows, word }) {
    const moved = rows.some((row) => row.before);
    const asked = rows.filter((row) => row.verdict !== "not_measured");
    const part = asked.filter((row) => row.verdict === "supported").length;
    return h(
      "li",
      { class: "claim" },
      h(
        "details",
        {},
        h(
          "summary",
          {},
          h("span", { class: "id" }, id),
          h("span", { class: "sentence" }, site.named(core.claims, id, "")),
          verdict(word),
          h("span", { class: "part" }, asked.length ? `${part} of ${asked.length}` : ""),
          moved ? h("span", { class: "moved" }, "changed") : null,
        ),
        series(rows),
      ),
    );
  }

  function verdicts(claims, chosen) {
    const tally = (word) => claims.filter((one) => one.word === word).length;
    const chip = (word, text, count) =>
      h(
        "a",
        {
          class: "chip",
          id: `only-${word || "all"}`,
          href: site.changed({ verdict: word }),
          "aria-current": chosen === word ? "true" : null,
        },
        h("b", {}, words.count(count)),
        ` ${text}`,
      );
    const shown = claims.filter((one) => !chosen || one.word === chosen);
    return [
      h("h2", { id: "verdicts" }, "Verdicts"),
      h(
        "nav",
        { class: "chips", "aria-label": "Which verdicts" },
        chip("", "claims", claims.length),
        Object.keys(SIGNS).map((word) => chip(word, words.spoken(word), tally(word))),
      ),
      claims.length
        ? h("ul", { class: "claims" }, shown.map(claim))
        : h(
            "p",
            { class: "empty" },
            "This run has no verdicts: it was cut short, or its report was never built.",
          ),
      claims.length && !shown.length
        ? h("p", { class: "empty" }, "No claim has this verdict.")
        : null,
    ];
  }

  site.verdicts = (rows, before, chosen) => verdicts(claimed(rows, before), chosen);
})();
