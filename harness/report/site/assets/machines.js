"use strict";
/* Machines: which machine's newest run a page speaks of. */
(() => {
  const { words } = site;
  const core = site.held("core");

  /** Return the era that the address names, else the one of the newest run. */
  site.machine = (params) => {
    const asked = core.eras.find((era) => era.name === params.get("machine"));
    const newest = core.eras.reduce((one, other) =>
      other.runs.at(-1) > one.runs.at(-1) ? other : one,
    );
    return asked ?? newest;
  };

  /** Make the choice of a machine, where there are several. */
  site.machines = (era) =>
    core.eras.length < 2
      ? null
      : site.select("machine", "Machine and versions", {
          options: core.eras
            .map((one) => [one.name, `${one.name} (${words.many(one.runs.length, "run")})`])
            .reverse(),
          value: era.name,
          clears: ["page", "changes"],
        });
})();
