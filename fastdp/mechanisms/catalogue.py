"""The rows of fastdp's own mechanisms."""

from __future__ import annotations

from typing import Any

from fastdp.mechanisms.rows import FLOATS, INTEGERS, Family, Row, Takes, Warmup, Word

_GAUSSIAN = ("epsilon", "delta", "rho")
_EACH = [1.0] * 16
_LINE = [[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]]
_PLANAR = {"type": "PlanarLaplace", "epsilon": 1.0, "unit": "km"}
_KRR, _UNARY = ({"type": name, "epsilon": 2.0, "domain": 10} for name in ("KRR", "UnaryEncoding"))


def _row(family: Family, module: str, name: str, takes: Takes, *words: Word, **more: Any) -> Row:
    return Row(f"fastdp.mechanisms.{family}.{module}", name, family, takes, words, **more)


def _domain(size: int = 10, **more: Any) -> Warmup:
    return Warmup({"epsilon": 1.0, "domain": size, **more})


def _noise(*dtypes: str, note: str = "", **parameters: Any) -> Warmup:
    return Warmup(parameters, dtypes, note)


CENTRAL = (
    _row(
        "central", "laplace", "Laplace", "numbers", Word("laplace", ("epsilon", "granularity", "boundary")),
        warmup=(
            _noise(*FLOATS, epsilon=1.0, sensitivity=1.0),
            _noise(*FLOATS, epsilon=1.0, sensitivity=1.0, bounds=(0, 8), boundary="fold", note="folded"),
            _noise("float64", epsilon=1.0, sensitivity=1.0, bounds=(0, 8), boundary="resample", note="resampled"),
            _noise(
                "float64", epsilon=0.1, sensitivity=1.0, bounds=(0, 1), boundary="resample",
                note="resampled in a narrow interval",
            ),
            _noise("float64", epsilon=_EACH, sensitivity=1.0, note="one epsilon per record"),
        ),
    ),
    _row(
        "central", "geometric", "Geometric", "numbers", Word("geometric", ("epsilon", "boundary")), whole=True,
        synonyms=("discrete Laplace", "truncated geometric"),
        warmup=(
            _noise(*INTEGERS, epsilon=1.0),
            _noise(*INTEGERS, epsilon=1.0, bounds=(0, 8), boundary="fold", note="folded"),
            _noise("int64", scale=1000.0, note="of middle scale"),
        ),
    ),
    _row(
        "central", "gaussian", "Gaussian", "numbers", Word("gaussian", (*_GAUSSIAN, "granularity", "boundary")),
        synonyms=("analytic Gaussian",),
        warmup=(
            _noise("float64", rho=0.5, sensitivity=1.0),
            _noise("float64", rho=_EACH, sensitivity=1.0, note="one rho per record"),
        ),
    ),
    _row(
        "central", "discrete_gaussian", "DiscreteGaussian", "numbers",
        Word("discrete_gaussian", (*_GAUSSIAN, "boundary")), whole=True,
        warmup=(_noise("int64", rho=0.5),),
    ),
    _row(
        "central", "staircase", "Staircase", "numbers",
        Word("staircase", ("epsilon", "gamma", "granularity", "boundary")),
        warmup=(
            _noise("float64", epsilon=1.0, sensitivity=1.0),
            _noise("float64", epsilon=_EACH, sensitivity=1.0, note="one epsilon per record"),
        ),
    ),
    _row(
        "central", "selection", "ExponentialMechanism", "scores", synonyms=("EM", "Gumbel noise"),
        warmup=(_noise("int64", "int32", "float64", epsilon=1.0),),
    ),
    _row(
        "central", "selection", "PermuteAndFlip", "scores", synonyms=("exponential noise",),
        warmup=(_noise("int64", "int32", "float64", epsilon=1.0),),
    ),
    _row("central", "selection", "NoisyMax", "scores", synonyms=("report noisy max",)),
    _row("central", "above_threshold", "AboveThreshold", "scores", synonyms=("sparse vector technique", "SVT")),
    _row(
        "central", "key_selection", "KeySelection", "counts",
        synonyms=("partition selection", "tau-thresholding", "truncated geometric selection"),
        warmup=(_noise("int64", epsilon=1.0, delta=1e-5),),
    ),
)  # fmt: skip

LOCAL = (
    *(
        _row(
            "local", "numeric", name, "bounded", Word(name.lower()), synonyms=synonyms,
            warmup=(Warmup({"epsilon": 1.0, "bounds": (0, 1)}, FLOATS),),
        )
        for name, synonyms in (("Duchi", ("Duchi et al.",)), ("Piecewise", ("PM",)), ("Hybrid", ("HM",)))
    ),
    _row(
        "local", "square_wave", "SquareWave", "bounded", Word("square_wave", ("epsilon", "bins")), synonyms=("SW",),
        warmup=(Warmup({"epsilon": 1.0, "bounds": (0, 1)}, ("float64",)),),
    ),
    _row(
        "local", "krr", "KRR", "categories", Word("krr"),
        synonyms=("GRR", "generalized randomized response", "direct encoding", "DE"),
        warmup=(
            Warmup({"epsilon": 1.0, "domain": 100}, INTEGERS),
            Warmup({"epsilon": 1.0, "domain": 100_000}, note="of large domains"),
        ),
    ),
    _row(
        "local", "unary", "UnaryEncoding", "categories", Word("unary", ("epsilon", "optimized")),
        Word("oue", fixed={"optimized": True}), Word("sue", fixed={"optimized": False}),
        synonyms=("OUE", "SUE", "basic RAPPOR"), warmup=(_domain(),),
    ),
    _row(
        "local", "subset", "SubsetSelection", "categories", Word("subset"), synonyms=("SS", "omega-subset"),
        warmup=(_domain(),),
    ),
    _row(
        "local", "hadamard", "HadamardResponse", "categories", Word("hadamard"), synonyms=("HR",), warmup=(_domain(),)
    ),
    _row(
        "local", "hashing", "LocalHashing", "categories", Word("hashing", ("epsilon", "g", "cohorts", "salt")),
        Word("olh", ("epsilon", "cohorts", "salt")), Word("blh", ("epsilon", "cohorts", "salt"), {"g": 2}),
        synonyms=("OLH", "BLH", "LH"),
        warmup=(_domain(), Warmup({"epsilon": 1.0, "domain": 10, "cohorts": 8}, note="in cohorts")),
    ),
    _row(
        "local", "rappor", "RAPPOR", "categories", Word("rappor", ("epsilon", "bits", "hashes", "cohorts", "salt")),
        warmup=(_domain(),),
    ),
    _row(
        "local", "unary", "ThresholdedHistogram", "categories", Word("thresholded_histogram", ("epsilon", "threshold")),
        synonyms=("THE",), warmup=(_domain(),),
    ),
    _row(
        "local", "summed_histogram", "SummedHistogram", "categories", Word("summed_histogram"), synonyms=("SHE",),
        warmup=(_domain(),),
    ),
)  # fmt: skip

METRIC = (
    *(
        _row(
            "metric", "grid", name, "codes", Word(word, ("epsilon", "shape", "cell")),
            warmup=(Warmup({"epsilon": 1.0, "shape": (2, 2)}, INTEGERS),),
        )
        for word, name in (("grid_geometric", "GridGeometric"), ("grid_laplace", "GridLaplace"))
    ),
    _row(
        "metric", "exponential", "ExponentialMetric", "codes", Word("exponential_metric", ("epsilon", "distance")),
        warmup=(Warmup({"epsilon": 1.0, "distance": _LINE}),),
    ),
    _row(
        "metric", "blahut_arimoto", "BlahutArimoto", "codes",
        Word(
            "blahut_arimoto", ("beta", "prior", "distance", "iterations"),
            parameters={"iterations": "max_iterations"},
        ),
        warmup=(Warmup({"beta": 1.0, "prior": [1, 2, 1], "distance": _LINE}),),
    ),
    _row(
        "metric", "optimal", "OptimalMechanism", "codes",
        Word("optimal", ("epsilon", "prior", "distance", "loss", "dilation")),
    ),
)  # fmt: skip

OTHERS = (
    _row(
        "local", "randomized_response", "RandomizedResponse", "truths", Word("randomized_response"), synonyms=("RR",),
        warmup=(Warmup({"epsilon": 1.0}, ("bool",)),),
    ),
    _row(
        "local", "longitudinal", "Longitudinal", "categories", synonyms=("memoization", "L-GRR", "L-UE"),
        warmup=(
            Warmup({"mechanism": _KRR, "first": 1.0}, note="of k-RR"),
            Warmup({"mechanism": _UNARY, "first": 1.0}, note="of sets"),
        ),
    ),
    _row(
        "local", "dbitflip", "DBitFlip", "categories", synonyms=("dBitFlipPM",),
        warmup=(Warmup({"epsilon": 1.0, "domain": 10, "bits": 2}),),
    ),
    _row(
        "local", "strings.frequent", "FrequentStrings", "texts", synonyms=("PEM", "prefix extending method"),
        warmup=(Warmup({"epsilon": 4.0, "length": 2}, ("str",)),),
    ),
    _row("local", "attributes", "SplitBudget", "tables", synonyms=("SPL",)),
    _row("local", "attributes", "SampleOne", "tables", synonyms=("SMP",)),
    _row("local", "attributes", "SampleAndFake", "tables", synonyms=("RS+FD",)),
    _row("metric", "tight", "TightConstraints", "codes"),
    _row(
        "metric", "matrix", "MatrixMechanism", "codes", synonyms=("transition matrix",),
        warmup=(Warmup({"matrix": [[0.75, 0.25], [0.25, 0.75]]}),),
    ),
    _row("metric", "finite", "Remapped", "codes", synonyms=("remap",)),
    _row(
        "metric", "planar_laplace", "PlanarLaplace", "points", synonyms=("geo-indistinguishability",),
        warmup=(Warmup({"epsilon": 1.0, "unit": "km"}, ("float64",)),),
    ),
    _row("metric", "globe_laplace", "GlobeLaplace", "points"),
    _row("metric", "remapped_points", "RemappedPoints", "points"),
    _row(
        "metric", "memoized_trajectory", "MemoizedTrajectory", "trajectories",
        warmup=(Warmup({"mechanism": _PLANAR}, ("float64",)),),
    ),
    _row("metric", "predictive_trajectory", "PredictiveTrajectory", "trajectories", synonyms=("predictive mechanism",)),
)  # fmt: skip

ROWS = (*CENTRAL, *LOCAL, *METRIC, *OTHERS)
