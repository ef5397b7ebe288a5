"""Products with a matrix of which only the entries above 0 are stored, output by output."""

from __future__ import annotations

from fastdp.kernels.jit import kernel, summed
from fastdp.kernels.likelihood import sum_logs, weigh


@summed
def _gather(inputs, entries, p):
    """The sum of entries times p at their inputs."""
    total = 0.0
    for i in range(entries.size):
        total += entries[i] * p[inputs[i]]
    return total


@kernel
def apply_forward(starts, inputs, entries, p, out):
    """Write the sums of entries times p for each output; its entries are those from starts[y] to starts[y + 1]."""
    for y in range(out.size):
        out[y] = _gather(inputs[starts[y] : starts[y + 1]], entries[starts[y] : starts[y + 1]], p)


@kernel
def apply_backward(starts, inputs, entries, w, out):
    """Write the sums of entries times w for each input."""
    out[:] = 0.0
    for y in range(w.size):
        for i in range(starts[y], starts[y + 1]):
            out[inputs[i]] += entries[i] * w[y]


@kernel
def step_sparse(starts, inputs, entries, listed, counts, p, d, out):
    """As ``step_dense``; listed are the outputs with counts, and there is no padding."""
    out[:] = 0.0
    for place in range(listed.size):
        first, last = starts[listed[place]], starts[listed[place] + 1]
        here, values = inputs[first:last], entries[first:last]
        d[place] = _gather(here, values, p)
        weight = weigh(counts[place], d[place])
        for i in range(values.size):
            out[here[i]] += values[i] * weight
    return sum_logs(counts, d)
