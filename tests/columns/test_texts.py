"""Labels in pandas' own arrays and in numpy's strings of any length."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import fastdp as fd
from tests.columns.test_containers import seeded

LABELS = ["cold", "flu", "none"]
VALUES = [LABELS[i] for i in np.random.default_rng(1).integers(0, 3, 200)]
KRR = fd.KRR(epsilon=1.0, domain=LABELS)


@pytest.fixture
def pd():
    return pytest.importorskip("pandas")


@pytest.fixture
def expected():
    return KRR.randomize(VALUES, rng=seeded())


class TestStringDType:
    def test_labels__come_back_as_such(self, expected):
        kind = np.dtypes.StringDType()
        given = np.array(VALUES, kind)
        found = KRR.randomize(given, rng=seeded())
        assert found.dtype == kind
        assert found.tolist() == expected
        square = KRR.randomize(given.reshape(20, 10), rng=seeded())
        assert square.shape == (20, 10)
        assert square.reshape(-1).tolist() == expected
        assert KRR.aggregate(found).n == 200
        assert KRR.randomize(given[:0]).dtype == kind

    @pytest.mark.parametrize("mechanism", [fd.UnaryEncoding, fd.LocalHashing, fd.SubsetSelection])
    def test_reports__are_those_of_numpy(self, mechanism):
        made = mechanism(epsilon=1.0, domain=LABELS)
        found, plain = (
            made.randomize(np.array(VALUES, kind), rng=seeded()) for kind in (np.dtypes.StringDType(), "U4")
        )
        assert found.dtype == plain.dtype
        assert np.array_equal(found, plain)

    @pytest.mark.parametrize("missing", [None, np.nan])
    def test_missing__are_refused(self, missing):
        given = np.array(["cold", missing], np.dtypes.StringDType(na_object=missing))
        with pytest.raises(fd.DomainError, match="None"):
            KRR.randomize(given)

    def test_others__are_refused_without_their_values(self):
        with pytest.raises(fd.DomainError) as caught:
            KRR.randomize(np.array(["S3CRET"], np.dtypes.StringDType()))
        assert "S3CRET" not in str(caught.value)
        with pytest.raises(fd.SchemaError):
            fd.Laplace(epsilon=1.0, sensitivity=1.0).randomize(np.array(["1"], np.dtypes.StringDType()))

    def test_tables__keep_them(self, expected):
        kind = np.dtypes.StringDType()
        plan = fd.Plan(columns={"x": {"mechanism": "krr", "epsilon": 1.0, "domain": LABELS}, "y": "keep"})
        found = fd.sanitize({"x": np.array(VALUES, kind), "y": np.array(VALUES, kind)}, plan)
        assert found["x"].dtype == found["y"].dtype == kind
        assert found["y"].tolist() == VALUES


class TestPandasArrays:
    def test_categorical__comes_back_as_one(self, pd, expected):
        found = KRR.randomize(pd.Categorical(VALUES, categories=LABELS[::-1]), rng=seeded())
        assert type(found) is pd.Categorical
        assert list(found) == expected
        assert list(found.categories) == LABELS
        assert KRR.aggregate(found).n == 200

    def test_nullable_and_arrow__come_back_as_they_were(self, pd):
        laplace = fd.Laplace(epsilon=1.0, sensitivity=1.0)
        plain = laplace.randomize(np.arange(50.0), rng=seeded())
        for kind in ("Float64", "double[pyarrow]"):
            given = pd.array(np.arange(50.0), dtype=kind)
            found = laplace.randomize(given, rng=seeded())
            assert found.dtype == given.dtype
            assert found.tolist() == plain.tolist()

    def test_missing__are_public_if_they_are_said_to_be(self, pd):
        given = pd.Categorical([*VALUES, None], categories=LABELS)
        with pytest.raises(fd.DomainError):
            KRR.randomize(given)
        assert KRR.randomize(given, nulls="public").isna().tolist() == [False] * 200 + [True]

    def test_tables__keep_them(self, pd):
        plan = fd.Plan(columns={"x": {"mechanism": "krr", "epsilon": 1.0, "domain": LABELS}, "y": "keep"})
        given = {"x": pd.Categorical(VALUES, categories=LABELS), "y": pd.array(range(200), dtype="Int64")}
        found = fd.sanitize(given, plan)
        assert {name: type(column) for name, column in found.items()} == {name: type(c) for name, c in given.items()}
        assert pa.array(found["y"]).to_pylist() == list(range(200))
