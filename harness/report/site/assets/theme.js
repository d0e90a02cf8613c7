"use strict";
/* Theme: light or dark, before anything is painted; the reader's choice beats the system's. */
(() => {
  let chosen = null;
  try {
    chosen = localStorage.getItem("attention-bench-theme");
  } catch {
    // A browser may keep no storage for files; the system's choice stands then.
  }
  if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;
})();
