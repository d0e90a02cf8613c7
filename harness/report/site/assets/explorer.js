"use strict";
/* Explorer: one run's grid over the length T: time, memory or throughput, log-log. */
(() => {
  const { h, words, cells, sweeps, looks, grid, figures } = site;
  const core = site.held("core");

  function trace({ look, points }, metric) {
    const known = points.filter((point) => words.known(point.value) && point.value > 0);
    const colour = looks.readable(look.colour);
    const { span } = words.QUANTITIES[metric];
    const told = known.map((p) => `T=${words.count(p.length)}: ${span(p.value, p.low, p.high)}`);
    const side = (end) => known.map((p) => (words.known(p[end]) ? Math.abs(p[end] - p.value) : 0));
    return {
      x: known.map((p) => p.length),
      y: known.map((p) => p.value),
      mode: "lines+markers",
      name: looks.literal(look.name),
      line: { color: colour, dash: look.dash === "solid" ? "solid" : look.dash, width: 2 },
      marker: { color: colour, symbol: look.symbol, size: 8 },
      error_y: {
        type: "data",
        array: side("high"),
        arrayminus: side("low"),
        symmetric: false,
        thickness: 1.2,
        width: 3,
        color: colour,
      },
      text: told.map((text) => looks.literal(`${look.name}, ${text}`)),
      hovertemplate: "%{text}<extra></extra>",
      walk: told,
      spoken: look.name,
    };
  }

  function figure(chosen, lines) {
    const { name, unit } = words.QUANTITIES[chosen.metric];
    const ticks = chosen.lengths.filter(
      (length) => length >= chosen.least && length <= chosen.most,
    );
    const marked = ticks.filter(
      (length) => Number.isInteger(Math.log2(length)) || ticks.length < 6,
    );
    return {
      traces: lines.map((line) => trace(line, chosen.metric)),
      x: {
        type: "log",
        title: { text: "T, positions" },
        tickvals: marked,
        ticktext: marked.map(words.count),
      },
      y: { type: "log", title: { text: name }, tickformat: "~s", ticksuffix: unit, dtick: 1 },
    };
  }

  async function alone(run) {
    const newest = cells.era(run).runs.at(-1) === run;
    return newest ? site.load(`newest-${run}`) : { verdicts: [], reasons: {} };
  }

  site.views.set("explorer", {
    title: "Explorer",
    async draw(params) {
      site.prepare();
      const chosen = grid.choices(params);
      const { verdicts, reasons } = await alone(chosen.run);
      const wanted = chosen.steps.shape.cells.filter((cell) =>
        chosen.ticked.has(cells.field(cell, "backend")),
      );
      const lines = await sweeps.lines(wanted, chosen);
      const drawn = lines.filter(({ points }) =>
        points.some((point) => words.known(point.value) && point.value > 0),
      );
      const chart = site.chart(
        `${words.QUANTITIES[chosen.metric].name} over T of ${words.many(drawn.length, "backend")}`,
      );
      const nothing = h(
        "p",
        { class: "empty" },
        "No measured cell matches: tick a backend, widen T, or choose another run.",
      );
      return {
        nodes: [
          grid.controls(chosen),
          h(
            "h2",
            {},
            [
              `${words.QUANTITIES[chosen.metric].name} over T`,
              ...["dtype", "mask", "shape"].map((name) => chosen.steps[name].chosen),
            ].join(", "),
          ),
          drawn.length ? chart : nothing,
          drawn.length ? figures.slopes(drawn, { verdicts, metric: chosen.metric }) : null,
          drawn.length ? figures.table(chosen, drawn, reasons) : null,
          figures.absences(lines, reasons),
        ],
        after: () => (drawn.length ? site.draw(chart, figure(chosen, drawn)) : null),
      };
    },
  });
})();
