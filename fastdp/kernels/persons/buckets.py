"""A part in buckets of a few rows, each of them in order: persons together, groups by priority, equal keys together.

The priority of a row is a keyed bijection of its key's tag, another one for each person: one order that puts a person's
equal keys together and its groups in random order. It depends on the person's and the key's names alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fastdp.kernels.jit import inlined, intrinsic, ir, part, types
from fastdp.kernels.persons.mixing import mix, unmix
from fastdp.kernels.persons.ordering import FEW, sort_many

LANES = 16
"""Short orders that are compared at once; FEW is a multiple of it."""
_HALF, _LAST = np.uint64(32), np.uint32(0xFFFFFFFF)
_PERSON, _PRIORITY = np.uint64(54), np.uint64(48)
_PERSON_AT, _PRIORITY_AT = np.uint64(22), np.uint64(6)


@intrinsic
def _count_below(_context: Any, words: Any, first: Any, word: Any) -> Any:
    """How many of LANES words from ``first`` on are below ``word``: a comparison of vectors, and a count of bits."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        lane, bits = ir.IntType(32), ir.IntType(LANES)
        vector = ir.VectorType(lane, LANES)
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        start = builder.bitcast(builder.gep(data, [arguments[1]]), vector.as_pointer())
        loaded = builder.load(start, align=4)
        one = builder.insert_element(ir.Constant(vector, ir.Undefined), arguments[2], ir.Constant(lane, 0))
        zeros = ir.Constant(ir.VectorType(lane, LANES), [0] * LANES)
        splat = builder.shuffle_vector(one, one, zeros)
        below = builder.bitcast(builder.icmp_unsigned("<", loaded, splat), bits)
        return builder.zext(builder.ctpop(below), ir.IntType(64))

    return types.int64(words, types.int64, types.uint32), generate


@inlined
def priority_of(image, code, tags, seeds, key, priority_key):
    """The priority of a row, from its person's image and its key's code."""
    tag = tags[code] if tags.size > 0 else code
    seed = mix(seeds[unmix(image, key)], key) if seeds.size > 0 else image
    return mix(tag, priority_key ^ seed)


@part
def fill_buckets(
    records, firsts, lasts, bits, bucket_bits, tags, seeds, key, priority_key, starts, buffer,
):  # fmt: skip
    """Copy a part to ``buffer``, bucket by bucket of the persons' next bits, with the priority as a word of its own.

    ``seeds`` name the persons for their priorities where their words are codes, which depend on the order of rows.

    Pre:  the part is records[firsts[k]:lasts[k]] for each k; its persons share the first ``bits`` bits of their images;
          starts is int64[2**bucket_bits + 1]; buffer is uint64[rows, records.shape[1] + 1]; a code is its own tag if
          ``tags`` is empty, and a person its own seed if ``seeds`` is.
    Post: bucket b ends at starts[b]; a row is image, priority, code and first step, further steps.
    """
    size = 1 << bucket_bits
    up, down = np.uint64(bits), np.uint64(64 - bucket_bits)
    for b in range(size + 1):
        starts[b] = 0
    for k in range(firsts.size):
        for i in range(firsts[k], lasts[k]):
            starts[np.int64((records[i, 0] << up) >> down) + 1] += 1
    for b in range(size):
        starts[b + 1] += starts[b]
    for k in range(firsts.size):
        for i in range(firsts[k], lasts[k]):
            image, word = records[i, 0], records[i, 1]
            b = np.int64((image << up) >> down)
            at = starts[b]
            starts[b] = at + 1
            buffer[at, 0] = image
            buffer[at, 1] = priority_of(image, word >> _HALF, tags, seeds, key, priority_key)
            buffer[at, 2] = word
            for more in range(2, records.shape[1]):
                buffer[at, more + 1] = records[i, more]


@inlined
def order_few(buffer, first, size, taken, short, order):
    """The rows of a small bucket by ten bits of the person and sixteen of the priority, as their places.

    Each row's rank is the number of rows before it: all pairs, without a branch.
    """
    for i in range(size):
        person = (buffer[first + i, 0] << taken) >> _PERSON
        priority = buffer[first + i, 1] >> _PRIORITY
        short[i] = np.uint32((person << _PERSON_AT) | (priority << _PRIORITY_AT) | np.uint64(i))
    for i in range(size, (size + LANES - 1) // LANES * LANES):
        short[i] = _LAST
    for i in range(size):
        rank = _count_below(short, np.int64(0), short[i])
        for block in range(LANES, size, LANES):
            rank += _count_below(short, np.int64(block), short[i])
        order[rank] = first + i


@inlined
def is_short(buffer, a, b, taken):
    """Whether the short order does not tell rows a and b apart, though they are of two persons or two groups.

    Then rows of others may lie among theirs: nobody's rows must be bounded before a whole order has parted them.
    """
    if buffer[a, 0] != buffer[b, 0]:
        return ((buffer[a, 0] ^ buffer[b, 0]) << taken) >> _PERSON == np.uint64(0)
    if (buffer[a, 2] >> _HALF) != (buffer[b, 2] >> _HALF):
        return (buffer[a, 1] ^ buffer[b, 1]) >> _PRIORITY == np.uint64(0)
    return False


@inlined
def order_exactly(buffer, spare, first, last, counts, order):
    """The rows of any bucket, sorted by all of their bits; ``order`` is then first, first + 1, ..."""
    sort_many(buffer, spare, first, last, counts)
    for i in range(last - first):
        order[i] = first + i


@inlined
def order_bucket(buffer, spare, first, last, taken, counts, short, order):
    """The rows of a bucket in order, as their places in ``order``: by ranks, or sorted where ranks do not do."""
    size = last - first
    if size <= FEW:
        order_few(buffer, first, size, taken, short, order)
        for j in range(1, size):
            if is_short(buffer, order[j - 1], order[j], taken):
                break
        else:
            return
    order_exactly(buffer, spare, first, last, counts, order)
