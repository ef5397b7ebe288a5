"""Subset selection: a uniform set of a fixed size, with or without the true value, as packed bits; and its counting.

Sets are drawn by Floyd's algorithm among k - 1 places: step i adds a uniform place below its bound, or the last place
below it if the first is taken already. The place of the true value stands for value k - 1, so the places are the other
values. Sixteen records go step by step side by side, so that no step waits for the one before it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fastdp.kernels.jit import cgutils, inlined, intrinsic, ir, kernel, part, types
from fastdp.kernels.stream.keystream import GROUP_BLOCKS, fill_group
from fastdp.kernels.stream.words import (
    HALVES,
    PRIVATE,
    WAITING,
    count_trailing_zeros,
    fill_tile,
    locate,
    next_word,
)

OUT_OF_DOMAIN = 1
WRONG_SIZE = 2
COIN_ATTEMPT = 1 << 31
"""Where a private stream goes on for a coin that its first sixteen bits left open; draws never get there."""
BLOCK_BITS = 512
LARGEST_SCANNED = 24
"""Words of a set up to which a step looks at all of them: 2.4 M sets/s against 2.0 with 16 words, equal with 32."""


def _lanes() -> ir.Type:
    return ir.VectorType(ir.IntType(32), GROUP_BLOCKS)


_U = np.uint64


@inlined
def _toss(half, slot, high, low, key, work, blocks):
    """Heads with probability (high * 2**64 + low) / 2**128, the first sixteen bits given."""
    edge = high >> _U(48)
    if half != edge:
        return half < edge
    work[0], work[2], work[3] = slot, _U(0), _U(COIN_ATTEMPT)
    first = (half << _U(48)) | (next_word(key, work, blocks) >> _U(16))
    return first < high or (first == high and next_word(key, work, blocks) < low)


def _splat(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    """Sixteen copies of a number."""
    lanes = ir.VectorType(value.type, GROUP_BLOCKS)
    undefined = ir.Constant(lanes, ir.Undefined)
    first = builder.insert_element(undefined, value, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(first, undefined, ir.Constant(_lanes(), [0] * GROUP_BLOCKS))


def _row(context: Any, builder: ir.IRBuilder, kind: Any, array: Any, start: ir.Value) -> ir.Value:
    """Where sixteen uint32 of an array stand, as one vector."""
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [start]), _lanes().as_pointer())


@intrinsic
def _draw_places(
    _context: Any, words: Any, start: Any, shift: Any, bits: Any, bound: Any, uneven: Any, flags: Any, out: Any
) -> Any:
    """Write sixteen uniform places below ``bound``, from ``bits`` bits at ``shift`` of words[start : start + 16].

    A place is the upper part of the product of its bits and the bound. Flags (uint32) are raised where the lower part
    is below ``uneven`` = 2**bits % bound: of the other products every place has equally many (Lemire 2019). Written in
    vectors, for the compiler does not make them of short loops over arrays that might overlap: 2.1 times as fast.
    """
    word = types.uint32
    signature = types.void(words, types.int64, word, word, word, word, flags, out)

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        wide = ir.VectorType(ir.IntType(64), GROUP_BLOCKS)

        def splat(position: int) -> ir.Value:
            return _splat(builder, builder.zext(arguments[position], ir.IntType(64)))

        source = _row(context, builder, signature.args[0], arguments[0], arguments[1])
        zero = ir.Constant(ir.IntType(64), 0)
        raised = _row(context, builder, signature.args[6], arguments[6], zero)
        target = _row(context, builder, signature.args[7], arguments[7], zero)
        one = ir.Constant(wide, [1] * GROUP_BLOCKS)
        mask = builder.sub(builder.shl(one, splat(3)), one)
        drawn = builder.and_(builder.lshr(builder.zext(builder.load(source, align=4), wide), splat(2)), mask)
        product = builder.mul(drawn, splat(4))
        is_uneven = builder.icmp_unsigned("<", builder.and_(product, mask), splat(5))
        flagged = builder.or_(builder.load(raised, align=4), builder.zext(is_uneven, _lanes()))
        builder.store(flagged, raised, align=4)
        builder.store(builder.trunc(builder.lshr(product, splat(3)), _lanes()), target, align=4)
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def _add_places(_context: Any, places: Any, last: Any, words: Any, sets: Any) -> Any:
    """One step of sixteen sets of 32 * ``words`` bits: add each set's place, or ``last`` if it has that place already.

    Word w of set i is sets[16 * w + i]. All words are looked at: up to a few hundred bits this beats looking up one.
    Adding a place that is there already changes nothing, so there is no need to choose between the two.
    """
    signature = types.void(places, types.uint32, types.int64, sets)

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        start = ir.Constant(ir.IntType(64), 0)
        source = _row(context, builder, signature.args[0], arguments[0], start)
        word = ir.IntType(32)
        none, one, five, low = (ir.Constant(_lanes(), [number] * GROUP_BLOCKS) for number in (0, 1, 5, 31))

        def at(word: ir.Value) -> ir.Value:
            start = builder.mul(word, ir.Constant(ir.IntType(64), GROUP_BLOCKS))
            return _row(context, builder, signature.args[3], arguments[3], start)

        place = builder.load(source, align=4)
        number, bit = builder.lshr(place, five), builder.shl(one, builder.and_(place, low))
        met = cgutils.alloca_once_value(builder, none)
        with cgutils.for_range(builder, arguments[2]) as loop:
            is_here = builder.icmp_unsigned("==", number, _splat(builder, builder.trunc(loop.index, word)))
            here = builder.select(is_here, bit, none)
            before = builder.load(at(loop.index), align=4)
            builder.store(builder.or_(builder.load(met), builder.and_(before, here)), met)
            builder.store(builder.or_(before, here), at(loop.index), align=4)
        taken = builder.icmp_unsigned("!=", builder.load(met), none)
        last = at(builder.zext(builder.lshr(arguments[1], ir.Constant(word, 5)), ir.IntType(64)))
        last_bit = builder.shl(ir.Constant(word, 1), builder.and_(arguments[1], ir.Constant(word, 31)))
        added = builder.select(taken, _splat(builder, last_bit), none)
        builder.store(builder.or_(builder.load(last, align=4), added), last, align=4)
        return context.get_dummy_value()

    return signature, generate


@inlined
def _look_up_places(places, last, sets):
    """The same for larger sets, one word of each at a time."""
    last_word, last_shift = (last >> 5) * GROUP_BLOCKS, np.uint32(last & 31)
    for lane in range(GROUP_BLOCKS):
        place = np.int64(places[lane])
        at, shift = (place >> 5) * GROUP_BLOCKS + lane, np.uint32(place & 31)
        taken = np.uint32(sets[at] >> shift) & np.uint32(1)
        sets[at] |= np.uint32(1) << shift
        sets[last_word + lane] |= np.uint32(taken << last_shift)


@inlined
def _write_set(code, k, heads, lane, sets, out):
    """Give the place of the true value to value k - 1, and itself the coin; then write the bytes."""
    place, shift = (code >> 5) * GROUP_BLOCKS + lane, np.uint32(code & 31)
    moved = (sets[place] >> shift) & np.uint32(1)
    sets[place] = (sets[place] & ~np.uint32(np.uint32(1) << shift)) | np.uint32(np.uint32(heads) << shift)
    sets[((k - 1) >> 5) * GROUP_BLOCKS + lane] |= np.uint32(moved << np.uint32((k - 1) & 31))
    for byte in range(out.size):
        out[byte] = np.uint8(sets[(byte >> 2) * GROUP_BLOCKS + lane] >> np.uint32(8 * (byte & 3)))


@part
def _draw_sets(key, attempt, count, k, bits, uneven, codes, scratch, sets, out):
    """Write the sets of ``count`` records, and flag those that must be drawn anew.

    Pre:  slots in work[32:48], records in places[:16], coins in found[:16].
    Post: flags, as numbers, in words[16:32].
    Bits: blocks attempt, attempt + 1, ... of the records' private streams, ``bits`` of them for each step.
    """
    counters, blocks, heads = scratch.work[16:32], scratch.blocks, scratch.found
    drawn, flags = scratch.words[:GROUP_BLOCKS], scratch.words[GROUP_BLOCKS : 2 * GROUP_BLOCKS]
    size, words, width = uneven.size, (k + 31) // 32, (k + 7) // 8
    for lane in range(GROUP_BLOCKS):
        counters[lane] = scratch.work[WAITING + lane]
        flags[lane] = 0
    for i in range(words * GROUP_BLOCKS):
        sets[i] = 0
    for step in range(size):
        position = step * bits % BLOCK_BITS
        if position == 0:
            fill_group(key, counters, PRIVATE, np.uint32(attempt), blocks, 0)
            attempt += 1
        bound, shift = np.uint32(k - size + step), np.uint32(position & 31)
        _draw_places(blocks, (position >> 5) * GROUP_BLOCKS, shift, np.uint32(bits), bound, uneven[step], flags, drawn)
        if words <= LARGEST_SCANNED:
            _add_places(drawn, np.uint32(bound - np.uint32(1)), words, sets)
        else:
            _look_up_places(drawn, np.int64(bound) - 1, sets)
        if step == 0:
            # The first step is for sets without the true value: they have one more of the others.
            for i in range(words * GROUP_BLOCKS):
                sets[i] *= np.uint32(1 - heads[i % GROUP_BLOCKS])
    for lane in range(count):
        record = scratch.places[lane]
        code = np.int64(codes[record])
        if code < 0 or code >= k:
            code = 0
        _write_set(code, k, heads[lane], lane, sets, out[record * width : (record + 1) * width])


@part
def _redraw_sets(count, key, k, bits, uneven, codes, scratch, sets, out):
    """Draw up to sixteen sets anew from the next blocks of their streams, until all steps are even."""
    per_set = (uneven.size * bits + BLOCK_BITS - 1) // BLOCK_BITS
    pending = scratch.pending
    attempt = per_set
    while count > 0:
        for i in range(count):
            scratch.places[i] = pending[i, 0]
            scratch.found[i] = pending[i, 1]
            scratch.work[WAITING + i] = _U(pending[i, 2])
        _draw_sets(key, attempt, count, k, bits, uneven, codes, scratch, sets, out)
        left = 0
        for i in range(count):
            if scratch.words[GROUP_BLOCKS + i]:
                for column in range(3):
                    pending[left, column] = pending[i, column]
                left += 1
        count = left
        attempt += per_set


@kernel
def fill_subset(key, start, high, low, k, bits, uneven, codes, scratch, sets, out):
    """Write one set of uneven.size values below k per code, at slots start, start + 1, ...

    Pre:  out holds (k + 7) // 8 bytes per code, sets is uint32[16 * ((k + 31) // 32)] of scratch;
          1 <= uneven.size < k <= 2**16; bits is 16 or 32, and uneven[i] is 2**bits % (k - uneven.size + i).
    Post: set i holds codes[i] with probability (high * 2**64 + low) / 2**128, and the rest of it is uniform among the
          sets of other values; bits beyond k are 0. The result is OUT_OF_DOMAIN if any code is not in [0, k), and
          outputs are then meaningless.
    Bits: the half-word plane and the private stream at slot start + i. Which sets are drawn anew, and how often,
          depends on the random bits alone.
    """
    work, blocks, pending = scratch.work, scratch.blocks, scratch.pending
    bad = np.uint8(0)
    waiting = done = 0
    while done < codes.size:
        slot, tile, lane, total = locate(start, done, codes.size)
        fill_tile(key, HALVES, tile, scratch, scratch.halves_raw)
        for first in range(0, total, GROUP_BLOCKS):
            count = min(GROUP_BLOCKS, total - first)
            heads = _U(0)
            for i in range(count):
                own = slot + _U(first + i)
                half = _U(scratch.halves[lane + first + i])
                is_heads = _toss(half, own, high, low, key, work, blocks)
                bad |= np.uint8(_U(np.int64(codes[done + first + i])) >= _U(k))
                heads |= _U(is_heads) << _U(i)
                scratch.found[i] = is_heads
                scratch.places[i] = done + first + i
                work[WAITING + i] = own
            _draw_sets(key, 0, count, k, bits, uneven, codes, scratch, sets, out)
            flagged = _U(0)
            for i in range(count):
                flagged |= _U(scratch.words[GROUP_BLOCKS + i]) << _U(i)
            while flagged != _U(0):
                i = count_trailing_zeros(flagged)
                flagged &= flagged - _U(1)
                pending[waiting, 0] = done + first + i
                pending[waiting, 1] = np.int64((heads >> _U(i)) & _U(1))
                pending[waiting, 2] = np.int64(slot + _U(first + i))
                waiting += 1
                if waiting == GROUP_BLOCKS:
                    _redraw_sets(waiting, key, k, bits, uneven, codes, scratch, sets, out)
                    waiting = 0
        done += total
    if waiting > 0:
        _redraw_sets(waiting, key, k, bits, uneven, codes, scratch, sets, out)
    return bad


@inlined
def _move_lanes(lanes, counts):
    """Add the eight one-byte counters in each lane to the counts, and clear them."""
    for column in range(lanes.size):
        lane = lanes[column]
        lanes[column] = _U(0)
        for bit in range(8):
            counts[8 * column + bit] += np.int64((lane >> _U(8 * bit)) & _U(0xFF))


@kernel
def count_subsets(reports, size, spread, ones, lanes, counts):
    """Add to ``counts`` how many sets hold each value; WRONG_SIZE if any set has not ``size`` of them.

    Pre:  reports holds lanes.size bytes per set, lanes is zero, counts is int64[8 * lanes.size]; spread[b] has the bits
          of byte b in its eight bytes, ones[b] is their number.
    """
    width = lanes.size
    bad = np.uint8(0)
    since = 0
    for first in range(0, reports.size, width):
        found = 0
        for column in range(width):
            byte = reports[first + column]
            lanes[column] += spread[byte]
            found += ones[byte]
        bad |= np.uint8(WRONG_SIZE * (found != size))
        since += 1
        if since == 255:
            _move_lanes(lanes, counts)
            since = 0
    _move_lanes(lanes, counts)
    return bad
