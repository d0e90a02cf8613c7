"use strict";
/* Table: real tables with captions and headings, in regions that keys can scroll. */
(() => {
  const { h } = site;
  const ROWS = 30;

  /** Make a table; `row` turns an item into cells (text, or elements), the first is its heading.
      `numeric` names the columns of numbers. Long tables turn their pages by the address. */
  site.table = ({ caption, columns, items, row, numeric = [], page = "page", size = ROWS }) => {
    const pages = Math.max(1, Math.ceil(items.length / size));
    const asked = Number(site.state().params.get(page)) || 1;
    const at = Math.min(pages, Math.max(1, Math.trunc(asked)));
    const shown = items.slice((at - 1) * size, at * size);
    const figures = new Set(numeric);
    const cell = (content, place) =>
      h(
        place ? "td" : "th",
        { scope: place ? null : "row", class: figures.has(columns[place]) ? "number" : null },
        content,
      );
    return h(
      "div",
      { class: "tabled" },
      h(
        "div",
        { class: "scroll", role: "region", tabindex: 0, "aria-label": caption },
        h(
          "table",
          {},
          h("caption", {}, caption),
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              columns.map((name) =>
                h("th", { scope: "col", class: figures.has(name) ? "number" : null }, name),
              ),
            ),
          ),
          h(
            "tbody",
            {},
            shown.map((item) => h("tr", {}, row(item).map(cell))),
          ),
        ),
      ),
      pages > 1 ? pager(page, { at, pages, total: items.length, size }) : null,
    );
  };

  function pager(page, { at, pages, total, size }) {
    const turn = (to, text) =>
      to < 1 || to > pages
        ? h("span", { class: "off", "aria-disabled": "true" }, text)
        : h("a", { href: site.changed({ [page]: to }), id: `${page}-${text}` }, text);
    const first = (at - 1) * size + 1;
    const [from, to, all] = [first, Math.min(total, at * size), total].map(site.words.count);
    const where = `${from} to ${to} of ${all}`;
    return h(
      "nav",
      { class: "pager", "aria-label": "Pages of the table" },
      turn(at - 1, "Previous"),
      h("span", {}, where),
      turn(at + 1, "Next"),
    );
  }

  /** Make a word with a sign before it, so that colour says nothing alone. */
  site.badge = (word, sign) =>
    h(
      "span",
      { class: `badge ${word.replaceAll("_", "-")}` },
      h("span", { class: "sign", "aria-hidden": "true" }, sign),
      site.words.spoken(word),
    );
})();
