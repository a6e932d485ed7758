  // A report is a whole number: how many cumulative sums of the row of x one random number reaches. The
  // probabilities are multiples of 2^-52. All sums are compared, whatever x is.
  function drawn(x, random) {
    const bits = random();
    return sampler.ends[x].filter((end) => bits >= end).length;
  }
