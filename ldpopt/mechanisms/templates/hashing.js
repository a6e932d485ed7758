  // Make random numbers uniform below `most`: those that would favour some are drawn again.
  function uniform(numbers, most, random) {
    const end = SPAN - (SPAN % most);
    while (numbers.some((number) => number >= end)) {
      numbers = numbers.map((number) => (number < end ? number : random()));
    }
    return numbers.map((number) => number % most);
  }

  // A report is a whole number, written as text: in base g its last digit is a bucket, those before it are
  // a seed. The seed (a, b) is uniform, and hashes x with the digits x_i to the bucket
  // Σ a_i x_i + b_i x_i² mod g; for g = 2 to Σ a_i x_i. That bucket is told with the probability
  // own / 2^52, else one of the others, all equally likely. All is computed alike, whatever x is.
  function drawn(x, random) {
    const g = sampler.buckets;
    const digits = [];
    for (let rest = x; digits.length < sampler.digits; rest = Math.floor(rest / g)) {
      digits.push(rest % g);
    }
    const point = g === 2 ? digits : [...digits, ...digits.map((digit) => (digit * digit) % g)];
    const numbers = Array.from({ length: point.length + 2 }, () => random());
    const seed = uniform(numbers.slice(0, -2), g, random);
    const [step] = uniform(numbers.slice(-1), g - 1, random);
    const moved = Number(numbers[point.length] >= sampler.own) * (1 + step);
    const bucket = seed.reduce((sum, digit, i) => sum + digit * point[i], moved) % g;
    return String([bucket, ...seed].reduceRight((sum, digit) => sum * BigInt(g) + BigInt(digit), 0n));
  }
