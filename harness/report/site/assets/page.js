"use strict";
/* Page: elements made of text alone, and the state of a page in its address. */
(() => {
  /** Make an element; children are elements or text, and text is never read as markup. */
  site.h = (tag, attributes, ...children) => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes ?? {})) {
      if (value === null || value === undefined || value === false) continue;
      if (typeof value === "function") made.addEventListener(name, value);
      else made.setAttribute(name, value === true ? "" : String(value));
    }
    made.append(
      ...children.flat(Infinity).filter((child) => child !== null && child !== undefined),
    );
    return made;
  };

  /** Return the page and the parameters that the address names. */
  site.state = () => {
    const [path, query] = location.hash.replace(/^#\/?/, "").split(/\?(.*)/s);
    return { view: path || "overview", params: new URLSearchParams(query ?? "") };
  };

  /** Return the address of a page; empty values are left out, lists are repeated. */
  site.link = (view, values = {}) => {
    const params = new URLSearchParams();
    for (const [name, value] of Object.entries(values)) {
      for (const one of Array.isArray(value) ? value : [value]) {
        if (one !== null && one !== undefined && one !== "") params.append(name, one);
      }
    }
    const query = params.toString();
    return `#/${view}${query ? `?${query}` : ""}`;
  };

  /** Return the address of this page with some parameters changed. */
  site.changed = (values) => {
    const { view, params } = site.state();
    const kept = {};
    for (const name of params.keys()) kept[name] = params.getAll(name);
    return site.link(view, { ...kept, ...values });
  };

  /** Change parameters: a step that the browser's back button undoes, unless it is `minor`. */
  site.go = (values, minor = false) => {
    const address = site.changed(values);
    if (!minor) {
      location.hash = address;
      return;
    }
    history.replaceState(null, "", address);
    dispatchEvent(new HashChangeEvent("hashchange"));
  };

  /** Say something to those who listen to the page. */
  site.say = (text) => {
    document.getElementById("said").textContent = text;
  };
})();
