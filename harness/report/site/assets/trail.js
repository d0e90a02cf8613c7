"use strict";
/* Trail: the chart of a history: lines and bands, era by era, with changes and failures marked. */
(() => {
  const { words, cells, series, looks } = site;
  const core = site.held("core");
  const DENSE = 200; // points above which markers would run together
  const LABELLED = 6; // changes that get their word written; the table has them all
  const MARKED = 60;
  const date = (run) => new Date(core.runs.began[run] * 1000).toISOString();

  function band(part, colour) {
    const points = series
      .measured(part)
      .filter((one) => words.known(one.low) && words.known(one.high));
    const runs = points.map((point) => date(point.run));
    const edges = [...points.map((one) => one.high), ...points.toReversed().map((one) => one.low)];
    return {
      x: [...runs, ...runs.toReversed()],
      y: edges,
      fill: "toself",
      fillcolor: looks.faint(colour, 0.22),
      line: { width: 0 },
      mode: "lines",
      hoverinfo: "skip",
      showlegend: false,
    };
  }

  function line(part, { colour, look, quantity }) {
    const points = series.measured(part);
    const told = points.map(
      (one) => `${core.runs.name[one.run]}: ${quantity.span(one.value, one.low, one.high)}`,
    );
    return {
      x: points.map((one) => date(one.run)),
      y: points.map((one) => one.value),
      mode: points.length > DENSE ? "lines" : "lines+markers",
      line: { color: colour, width: 1.6 },
      marker: { color: colour, symbol: look.symbol, size: 5 },
      name: looks.literal(look.name),
      text: told.map(looks.literal),
      hovertemplate: "%{text}<extra></extra>",
      showlegend: false,
      walk: told,
      spoken: part.name,
    };
  }

  /** Return crosses along the foot of the chart for runs in which the cell was not measured. */
  function missed(parts) {
    const points = parts.flatMap((part) => part.points).filter((point) => point.status !== "ok");
    const told = points.map(
      (point) => `${core.runs.name[point.run]}: ${words.spoken(point.status)}`,
    );
    return {
      x: points.map((point) => date(point.run)),
      y: points.map(() => 0.03),
      yaxis: "y2",
      mode: "markers",
      name: "not measured",
      marker: { symbol: "x", size: 8, color: looks.variable("--bad") },
      text: told.map(looks.literal),
      hovertemplate: "%{text}<extra></extra>",
      walk: told,
      spoken: "not measured",
    };
  }

  function upright(x, colour, dash) {
    const across = { xref: "x", yref: "paper", x0: x, x1: x, y0: 0, y1: 1 };
    return { type: "line", ...across, line: { color: colour, width: 1.3, dash } };
  }

  function note(x, text, y) {
    const at = { x, y, xref: "x", yref: "paper", xanchor: "left", yanchor: "bottom" };
    return { ...at, text: looks.literal(text), showarrow: false, font: { size: 11 } };
  }

  /** Say in few words what began an era. */
  function began(name) {
    const { changed } = core.eras.find((era) => era.name === name);
    return changed.length === 1 ? changed[0] : "new era";
  }

  /** Return the uprights of new eras and of changes, with a word on each of the newest. */
  function uprights(parts, found) {
    const starts = parts.slice(1).map((part) => [date(part.points[0].run), began(part.name)]);
    const kinds = new Map();
    for (const { run, kind } of found.slice(0, MARKED)) {
      if (!kinds.has(run)) kinds.set(run, new Set());
      kinds.get(run).add(kind);
    }
    const changed = [...kinds.keys()];
    const word = (run) => `${[...kinds.get(run)].join(", ")}`;
    return {
      shapes: [
        ...starts.map(([x]) => upright(x, looks.variable("--soft"), "solid")),
        ...changed.map((run) => upright(date(run), looks.variable("--bad"), "dot")),
      ],
      annotations: [
        ...starts.map(([x, why]) => note(x, why, 1)),
        ...changed
          .slice(0, LABELLED)
          .map((run, at) => note(date(run), word(run), 1 + 0.045 * (1 + (at % 2)))),
      ],
    };
  }

  /** Return the chart of one cell's parts, or of the ratios of all cells of a backend. */
  site.trail = ({ backend, metric, single }, parts, found) => {
    const look = cells.backends.get(backend);
    const colour = looks.readable(look.colour);
    const asked = words.QUANTITIES[metric];
    const quantity = single ? asked : words.RATIO;
    const drawn = parts.filter((part) => series.measured(part).length);
    const failed = missed(parts);
    const scale = single
      ? { tickformat: "~s", ticksuffix: asked.unit }
      : { tickformat: ".3~f", ticksuffix: "×" };
    return {
      traces: [
        ...drawn.map((part) => band(part, colour)),
        ...drawn.map((part) => line(part, { colour, look, quantity })),
        ...(failed.x.length ? [failed] : []),
      ],
      x: { type: "date" },
      y: { title: { text: single ? asked.name : `${asked.name} over the usual` }, ...scale },
      yaxis2: { overlaying: "y", range: [0, 1], visible: false, fixedrange: true },
      margin: { l: 8, r: 12, t: found.length ? 52 : 26, b: 8 },
      ...uprights(drawn, found),
    };
  };
})();
