  // A report is a set of `size` inputs: with the probability own / 2^52 one that has x, else one without
  // it, all such sets equally likely. Of the other inputs it has those with the least random keys. Where
  // the largest key inside equals the least one outside, all keys are drawn again: else the order of the
  // inputs would decide. The keys that are sorted are random, whatever x is.
  function drawn(x, random) {
    const inside = random() < sampler.own;
    const size = sampler.size - Number(inside);
    let keys, others;
    do {
      keys = Array.from({ length: sampler.inputs }, () => random());
      others = Float64Array.from(keys.filter((_, i) => i !== x)).sort();
    } while (size > 0 && others[size - 1] === others[size]);
    return written(keys.map((key, i) => (i === x ? inside : size > 0 && key <= others[size - 1])));
  }
