"use strict";
/* Grid: the explorer's choices, each among what the ones before it leave, as controls. */
(() => {
  const { h, words, cells, sweeps, looks } = site;
  const core = site.held("core");
  const field = (name) => (cell) => cells.field(cell, name);

  /** Read the choices from the address, each among what the ones before it leave. */
  function choices(params) {
    const asked = cells.run(params.get("run"));
    const run = asked >= 0 ? asked : core.runs.name.length - 1;
    const metric = Object.hasOwn(words.QUANTITIES, params.get("metric"))
      ? params.get("metric")
      : "time";
    const steps = {
      device: core.runs.device[run],
      work: "attention",
      phase: "forward",
      dtype: undefined,
      mask: "full",
    };
    let left = cells.all;
    const made = {};
    for (const [name, preferred] of Object.entries(steps)) {
      made[name] = sweeps.narrowed(left, params, { name, value: field(name), preferred });
      left = made[name].cells;
    }
    made.shape = sweeps.narrowed(left, params, { name: "shape", value: sweeps.shape });
    const lengths = [...new Set(made.shape.cells.map(field("length_key")))].sort((a, b) => a - b);
    const bound = (name, usual) =>
      lengths.includes(Number(params.get(name))) ? Number(params.get(name)) : usual;
    const names = core.backends
      .map((look) => look.name)
      .filter((name) => made.shape.cells.some((cell) => cells.field(cell, "backend") === name));
    const ticked = params.has("backend") ? new Set(params.getAll("backend")) : new Set(names);
    return {
      run,
      metric,
      steps: made,
      lengths,
      names,
      ticked,
      least: bound("from", lengths[0]),
      most: bound("to", lengths.at(-1)),
    };
  }

  const LABELS = {
    device: "Device",
    work: "Work",
    phase: "Phase",
    dtype: "Data type",
    mask: "Mask",
    shape: "Shape",
  };

  function swatch(name) {
    const look = cells.backends.get(name);
    const mark = h("span", { class: "swatch", "aria-hidden": "true" });
    mark.style.background = looks.readable(look.colour);
    return mark;
  }

  function controls(chosen) {
    const { steps, lengths } = chosen;
    const chooser = (name) =>
      steps[name].options.length < 2
        ? null
        : site.select(name, LABELS[name], {
            options: steps[name].options
              .toSorted()
              .map((option) => [option, words.spoken(option)]),
            value: steps[name].chosen,
            clears: ["backend", "from", "to", ...(name === "shape" ? [] : ["shape"])],
          });
    const runs = core.runs.name
      .map((name, run) => [name, `${words.moment(core.runs.began[run])} ${name}`])
      .reverse();
    const long = lengths.map((length) => [String(length), words.count(length)]);
    return [
      site.controls(
        site.select("metric", "Quantity", {
          options: Object.entries(words.QUANTITIES).map(([key, { name }]) => [key, name]),
          value: chosen.metric,
        }),
        Object.keys(LABELS).map(chooser),
        site.select("from", "T from", { options: long, value: String(chosen.least) }),
        site.select("to", "T to", { options: long, value: String(chosen.most) }),
        runs.length > 1
          ? site.select("run", "Run", { options: runs, value: core.runs.name[chosen.run] })
          : null,
      ),
      site.ticks("backend", "Backends", {
        options: chosen.names,
        ticked: chosen.ticked,
        marks: swatch,
      }),
    ];
  }

  site.grid = { choices, controls, swatch };
})();
