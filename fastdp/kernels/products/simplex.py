"""Linear-time filters for points on the simplex: Euclidean projection, and the maximum likelihood of k-RR.

Both look for one threshold that a sum over the entries above it decides. One pass guesses the set from below and above
as it goes, later ones drop what falls under the threshold; two to four passes in practice. [Condat 2016]
"""

from __future__ import annotations

import math

from fastdp.kernels.jit import inlined, kernel


@kernel
def apply_simplex(values, kept, spare, out):
    """Write the Euclidean projection of ``values`` onto the simplex.

    Pre:  values are finite; kept, spare and out have the size of values, out may be values itself.
    Post: out[i] = max(0, values[i] - t), with t such that they sum to 1.
    """
    top = values[0]
    for i in range(1, values.size):
        top = max(top, values[i])
    count, waiting = 1, 0
    kept[0] = values[0] - top  # differences to the largest: with 1e17 a sum of 1 would be lost
    threshold = kept[0] - 1.0
    for i in range(1, values.size):
        value = values[i] - top
        if value > threshold:
            threshold += (value - threshold) / (count + 1)
            if threshold > value - 1.0:
                kept[count] = value
                count += 1
            else:
                for j in range(count):
                    spare[waiting + j] = kept[j]
                waiting += count
                kept[0] = value
                count = 1
                threshold = value - 1.0
    for j in range(waiting):
        if spare[j] > threshold:
            kept[count] = spare[j]
            count += 1
            threshold += (spare[j] - threshold) / count
    changed = True
    while changed:
        total = 0.0
        for j in range(count):
            total += kept[j]
        threshold = (total - 1.0) / count  # summed afresh: running means drift by an ulp per entry
        left = 0
        for j in range(count):
            value = kept[j]
            if value > threshold:
                kept[left] = value
                left += 1
        changed = left != count
        count = left
    for i in range(values.size):
        out[i] = max(0.0, values[i] - top - threshold)


@inlined
def _add_up(counts):
    """The sum of counts; -inf if one is negative. In two sums side by side: one alone would wait for itself."""
    even = odd = least = 0.0
    for i in range(counts.size // 2):
        one, other = counts[2 * i], counts[2 * i + 1]
        even += one
        odd += other
        least = min(least, one, other)
    if counts.size % 2 == 1:
        even += counts[counts.size - 1]
        least = min(least, counts[counts.size - 1])
    return even + odd if least >= 0.0 else -math.inf


@inlined
def _fill_above(counts, scale, c, out):
    """Write max(0, counts[i] / scale - c), or all of it on the largest count if nothing is above 0; give their sum."""
    mass = 0.0
    top = 0
    for i in range(counts.size):
        out[i] = max(0.0, counts[i] / scale - c)
        mass += out[i]
        top = i if counts[i] > counts[top] else top
    if mass == 0.0:  # p is next to q: each estimate is lost in the rounding of c
        out[top] = mass = 1.0
    return mass


@kernel
def fill_krr_likeliest(counts, p, q, kept, out, summary):
    """Write the maximum-likelihood distribution of inputs whose k-RR reports have these counts.

    Pre:  counts are float64; p > q >= 0, p + (k - 1) q = 1; kept and out have the size of counts; summary has size 3.
    Post: with c = q / (p - q), out[x] = max(0, counts[x] / t - c), where t is such that they sum to 1; summary is the
          sum of the counts, the log-likelihood and the largest G_x. Where the counts are no counts, the sum is not
          finite or 0, and nothing else is written.
    """
    c = q / (p - q)
    total = _add_up(counts)
    summary[0] = total
    if not (0.0 < total < math.inf):
        return
    count = 0
    scale = total / (1.0 + c * counts.size)  # the threshold if all were kept: it only rises from here
    for i in range(counts.size):
        value = counts[i]
        if value > c * scale:
            kept[count] = value
            count += 1
    changed = True
    while changed:
        mass = 0.0
        for j in range(count):
            mass += kept[j]
        scale = mass / (1.0 + c * count)
        left = 0
        for j in range(count):
            value = kept[j]
            if value > c * scale:
                kept[left] = value
                left += 1
        changed = left != count
        count = left
    mass = _fill_above(counts, scale, c, out)
    likelihood = weights = largest = 0.0
    dropped = most = 0.0
    for i in range(counts.size):
        value = counts[i]
        estimate = out[i] / mass  # where c is large, its rounding moves their sum
        if estimate > 0.0:
            predicted = q + (p - q) * estimate
            likelihood += value * math.log(predicted)
            weight = value / predicted
            weights += weight
            largest = max(largest, weight)
            out[i] = estimate
        else:  # all of them have probability q: one logarithm
            dropped += value
            most = max(most, value)
            out[i] = 0.0
    if dropped > 0.0:
        likelihood += dropped * math.log(q)
        weights += dropped / q
        largest = max(largest, most / q)
    summary[1] = likelihood
    summary[2] = (q * weights + (p - q) * largest) / total
