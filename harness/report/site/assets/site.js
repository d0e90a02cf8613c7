"use strict";
/* Site: takes the data in. Data files are scripts, since a page on a disk may not fetch files;
   each hands one value over by `site.take`. */
window.site = (() => {
  const KINDS = { Float32Array, Float64Array, Uint8Array, Uint32Array };
  const taken = new Map();
  const scripts = new Map();

  /** Keep a value that a data file hands over as JSON. */
  function take(name, json) {
    taken.set(name, JSON.parse(json));
  }

  /** Return what a table of names holds under a name from outside, not what every object has. */
  function named(table, name, otherwise = null) {
    return Object.hasOwn(table, name) ? table[name] : otherwise;
  }

  /** Return a value that is there already. */
  function held(name) {
    return taken.get(name);
  }

  /** Add a script to the page once; the promise settles when it has run. */
  function script(path) {
    if (!scripts.has(path)) scripts.set(path, added(path));
    return scripts.get(path);
  }

  function added(path) {
    return new Promise((done, failed) => {
      const tag = document.createElement("script");
      tag.src = path;
      tag.onload = done;
      tag.onerror = () => failed(new Error(`the file ${path} is missing beside this page`));
      document.head.append(tag);
    });
  }

  /** Load a data file unless it is there, and return its value. */
  async function load(name) {
    if (!taken.has(name)) await script(`data/${name}.js`);
    return taken.get(name);
  }

  /** Return the typed array of a packed one. */
  function unpack(packed) {
    const text = atob(packed.bytes);
    const bytes = new Uint8Array(text.length);
    for (let place = 0; place < text.length; place += 1) bytes[place] = text.charCodeAt(place);
    const values = new KINDS[packed.kind](bytes.buffer);
    if (values.length === packed.length) return values;
    return new KINDS[packed.kind](packed.length).fill(values[0]);
  }

  return { take, named, held, load, script, unpack, views: new Map() };
})();
