"""SynthesisPlan: what it says, says again, and refuses."""

from __future__ import annotations

import pytest

import fastdp as fd
from fastdp.errors import ParameterError
from fastdp.synthesis.workload import candidate_weights

TOML = """
[source]
person = "who"
max_rows = 2
[budget]
epsilon = 1.0
delta = 1e-6
[columns]
sex = ["f", "m"]
age = {bins = [0, 18, 65, 120], nulls = true, shape = "fitted"}
born = {bins = 2, bounds = ["2000-01-01", "2020-01-01"]}
[model]
workload = [["sex", "age"]]
"""


def test_plan__says_its_words_again():
    plan = fd.SynthesisPlan.loads(TOML)
    said = plan.to_dict()
    again = fd.SynthesisPlan(**{key: said[key] for key in ("columns", "budget", "source", "model")})
    assert again.to_dict() == said
    assert plan.sizes == (2, 4, 2)
    assert plan.workload == [(0, 1)]
    assert plan.privacy(plan.spend).epsilon <= 1.0


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [("[budget]\nepsilon = 1.0\ndelta = 1e-6\n", "", "budget"), ("max_rows", "max_row", "max_row"),
     ("workload", "work", "work"), ("nulls", "null", "null"), ("[model]", "[models]", "models"),
     ("1e-6", "2.0", "delta"), ("= [", "= [[", "TOML")],
)  # fmt: skip
def test_plan__names_what_is_wrong(old, new, words):
    with pytest.raises(ParameterError, match=words):
        fd.SynthesisPlan.loads(TOML.replace(old, new))


def test_candidate_weights__count_shared_columns():
    found = candidate_weights([(0, 1), (1, 2)])
    assert found == {(0,): 1, (1,): 2, (2,): 1, (0, 1): 3, (1, 2): 3}
