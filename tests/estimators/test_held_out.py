"""The number of steps that held-out reports choose."""

from __future__ import annotations

import numpy as np
import pytest

from fastdp.estimators import held_out


def scores_of(shortfalls):
    """Scores by steps, deals and folds that fall short of 0 by so much in sum, with a standard error of 1 in each."""
    noise = np.array([1.0, -1.0] * 5) * np.sqrt(9 / 10) / np.sqrt(10)
    table = [noise - short / 10 if short else np.zeros(10) for short in shortfalls]
    return np.stack(table)[:, None, :]


@pytest.mark.parametrize(
    ("shortfalls", "chosen"), [([8, 2, 0], 2), ([8, 0.3, 0], 2), ([8, 0.2, 0], 1), ([0.2, 3, 0, 1], 0), ([0, 1, 1], 0)]
)
def test_fewest__is_the_first_within_a_quarter_of_an_error(shortfalls, chosen):
    assert held_out._fewest(scores_of(shortfalls), int(np.argmin(shortfalls))) == chosen


@pytest.mark.parametrize(
    ("gains", "typical", "chosen"),
    [
        ({3: 0.0, 6: 6.9}, 3.0, 3),  # ten times ln 2 is asked for twice the steps
        ({3: 0.0, 6: 7.0}, 3.0, 6),
        ({3: 0.0, 12: 13.8}, 3.0, 3),
        ({3: 0.0, 12: 13.9}, 3.0, 12),
        ({8: 0.0, 4: 1.3}, 8.0, 8),  # twice ln 2 for half of them
        ({8: 0.0, 4: 1.4}, 8.0, 4),
        ({8: 0.0, 0: 5.5}, 8.0, 8),  # none at all count as one half
        ({8: 0.0, 0: 5.6}, 8.0, 0),
        ({5: 0.0, 6: 0.0}, 5.6, 5),
        ({6: 0.0, 5: 0.0}, 5.1, 5),
    ],
)
def test_most_credible__weighs_scores_against_the_typical_number(gains, typical, chosen):
    scores = scores_of([-gains.get(step, -100.0) for step in range(13)])
    assert held_out._most_credible(scores, typical) == chosen


@pytest.mark.parametrize(
    ("gain", "error", "beats"),
    [(-9.0, 1.0, False), (24.0, 10.0, False), (26.0, 10.0, True), (1.9, 0.1, False), (2.1, 0.1, True)],
)
def test_search__beats_another_beyond_doubt(gain, error, beats):
    """By two and a half standard errors and by two units, on the deals that both saw."""
    one = held_out._Search(None, error * scores_of([-gain / error])[0], 5, False)
    other = held_out._Search(None, np.stack([np.zeros(10), np.full(10, -50.0)]), 5, False)
    assert one.beats(other) == beats
