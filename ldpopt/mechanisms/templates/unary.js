  // A report is a set of inputs: x is in it with the probability own / 2^52, each other input with
  // other / 2^52, independently. There is one random number and one comparison for each, whatever x is.
  function drawn(x, random) {
    const chance = (i) => (i === x ? sampler.own : sampler.other);
    return written(Array.from({ length: sampler.inputs }, (_, i) => random() < chance(i)));
  }
