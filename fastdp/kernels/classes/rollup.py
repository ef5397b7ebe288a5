"""Every node of a generalization lattice, each rolled up from a node below it.

A tuple is one or two words of bits, a field per column; generalizing a column replaces its field. Nodes are visited
like an odometer, the last column fastest, so that each follows from the node with one level less in its last raised
column, and one snapshot per column is all that is kept. Tables are stamped with the number of the node, never cleared.
"""

from __future__ import annotations

import numpy as np

from fastdp.kernels.classes.buckets import mix, sort_values
from fastdp.kernels.classes.diversity import FIGURES, SIZE, measure_class
from fastdp.kernels.jit import inlined, kernel

ODD = np.uint64(0xA24BAED4963EE407)

SUPPRESSED, DUMMIES, CLASSES, LOSS, BOUND = range(5)
"""Places of what is known of a node: rows to suppress, records to add, classes left, loss, lower bound from here up."""
RESULTS = 5
SEPARABLE, DISCERNIBILITY = 0, 1
"""Losses: a penalty per column and value, or the squares of class sizes."""


@inlined
def place_of(low, high, places):
    """Where the search for a tuple begins in a table of ``places + 1``."""
    return np.int64(mix(low ^ (high * ODD)) >> np.uint64(24)) & places


@inlined
def places_for(count):
    """One less than the power of two that is at least twice ``count``: small snapshots use the start of the table."""
    places = np.int64(15)
    while places < 2 * count:
        places = 2 * places + 1
    return places


@inlined
def roll_up(words, weights, source, count, target, field, maps, offset, table, stamp):
    """Group the tuples of snapshot ``source`` after replacing the field of a column; returns how many are left.

    Pre:  field is (word, shift, mask) of the column; maps[offset + f] is the new content of field f.
    Post: snapshot ``target`` has the tuples; it may be ``source`` itself, for a tuple never moves back.
    """
    word, shift, mask = field[0], np.uint64(field[1]), np.uint64(field[2])
    places = places_for(count)
    found = np.int64(0)
    for i in range(count):
        low, high = words[source, 0, i], words[source, 1, i]
        if word == 0:
            content = (low >> shift) & mask
            low ^= (content ^ np.uint64(maps[offset + np.int64(content)])) << shift
        else:
            content = (high >> shift) & mask
            high ^= (content ^ np.uint64(maps[offset + np.int64(content)])) << shift
        weight = weights[source, i]
        s = place_of(low, high, places)
        while table[s, 0] == stamp and (words[target, 0, table[s, 1]] != low or words[target, 1, table[s, 1]] != high):
            s = (s + 1) & places
        if table[s, 0] != stamp:
            table[s, 0] = stamp
            table[s, 1] = found
            words[target, 0, found] = low
            words[target, 1, found] = high
            weights[target, found] = weight
            found += 1
        else:
            weights[target, table[s, 1]] += weight
    return found


@inlined
def class_of(low, high, room, table, stamp, places, classes):
    """The number of a tuple's class, which may be a new one, and how many there are."""
    s = place_of(low, high, places)
    while table[s, 0] == stamp and (room[0, table[s, 1]] != low or room[1, table[s, 1]] != high):
        s = (s + 1) & places
    if table[s, 0] != stamp:
        table[s, 0] = stamp
        table[s, 1] = classes
        room[0, classes] = low
        room[1, classes] = high
        classes += 1
    return table[s, 1], classes


@inlined
def rows_below(words, weights, slot, count, kept, k, room, sizes, table, stamp):
    """Rows in classes smaller than k if only some fields, those in the masks ``kept``, tell rows apart."""
    places = places_for(count)
    found = np.int64(0)
    for i in range(count):
        number, classes = class_of(
            words[slot, 0, i] & kept[0], words[slot, 1, i] & kept[1], room, table, stamp, places, found
        )
        if classes > found:
            sizes[found] = 0
            found = classes
        sizes[number] += weights[slot, i]
    small = np.int64(0)
    for c in range(found):
        if sizes[c] < k:
            small += sizes[c]
    return small


@inlined
def penalty_of(low, high, levels, fields, offsets, penalties):
    """The loss of one row of a tuple: the sum over columns of its field's penalty at the column's level."""
    total = 0.0
    for j in range(levels.size):
        word = low if fields[j, 0] == 0 else high
        content = np.int64((word >> np.uint64(fields[j, 1])) & np.uint64(fields[j, 2]))
        total += penalties[offsets[j, levels[j]] + content]
    return total


@inlined
def assess_sizes(
    words, weights, slot, count, levels, fields, offsets, penalties, loss, k, most_dummies, rows, small, losses, out
):
    """What a node costs if classes below k are suppressed, the largest of them padded with dummy records if allowed."""
    for s in range(k):
        small[s] = 0
        losses[s] = 0.0
    classes, total = np.int64(0), 0.0
    for i in range(count):
        weight = weights[slot, i]
        if loss == SEPARABLE:
            cost = np.float64(weight) * penalty_of(
                words[slot, 0, i], words[slot, 1, i], levels, fields, offsets, penalties
            )
        else:
            cost = np.float64(weight) * np.float64(weight)
        if weight < k:
            small[weight] += 1
            losses[weight] += cost
        else:
            classes += 1
            total += cost
    bound = total
    suppressed, dummies = np.int64(0), np.int64(0)
    padding = most_dummies > 0
    for s in range(k - 1, 0, -1):
        bound += losses[s]
        if padding and dummies + small[s] * (k - s) <= most_dummies:
            dummies += small[s] * (k - s)
            classes += small[s]
            if loss == SEPARABLE:
                total += losses[s] + np.float64(small[s] * (k - s))
            else:
                total += np.float64(small[s]) * np.float64(k) * np.float64(k)
        else:
            padding = False
            suppressed += small[s] * s
            total += np.float64(small[s] * s) * (1.0 if loss == SEPARABLE else np.float64(rows))
    out[SUPPRESSED] = suppressed
    out[DUMMIES] = dummies
    out[CLASSES] = classes
    out[LOSS] = total
    out[BOUND] = bound


@inlined
def list_values(words, weights, slot, field, members, begin, end, values, counts):
    """The values of a sensitive field in one class, ascending, with their rows; returns where they end.

    Where there are several sensitive fields, tuples of a class may share a value of one.
    """
    shift, mask = np.uint64(field[1]), np.uint64(field[2])
    for e in range(begin, end):
        held = words[slot, field[0], members[e]]
        values[e] = (np.int64((held >> shift) & mask) << 32) | members[e]
    sort_values(values, begin, end)
    last = begin - 1
    for e in range(begin, end):
        value, weight = values[e] >> 32, weights[slot, values[e] & 0xFFFFFFFF]
        if last >= begin and values[last] == value:
            counts[last] += weight
        else:
            last += 1
            values[last] = value
            counts[last] = weight
    return last + 1


@inlined
def assess_values(
    words, weights, slot, count, levels, fields, offsets, penalties, loss, rows, sensitive, kept_bits, room, low, high,
    depth, known, shares, table, stamp, numbers, starts, members, values, counts, largest, figures, out,
):  # fmt: skip
    """What a node costs if classes with a figure outside its limits are suppressed; tuples hold sensitive fields."""
    places = places_for(count)
    classes = np.int64(0)
    for i in range(count):
        number, found = class_of(
            words[slot, 0, i] & kept_bits[0], words[slot, 1, i] & kept_bits[1], room, table, stamp, places, classes
        )
        if found > classes:
            starts[classes] = 0
            classes = found
        numbers[i] = number
        starts[number] += 1
    place = np.int64(0)
    for c in range(classes):
        size = starts[c]
        starts[c] = place
        place += size
    for i in range(count):
        members[starts[numbers[i]]] = i
        starts[numbers[i]] += 1
    kept, suppressed, total, bound = np.int64(0), np.int64(0), 0.0, 0.0
    begin = np.int64(0)
    for c in range(classes):
        end = starts[c]
        fits, size = True, 0.0
        for s in range(sensitive.shape[0]):
            if not fits:
                break
            last = list_values(words, weights, slot, sensitive[s], members, begin, end, values, counts)
            a, b = known[s], known[s + 1]
            measure_class(
                values, counts, begin, last, depth, shares[0][a:b], shares[1][a:b], shares[2][a:b],
                shares[3][a + s : b + s + 1], largest, figures,
            )  # fmt: skip
            size = figures[SIZE]
            for j in range(FIGURES):
                if not (low[j] <= figures[j] <= high[j]):
                    fits = False
        if loss == SEPARABLE:
            cost = size * penalty_of(room[0, c], room[1, c], levels, fields, offsets, penalties)
        else:
            cost = size * size
        bound += cost
        if fits:
            kept += 1
            total += cost
        else:
            suppressed += np.int64(size)
            total += size * (1.0 if loss == SEPARABLE else np.float64(rows))
        begin = end
    out[SUPPRESSED] = suppressed
    out[DUMMIES] = 0
    out[CLASSES] = kept
    out[LOSS] = total
    out[BOUND] = bound


@inlined
def number_of(levels, tops):
    """A node as one integer, the first column slowest."""
    number = np.int64(0)
    for j in range(tops.size):
        number = number * (tops[j] + 1) + levels[j]
    return number


@kernel
def visit_lattice(
    words, weights, alias, sizes, levels, tops, fields, prefixes, offsets, maps, penalties, floors, loss, rows, k,
    most_dummies, most_suppressed, sensitive, kept_bits, low, high, depth, known, shares, prune, best, budget, table,
    room, numbers, starts, members, values, counts, small, losses, largest, figures, node, state, nodes, results,
):  # fmt: skip
    """Visit the next nodes of the lattice, at most ``budget``; returns whether all are done.

    Pre:  snapshot 0 has sizes[0] tuples; fields[j] is (word, shift, mask) of column j and prefixes[j] the masks of
          columns 0 to j; maps[offsets[j, level] + f] is field f one level up; penalties are laid out alike;
          floors[j, level] is the loss of all rows in column j at a level; ``sensitive`` has a field for each column
          that a class is judged by, none where sizes alone count, ``kept_bits`` the masks of all other bits, and
          ``known`` where the shares of each begin. At first state is (-1, 0, 0, 0), alias, levels and table are zero,
          and best[0] is a loss that the search must beat; all are left as the next call needs them.
    Post: state is (column raised last, stamp, nodes kept, nodes visited). nodes[i] and results[i] are of qualifying
          nodes, up to their length. With ``prune``, a node is skipped with all that follow from it where its lower
          bound is no better than best[0], and so are the nodes of a prefix whose most general one does not qualify;
          the last one kept is then the best.
    """
    columns = tops.size
    raised, stamp, kept, visited = state[0], state[1], state[2], state[3]
    last = visited + budget
    done = False
    while not done and visited < last:
        slot = alias[raised + 1]
        visited += 1
        skip = np.int64(columns)  # columns from here on return to level 0, and the one before is raised
        bound = 0.0
        for j in range(columns):
            bound += floors[j, levels[j]]
        if prune and loss == SEPARABLE and bound >= best[0]:
            skip = raised
        else:
            stamp += 1
            if sensitive.shape[0] == 0:
                assess_sizes(
                    words, weights, slot, sizes[slot], levels, fields, offsets, penalties, loss, k, most_dummies, rows,
                    small, losses, node,
                )  # fmt: skip
            else:
                assess_values(
                    words, weights, slot, sizes[slot], levels, fields, offsets, penalties, loss, rows, sensitive,
                    kept_bits, room, low, high, depth, known, shares, table, stamp, numbers, starts, members, values,
                    counts, largest, figures, node,
                )  # fmt: skip
            if node[SUPPRESSED] <= most_suppressed and node[CLASSES] > 0:
                if not prune or node[LOSS] < best[0]:
                    best[0] = node[LOSS]
                    place = min(kept, results.shape[0] - 1)
                    nodes[place] = number_of(levels, tops)
                    for j in range(RESULTS):
                        results[place, j] = node[j]
                    kept = place + 1
            elif prune and sensitive.shape[0] == 0 and 0 <= raised < columns - 1:
                stamp += 1
                fewest = rows_below(
                    words, weights, slot, sizes[slot], prefixes[raised], k, room, starts, table, stamp
                ) - most_dummies * (k - 1)  # fmt: skip
                if fewest > most_suppressed:
                    skip = raised + 1
            if prune and node[BOUND] >= best[0]:
                skip = raised  # this column's higher levels, and the columns after it, cost no less
        j = skip - 1
        while j >= 0 and levels[j] == tops[j]:
            j -= 1
        if j < 0:
            done = True
        else:
            for i in range(j + 1, columns):
                levels[i] = 0
            source = alias[j] if levels[j] == 0 else alias[j + 1]
            stamp += 1
            sizes[j + 1] = roll_up(
                words, weights, source, sizes[source], j + 1, fields[j], maps, offsets[j, levels[j]], table, stamp
            )  # fmt: skip
            levels[j] += 1
            for i in range(j + 1, columns + 1):
                alias[i] = j + 1
            raised = j
    state[0], state[1], state[2], state[3] = raised, stamp, kept, visited
    return done
