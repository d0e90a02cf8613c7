"use strict";
/* Chart: one look for all charts, in light and dark, and a way to walk their points by keys. */
(() => {
  const { h } = site;
  const LEAST_CONTRAST = 3; // of a line against the page: WCAG 2.2, 1.4.11
  const BLACKISH = 0.02; // luminance below which a colour is told by its hue alone
  const LIGHTER = 0.3;

  const variable = (name) =>
    getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const parts = (colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));

  function luminance(colour) {
    const [red, green, blue] = parts(colour).map((part) => {
      const share = part / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  }

  function contrast(one, other) {
    const [light, dark] = [luminance(one), luminance(other)].sort((a, b) => b - a);
    return (light + 0.05) / (dark + 0.05);
  }

  const hex = (values) =>
    `#${values.map((value) => Math.round(value).toString(16).padStart(2, "0")).join("")}`;

  /** Turn dark into light at the same hue: each part mirrored about the middle of the brightest
      and the darkest of them, so that black is white and navy a pale blue. */
  function mirrored(colour) {
    const values = parts(colour);
    const sum = Math.max(...values) + Math.min(...values);
    return hex(values.map((value) => value + 255 - sum));
  }

  /** Return a colour that can be told from a dark page; on a light one it stays as it is. */
  function readable(colour) {
    const page = variable("--page");
    if (luminance(page) > 0.5 || contrast(colour, page) >= LEAST_CONTRAST) return colour;
    if (luminance(colour) < BLACKISH) return mirrored(colour);
    return hex(parts(colour).map((value) => value + (255 - value) * LIGHTER));
  }

  /** Return a colour with so much of it let through. */
  const faint = (colour, share) => `rgba(${parts(colour).join(",")},${share})`;

  /** Return text that plotly shows as it is: it would read some markup. */
  const literal = (text) =>
    String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

  const axis = (given = {}) => ({
    gridcolor: variable("--line"),
    linecolor: variable("--line"),
    zeroline: false,
    automargin: true,
    ticks: "outside",
    tickcolor: variable("--line"),
    ...given,
  });

  function layout({ x, y, narrow, ...more }) {
    return {
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      hovermode: "closest",
      font: { family: variable("--text-font"), size: 13, color: variable("--text") },
      margin: { l: 8, r: 12, t: 12, b: 8 },
      showlegend: true,
      dragmode: narrow ? false : "zoom",
      legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0 },
      hoverlabel: {
        bgcolor: variable("--raised"),
        bordercolor: variable("--line"),
        font: { color: variable("--text") },
      },
      xaxis: axis(x),
      yaxis: axis(y),
      ...more,
    };
  }

  /** Make the place of a chart; `label` says what it shows to those who do not see it. */
  site.chart = (label) =>
    h("div", {
      class: "chart",
      id: "chart",
      tabindex: 0,
      role: "img",
      "aria-roledescription": "chart",
      "aria-label": `${label}. Arrow keys walk its points; a table below has the figures.`,
    });

  /** Begin to load the charting library, so that it comes while a page reads its numbers. */
  site.prepare = () => site.script("assets/plotly.min.js");

  /** Draw into a chart that is in the page. Points named in `walk` can be reached by keys. */
  site.draw = async (place, { traces, ...given }) => {
    await site.prepare();
    const narrow = innerWidth < 700;
    await Plotly.newPlot(place, traces, layout({ narrow, ...given }), {
      displayModeBar: false,
      responsive: true,
      displaylogo: false,
    });
    place.addEventListener("keydown", walker(place, traces));
  };

  function walker(place, traces) {
    const lines = traces.map((_, curve) => curve).filter((curve) => traces[curve].walk);
    let [line, point] = [0, -1];
    const moves = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] };
    return (event) => {
      const move = moves[event.key];
      if (!move || !lines.length) return;
      event.preventDefault();
      line = (line + move[0] + lines.length) % lines.length;
      const trace = traces[lines[line]];
      point = Math.min(trace.x.length - 1, Math.max(0, point + move[1]));
      Plotly.Fx.hover(place, [{ curveNumber: lines[line], pointNumber: point }]);
      site.say(`${trace.spoken}: ${trace.walk[point]}`);
    };
  }

  site.looks = { readable, faint, literal, variable };
})();
