"use strict";
/* Controls: labelled inputs whose values live in the address. */
(() => {
  const { h } = site;

  /** Make a labelled list to choose from; options are texts or [value, text]. */
  site.select = (name, label, { options, value, clears = [] }) => {
    const id = `choose-${name}`;
    const pairs = options.map((option) => (Array.isArray(option) ? option : [option, option]));
    const chosen = (event) =>
      site.go({
        ...Object.fromEntries(clears.map((other) => [other, null])),
        [name]: event.target.value,
      });
    return h(
      "div",
      { class: "control" },
      h("label", { for: id }, label),
      h(
        "select",
        { id, name, change: chosen },
        pairs.map(([key, text]) => h("option", { value: key, selected: key === value }, text)),
      ),
    );
  };

  /** Make a labelled field of text that filters as one types. */
  site.field = (name, label, value) => {
    const id = `find-${name}`;
    const typed = (event) => site.go({ [name]: event.target.value, page: null }, true);
    return h(
      "div",
      { class: "control" },
      h("label", { for: id }, label),
      h("input", { id, name, type: "search", value, autocomplete: "off", input: typed }),
    );
  };

  /** Make a group of boxes to tick; `marks` may hold an element to show beside each name. */
  site.ticks = (name, legend, { options, ticked, marks }) => {
    const picked = (event) => {
      const boxes = event.currentTarget.querySelectorAll("input");
      const names = [...boxes].filter((box) => box.checked).map((box) => box.value);
      site.go({ [name]: names.length === options.length ? null : names.length ? names : "none" });
    };
    const box = (option, place) => {
      const id = `tick-${name}-${place}`;
      return h(
        "div",
        { class: "tick" },
        h("input", { type: "checkbox", id, value: option, checked: ticked.has(option) }),
        h("label", { for: id }, marks?.(option), option),
      );
    };
    return h(
      "fieldset",
      { class: "ticks", change: picked },
      h("legend", {}, legend),
      options.map(box),
    );
  };

  site.controls = (...children) =>
    h(
      "form",
      { class: "controls", "aria-label": "Choices", submit: (event) => event.preventDefault() },
      children,
    );
})();
