// A sampler of reports for one mechanism, written by `ldpopt export --target js`. No dependency.
//
//   const report = ldpoptSampler.report({ column: value, … });   // all that is sent
//
// Exact: `drawn`, below, says how a report follows from random numbers of 52 bits. They are compared with
// whole numbers up to 2^52, which doubles hold exactly; every probability is that of the mechanism.
// Needed: `crypto.getRandomValues`, which browsers and Node ≥ 19 have; without it the sampler stops.
// Nothing is done against timing attacks beyond what `drawn` says.
// `ldpoptSampler.selfTest()` runs the test vectors, and so does `node FILE`.

"use strict";

const ldpoptSampler = (() => {
  const SPAN = 2 ** 52;
  const sampler = __SAMPLER__;

  function refuse(sentence) {
    throw new RangeError(`ldpopt: ${sentence}`);
  }

  // A number is rounded at random to one of the two points next to it, so that it is kept on average.
  function rounded(column, value, random) {
    const [low, high] = column.range;
    const steps = column.values.length - 1;
    const place = (Math.min(Math.max(value, low), high) - low) / (high - low) * steps;
    const below = Math.min(Math.floor(place), steps - 1);
    return below + (random() < (place - below) * SPAN ? 1 : 0);
  }

  function code(column, value, random) {
    const shown = JSON.stringify(value) ?? String(value);
    if (value === null && column.missing !== null) {
      return column.missing;
    }
    if (column.edges.length > 0 || column.range.length > 0) {
      if (typeof value !== "number" || !Number.isFinite(value)) {
        refuse(`${JSON.stringify(column.name)} must be a finite number${column.unit}, not ${shown}`);
      }
      if (column.range.length > 0) {
        return rounded(column, value, random);
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

  const names = sampler.sides.flatMap((side) => side.columns.map((column) => column.name));
  const members = sampler.sides.map((side) => new Map(side.members.map((codes, i) => [codes.join(), i])));

  function input(values, random) {
    const given = Object.keys(Object(values));
    if (given.length !== names.length || !names.every((name) => given.includes(name))) {
      refuse(`the columns must be ${JSON.stringify(names)}, not ${JSON.stringify(given)}`);
    }
    let x = 0;
    sampler.sides.forEach((side, i) => {
      const codes = side.columns.map((column) => code(column, values[column.name], random));
      const found = members[i].get(codes.join());
      if (found === undefined) {
        refuse(`the mechanism does not know the combination ${JSON.stringify(values)}`);
      }
      x = x * members[i].size + found;
    });
    return x;
  }

  function randomBits() {
    if (typeof crypto === "undefined" || typeof crypto.getRandomValues !== "function") {
      refuse("crypto.getRandomValues is needed, and is not here");
    }
    const words = crypto.getRandomValues(new Uint32Array(2));
    return (words[0] >>> 12) * 4294967296 + words[1];
  }

__DRAWN__
  // In place of random numbers: the first one, and then each the one before plus `step`, below 2^52.
  function stated(first) {
    let next = first;
    return () => {
      const now = next;
      next = (now + sampler.step) % SPAN;
      return now;
    };
  }

  function selfTest() {
    for (const [cells, first, report] of sampler.vectors) {
      const values = Object.fromEntries(names.map((name, i) => [name, cells[i]]));
      const random = stated(first);
      const found = drawn(input(values, random), random);
      if (found !== report) {
        const said = `with the first number ${first} gave ${found}, not ${report}`;
        refuse(`self-test: ${JSON.stringify(values)} ${said}`);
      }
    }
    return sampler.vectors.length;
  }

  return Object.freeze({
    column: sampler.column,
    promise: sampler.promise,
    report: (values) => drawn(input(values, randomBits), randomBits),
    selfTest,
  });
})();

if (typeof module !== "undefined") {
  module.exports = ldpoptSampler;
  if (typeof require !== "undefined" && require.main === module) {
    try {
      console.log(`${ldpoptSampler.selfTest()} test vectors pass`);
    } catch (error) {
      console.error(error.message);
      process.exitCode = error instanceof RangeError ? 1 : 70;
    }
  }
}
