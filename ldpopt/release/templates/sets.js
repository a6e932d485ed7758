  // Write a set as text: an x, then its bits in hexadecimal digits, the first input in the highest bit.
  function written(marked) {
    const bits = marked.map(Number).join("").padEnd(8 * Math.ceil(marked.length / 8), "0");
    return "x" + bits.replace(/..../g, (four) => parseInt(four, 2).toString(16));
  }
