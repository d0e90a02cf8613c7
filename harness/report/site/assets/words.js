"use strict";
/* Words: numbers, times and outcomes as people read them; what is absent is a dash, never zero. */
(() => {
  const SECONDS = [
    [1, "s"],
    [1e-3, "ms"],
    [1e-6, "µs"],
  ];
  const BYTES = [
    [1e12, "TB"],
    [1e9, "GB"],
    [1e6, "MB"],
    [1e3, "kB"],
    [1, "B"],
  ];
  const RATES = [
    [1e15, "PFLOP/s"],
    [1e12, "TFLOP/s"],
    [1e9, "GFLOP/s"],
    [1e6, "MFLOP/s"],
    [1, "FLOP/s"],
  ];
  const ABSENT = "-";
  const known = (value) => typeof value === "number" && Number.isFinite(value);

  /** Write so many significant digits without an exponent. */
  function digits(value, count = 3) {
    if (value === 0) return "0";
    const places = count - 1 - Math.floor(Math.log10(Math.abs(Number(value.toPrecision(count)))));
    return value.toLocaleString("en-US", {
      minimumFractionDigits: Math.max(0, places),
      maximumFractionDigits: Math.max(0, places),
    });
  }

  function scaled(value, units, count) {
    if (!known(value)) return ABSENT;
    const size = Math.abs(Number(value.toPrecision(count)));
    const [unit, name] = units.find(([least]) => size >= least) ?? units.at(-1);
    return `${digits(value / unit, count)} ${name}`;
  }

  const quantity = (name, unit, units) => ({
    name,
    unit,
    write: (value) => scaled(value, units, 3),
    span: (value, low, high) => interval(units, { value, low, high }),
  });

  const QUANTITIES = {
    time: quantity("Time of one call", "s", SECONDS),
    memory: quantity("Peak memory", "B", BYTES),
    throughput: quantity("Throughput", "FLOP/s", RATES),
  };

  /** Write an estimate with its interval in the estimate's unit: 1.71 [1.34, 1.88] ms. */
  function interval(units, { value, low, high }) {
    if (!known(value) || !known(low) || !known(high) || low === high)
      return scaled(value, units, 3);
    const [figure, name] = scaled(value, units, 3).split(" ");
    const unit = units.find(([, other]) => other === name)[0];
    const places = (figure.split(".")[1] ?? "").length;
    const same = (end) =>
      (end / unit).toLocaleString("en-US", {
        minimumFractionDigits: places,
        maximumFractionDigits: places,
      });
    return `${figure} [${same(low)}, ${same(high)}] ${name}`;
  }

  const three = (value) => (known(value) ? value.toFixed(3) : ABSENT);

  // What several cells share: their figures over what is usual for each.
  const RATIO = {
    name: "ratio",
    unit: "",
    write: (value) => (known(value) ? `${three(value)}×` : ABSENT),
    span: (value, low, high) =>
      known(value) ? `${three(value)} [${three(low)}, ${three(high)}]` : ABSENT,
  };

  /** Write a plain estimate with its interval: 2.08 [2.05, 2.11]. */
  function plain(value, low, high) {
    const two = (number) => number.toFixed(2);
    if (!known(value)) return ABSENT;
    return known(low) && known(high) ? `${two(value)} [${two(low)}, ${two(high)}]` : two(value);
  }

  /** Write a change as a signed percentage. */
  function change(before, after) {
    if (!known(before) || !known(after) || before === 0) return "";
    const share = 100 * (after / before - 1);
    return `${share < 0 ? "−" : "+"}${digits(Math.abs(share), 2)} %`;
  }

  /** Write a moment in universal time. */
  function moment(seconds) {
    return known(seconds)
      ? new Date(seconds * 1000).toISOString().slice(0, 16).replace("T", " ")
      : ABSENT;
  }

  const spoken = (word) => String(word).replaceAll("_", " ");
  const count = (value) => value.toLocaleString("en-US");

  /** Write a number of things: `1 run`, `1,000 runs`. */
  const many = (value, one, more = `${one}s`) => `${count(value)} ${value === 1 ? one : more}`;

  site.words = {
    QUANTITIES,
    RATIO,
    ABSENT,
    known,
    digits,
    plain,
    change,
    moment,
    spoken,
    count,
    many,
  };
})();
