// A sampler of reports for one mechanism, written by `ldpopt export --target js`. No dependency.
//
//   const report = ldpoptSampler.report({ column: value, … });   // a whole number: all that is sent
//
// Exact: every probability of the mechanism is a multiple of 2^-52. A report compares 52 random bits
// with the cumulative sums below, all of them whole numbers up to 2^52, which doubles hold exactly.
// Needed: `crypto.getRandomValues`, which browsers and Node ≥ 19 have; without it the sampler stops.
// All sums are compared, whatever the values are; nothing else is done against timing attacks.
// `ldpoptSampler.selfTest()` runs the test vectors, and so does `node FILE`.

"use strict";

const ldpoptSampler = (() => {
  const sampler = __SAMPLER__;

  function refuse(sentence) {
    throw new RangeError(`ldpopt: ${sentence}`);
  }

  function code(column, value) {
    const shown = JSON.stringify(value) ?? String(value);
    if (value === null && column.missing !== null) {
      return column.missing;
    }
    if (column.edges.length > 0) {
      if (typeof value !== "number" || !Number.isFinite(value)) {
        refuse(`${JSON.stringify(column.name)} must be a finite number${column.unit}, not ${shown}`);
      }
      return column.edges.filter((edge) => value >= edge).length;
    }
    if (column.groups.length > 0) {
      const groups = new Map(column.groups);
      if (!groups.has(value)) {
        refuse(`${JSON.stringify(column.name)} has no group for ${shown}`);
      }
      value = groups.get(value);
    } else if (column.prefix > 0 && typeof value === "string") {
      value = Array.from(value).slice(0, column.prefix).join("");
    }
    const found = column.values.indexOf(value);
    if (found < 0 && column.other !== null && typeof value === "string" && value !== "") {
      return column.other;
    }
    if (found < 0) {
      refuse(`${JSON.stringify(column.name)} must be one of ${JSON.stringify(column.values)}, not ${shown}`);
    }
    return found;
  }

  const names = sampler.columns.map((column) => column.name);
  const inputs = new Map(sampler.inputs.map((codes, x) => [codes.join(), x]));

  function input(values) {
    const given = Object.keys(Object(values));
    if (given.length !== names.length || !names.every((name) => given.includes(name))) {
      refuse(`the columns must be ${JSON.stringify(names)}, not ${JSON.stringify(given)}`);
    }
    const found = inputs.get(sampler.columns.map((column) => code(column, values[column.name])).join());
    if (found === undefined) {
      refuse(`the mechanism does not know the combination ${JSON.stringify(values)}`);
    }
    return found;
  }

  function randomBits() {
    if (typeof crypto === "undefined" || typeof crypto.getRandomValues !== "function") {
      refuse("crypto.getRandomValues is needed, and is not here");
    }
    const words = crypto.getRandomValues(new Uint32Array(2));
    return (words[0] >>> 12) * 4294967296 + words[1];
  }

  function drawn(x, bits) {
    return sampler.ends[x].filter((end) => bits >= end).length;
  }

  function selfTest() {
    for (const [cells, bits, report] of sampler.vectors) {
      const values = Object.fromEntries(names.map((name, i) => [name, cells[i]]));
      const found = drawn(input(values), bits);
      if (found !== report) {
        refuse(`self-test: ${JSON.stringify(values)} with the bits ${bits} gave ${found}, not ${report}`);
      }
    }
    return sampler.vectors.length;
  }

  return Object.freeze({
    column: sampler.column,
    promise: sampler.promise,
    report: (values) => drawn(input(values), randomBits()),
    selfTest,
  });
})();

if (typeof module !== "undefined") {
  module.exports = ldpoptSampler;
  if (typeof require !== "undefined" && require.main === module) {
    console.log(`${ldpoptSampler.selfTest()} test vectors pass`);
  }
}
