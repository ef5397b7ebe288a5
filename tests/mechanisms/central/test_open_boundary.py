"""Noise on clamped values whose sums are not clamped: unbiased, in a type that holds them."""

import numpy as np
import pyarrow as pa
import pytest

import fastdp as fd

N = 40_000
BOUNDS = (0, 100)
MECHANISMS = {
    "laplace": lambda boundary: fd.Laplace(epsilon=1.0, sensitivity=100, bounds=BOUNDS, boundary=boundary),
    "gaussian": lambda boundary: fd.Gaussian(rho=0.5, sensitivity=100, bounds=BOUNDS, boundary=boundary),
    "staircase": lambda boundary: fd.Staircase(epsilon=1.0, sensitivity=100, bounds=BOUNDS, boundary=boundary),
    "geometric": lambda boundary: fd.Geometric(epsilon=1.0, sensitivity=100, bounds=BOUNDS, boundary=boundary),
    "discrete_gaussian": lambda boundary: fd.DiscreteGaussian(
        rho=0.5, sensitivity=100, bounds=BOUNDS, boundary=boundary
    ),
}


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize(("value", "counts_as"), [(90, 90), (0, 0), (250, 100)])
def test_open__means_are_those_of_clamped_values(name, value, counts_as):
    """Within 4.5 standard errors, where clamped outputs are far off."""
    reports = {}
    for boundary in ("open", "clamp"):
        mechanism = MECHANISMS[name](boundary)
        values = np.full(N, value, np.float64 if mechanism.number_kind == "float" else np.int64)
        reports[boundary] = mechanism.randomize(values, rng=fd.Rng.unsafe_seed(4))
    error = 4.5 * (mechanism.variance / N) ** 0.5
    assert abs(reports["open"].mean() - counts_as) < error < abs(reports["clamp"].mean() - counts_as)
    clipped = np.clip(reports["open"], *BOUNDS)
    np.testing.assert_allclose(clipped, reports["clamp"], atol=1e-3)  # the same noise: clamping is post-processing
    assert MECHANISMS[name]("open").privacy == MECHANISMS[name]("clamp").privacy


@pytest.mark.parametrize(
    ("given", "results"),
    [("int8", "int16"), ("uint8", "int16"), ("int16", "int16"), ("uint32", "int32"), ("uint64", "int64")],
)
def test_open__widens_to_a_signed_type_that_holds_the_noise(given, results):
    mechanism = MECHANISMS["geometric"]("open")
    values = np.full(1000, np.iinfo(given).max, given)
    private = mechanism.randomize(pa.array(values), rng=fd.Rng.unsafe_seed(1))
    assert private.type == mechanism.result_type(pa.from_numpy_dtype(given)) == pa.from_numpy_dtype(results)
    assert mechanism.randomize(values, rng=fd.Rng.unsafe_seed(1)).tolist() == private.to_pylist()
    assert 80 < np.mean(private.to_numpy()) < 120  # counted as the upper bound, not wrapped


def test_open__is_refused_where_no_type_holds_it():
    mechanism = fd.Geometric(epsilon=1.0, sensitivity=1, bounds=(0, 2**62), boundary="open")
    with pytest.raises(fd.SchemaError, match='boundary="clamp"'):
        mechanism.randomize([1, 2])
    with pytest.raises(fd.ParameterError, match="needs bounds"):
        fd.Gaussian(rho=1.0, sensitivity=1, boundary="open")
    with pytest.raises(fd.ParameterError, match="channel"):
        MECHANISMS["geometric"]("open").channel()
