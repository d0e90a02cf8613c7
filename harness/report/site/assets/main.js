"use strict";
/* Main: shows the page that the address names, and keeps the reader's place while it changes. */
(() => {
  const { h } = site;
  const root = document.documentElement;
  const main = document.getElementById("main");
  let turn = 0;
  let shown = null;

  const dark = () =>
    root.dataset.theme
      ? root.dataset.theme === "dark"
      : matchMedia("(prefers-color-scheme: dark)").matches;

  function marked(view) {
    for (const link of document.querySelectorAll("nav[aria-label=Pages] a")) {
      if (link.hash === `#/${view}`) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    document.getElementById("theme").setAttribute("aria-pressed", String(dark()));
  }

  /** Put new content in, and give the focus back to the control that had it. */
  function put(nodes, same) {
    const active = document.activeElement;
    const [id, caret] = [active?.id, active?.selectionStart];
    main.replaceChildren(...nodes.flat(Infinity).filter(Boolean));
    const again = same && id ? document.getElementById(id) : null;
    if (again && again !== document.activeElement) {
      again.focus({ preventScroll: true });
      if (typeof caret === "number" && again.type === "search")
        again.setSelectionRange(caret, caret);
    }
    if (!same && shown !== null) {
      scrollTo(0, 0);
      main.focus({ preventScroll: true });
    }
  }

  async function drawn(view, params) {
    const made = await view.draw(params);
    return Array.isArray(made) ? { nodes: made, after: null } : made;
  }

  async function show() {
    const mine = ++turn;
    const { view: name, params } = site.state();
    const view = site.views.get(name) ?? site.views.get("overview");
    root.removeAttribute("data-ready");
    try {
      const { nodes, after } = await drawn(view, params);
      if (mine !== turn) return;
      document.title = `${view.title} · attention-bench`;
      put([h("h1", {}, view.title), nodes], shown === view);
      marked(site.views.has(name) ? name : "overview");
      shown = view;
      await after?.();
    } catch (error) {
      console.error(error);
      main.replaceChildren(
        h("p", { role: "alert", class: "empty" }, `This page cannot be shown: ${error.message}`),
      );
    }
    if (mine !== turn) return;
    performance.mark("shown");
    root.dataset.ready = name;
  }

  document.getElementById("theme").addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    try {
      localStorage.setItem("attention-bench-theme", root.dataset.theme);
    } catch {
      // The choice then lasts as long as the page.
    }
    show();
  });
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault();
    main.focus();
  });
  addEventListener("hashchange", show);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
  show();
})();
