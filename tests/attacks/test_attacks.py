"""Every attack: on theory where it succeeds, and stopped by a budget."""

from __future__ import annotations

import hashlib
import hmac
import json
import math

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import norm

import fastdp as fd

SOURCE = np.random.default_rng(20261118)
RNG = fd.Rng.unsafe_seed(20261118)
BITS = SOURCE.random(4096) < 0.5


def on_theory(found, sigmas: float = 4.0) -> None:
    """Within four standard errors of the closed form, which a wrong one would not be."""
    assert abs(found.success - found.expected) <= sigmas * found.std_error + 1e-12
    assert json.loads(json.dumps(found.to_dict()))["success"] == found.success
    assert found.defended_by in str(found)


class TestDifferencing:
    """n a - (n - 1) b."""

    @pytest.mark.parametrize("release", [None, np.mean], ids=["counts", "means"])
    def test_exact_answers__give_every_bit(self, release):
        assert fd.attacks.differencing(BITS, release=release).success == 1.0

    @pytest.mark.parametrize(("epsilon", "expected"), [(0.1, 0.512495), (1.0, 0.620918)])
    def test_noise__leaves_the_closed_form(self, epsilon, expected):
        bits = np.zeros(200_000)
        bits[::2] = 1
        found = fd.attacks.differencing(
            bits, release=fd.Laplace(epsilon=epsilon, sensitivity=1.0), trials=200_000, rng=RNG
        )
        assert found.expected == pytest.approx(expected, abs=1e-5)
        on_theory(found)

    def test_gaussian__leaves_the_closed_form(self):
        found = fd.attacks.differencing(BITS, release=fd.Gaussian(rho=0.5, sensitivity=1.0), trials=4096, rng=RNG)
        assert found.expected == pytest.approx(norm.cdf(0.5 / math.sqrt(2)), abs=1e-6)
        on_theory(found)


class TestAveraging:
    """Repeats wear noise off; a budget for all of them does not."""

    @pytest.mark.parametrize(("epsilon", "expected"), [(0.1, 0.524385), (1.0, 0.696735), (2.0, 0.816060)])
    def test_one_answer__is_the_closed_form(self, epsilon, expected):
        found = fd.attacks.averaging(fd.Laplace(epsilon=epsilon, sensitivity=1.0), repeats=1, trials=200_000, rng=RNG)
        assert found.expected == pytest.approx(expected, abs=1e-5)
        on_theory(found)

    def test_many_answers__tell(self):
        assert fd.attacks.averaging(fd.Laplace(epsilon=1.0, sensitivity=1.0), repeats=1000, rng=RNG).success > 0.999
        on_theory(fd.attacks.averaging(fd.Gaussian(rho=0.5, sensitivity=1.0), repeats=4, trials=20_000, rng=RNG))

    @pytest.mark.parametrize(("repeats", "expected"), [(1, 0.731059), (10, 0.93480), (50, 0.99972)])
    def test_majority__is_binomial(self, repeats, expected):
        found = fd.attacks.averaging(fd.RandomizedResponse(epsilon=1.0), repeats=repeats, trials=20_000, rng=RNG)
        assert found.expected == pytest.approx(expected, abs=2e-5)
        on_theory(found)

    def test_budget__stops_it(self):
        """Epsilon 1 for a hundred repeats together is no better than one answer of epsilon 1."""
        found = fd.attacks.averaging(fd.Laplace(epsilon=0.01, sensitivity=1.0), repeats=100, trials=20_000, rng=RNG)
        assert found.success < 1 - math.exp(-0.5) / 2

    def test_callables__are_asked(self):
        found = fd.attacks.averaging(lambda count, repeats: count + SOURCE.normal(size=repeats), repeats=50)
        assert found.success > 0.99


class TestReconstruction:
    """n subset counts give the bits back; a budget does not."""

    @pytest.mark.parametrize(("ratio", "wrong"), [(2, 0.308538), (4, 0.158655), (8, 0.022750)])
    def test_hadamard__is_on_theory(self, ratio, wrong):
        n = 1 << 16
        bits = SOURCE.random(n) < 0.5
        sigma = math.sqrt(n) / ratio
        found = fd.attacks.reconstruction(bits, release=lambda counts: counts + SOURCE.normal(0, sigma, counts.size))
        assert 1 - found.success == pytest.approx(wrong, abs=4 * math.sqrt(wrong * (1 - wrong) / n))

    def test_mechanism__has_the_closed_form(self):
        mechanism = fd.Gaussian(scale=16.0, sensitivity=1.0)
        found = fd.attacks.reconstruction(BITS, release=mechanism, rng=RNG)
        assert found.expected == pytest.approx(norm.cdf(1.0), abs=1e-6)
        on_theory(found)

    @pytest.mark.parametrize(("rho", "wrong"), [(0.1, 0.455490), (1.0, 0.361837)])
    def test_budget__stops_it_whatever_the_size(self, rho, wrong):
        """Each of the n counts gets rho / n."""
        for n in (1 << 10, 1 << 14):
            bits = SOURCE.random(n) < 0.5
            found = fd.attacks.reconstruction(bits, release=fd.Gaussian(rho=rho / n, sensitivity=1.0), rng=RNG)
            assert 1 - found.expected == pytest.approx(wrong, abs=1e-4)
            on_theory(found)

    def test_pure_budget__stops_it(self):
        bits = SOURCE.random(1 << 14) < 0.5
        found = fd.attacks.reconstruction(bits, release=fd.Laplace(epsilon=1 / bits.size, sensitivity=1.0), rng=RNG)
        assert found.success == pytest.approx(0.5, abs=0.02)

    @pytest.mark.parametrize(("sigma", "wrong"), [(5, 0.0031), (10, 0.0855)])
    def test_least_squares__is_on_theory(self, sigma, wrong):
        n, m = 400, 1600
        bits, queries = SOURCE.random(n) < 0.5, SOURCE.integers(0, 2, (m, n))
        scale = sigma * math.sqrt((m - n) / 3000)
        found = fd.attacks.reconstruction(
            bits, queries=queries, release=fd.Gaussian(scale=scale, sensitivity=1.0), rng=RNG
        )
        assert 1 - found.expected == pytest.approx(wrong, abs=2e-4)
        assert abs(found.success - found.expected) < 0.05

    def test_exact_counts__give_every_bit_of_any_number(self):
        for size in (2, 7, 1000):
            assert fd.attacks.reconstruction(SOURCE.random(size) < 0.3).success == 1.0


class TestTracing:
    """Means of many attributes tell who is in them."""

    @pytest.mark.parametrize(("d", "expected"), [(100, 0.760250), (400, 0.921350), (1000, 0.987326)])
    def test_exact_means__are_on_theory(self, d, expected):
        areas, half = [], np.full(d, 0.5)
        for _ in range(8):
            people = SOURCE.random((200, d)) < 0.5
            found = fd.attacks.tracing(people[:100], people[100:], frequencies=half)
            areas.append(found.success)
        assert found.expected == pytest.approx(expected, abs=1e-6)
        assert np.mean(areas) == pytest.approx(expected, abs=0.04)

    def test_budget__stops_it(self):
        """Noise for epsilon 1 in all over a thousand means."""
        people = SOURCE.random((400, 1000)) < 0.5
        half = np.full(1000, 0.5)
        loud = fd.Laplace(epsilon=1 / 1000, sensitivity=1 / 200)
        found = fd.attacks.tracing(people[:200], people[200:], release=loud, frequencies=half, rng=RNG)
        assert found.expected < 0.51
        assert abs(found.success - 0.5) < 0.15
        assert fd.attacks.tracing(people[:200], people[200:], frequencies=half).success > 0.9

    def test_callables__are_asked(self):
        people = SOURCE.random((40, 2000)) < 0.5
        found = fd.attacks.tracing(people[:20], people[20:], release=lambda rows: rows.mean(axis=0))
        assert found.success > 0.95
        assert found.expected is None


class TestNoise:
    """Noise that is bounded, and noise in floating point."""

    def test_uniform__is_certain_with_probability_one_fifth(self):
        found = fd.attacks.bounded_noise(lambda count, n: count + SOURCE.uniform(0, 5, n), width=5.0)
        assert found.expected == 0.2
        assert found.success == pytest.approx(0.2, abs=0.003)

    @pytest.mark.parametrize(
        "mechanism", [fd.Laplace(epsilon=1.0, sensitivity=1.0), fd.Gaussian(rho=0.5, sensitivity=1.0)]
    )
    def test_tails__leave_nothing_certain(self, mechanism):
        assert fd.attacks.bounded_noise(mechanism, draws=10**5, rng=RNG).success == 0.0

    def test_lattice__breaks_floats_and_not_the_grid(self):
        leaky = fd.attacks.lattice(lambda value, n: value + SOURCE.laplace(size=n), draws=300_000, epsilon=1.0)
        safe = fd.attacks.lattice(fd.Laplace(epsilon=1.0, sensitivity=1.0), draws=300_000, rng=RNG)
        assert leaky.expected == pytest.approx(safe.expected, abs=1e-6)
        assert leaky.success > leaky.expected + 0.04
        assert leaky.details["never_seen_of_the_other"] > 50_000
        assert safe.expected - 0.01 < safe.success < safe.expected + 4 * safe.std_error


class TestTables:
    """Linkage, composition, trackers."""

    def people(self, n=20_000):
        return {
            "zip": SOURCE.integers(0, 500, n), "age": SOURCE.integers(0, 80, n), "sex": SOURCE.integers(0, 2, n),
        }  # fmt: skip

    def test_linkage__names_those_who_are_unique(self):
        people = self.people()
        found = fd.attacks.linkage(people, people, on=["zip", "age", "sex"], truth=np.arange(20_000))
        assert found.success == found.expected
        assert found.success == pytest.approx((1 - 1 / 80_000) ** 19_999, abs=0.02)

    def test_linkage__is_stopped_by_private_reports(self):
        """Each column is reported by k-RR of epsilon 1/3."""
        people = self.people()
        noisy = {
            name: fd.KRR(epsilon=1 / 3, domain=int(column.max()) + 1).randomize(column)
            for name, column in people.items()
        }
        found = fd.attacks.linkage(noisy, people, on=["zip", "age", "sex"], truth=np.arange(20_000))
        assert found.success < 0.005

    def test_composition__is_the_lectures(self):
        ages, weights = [30, 30, 40, 40, 50, 50], [60, 90, 90, 100, 60, 100]
        found = fd.attacks.composition({"age": ages}, {"weight": weights})
        assert (found.success, found.details["k"], found.details["k_joined"]) == (1.0, [2, 2], 1)

    def test_linkage__attacks_a_release_of_the_callers(self):
        """Coarser ages are linked as well as they can be, by coarsening the register; private reports are not."""
        people = self.people(5000)

        def coarse(table):
            return {"zip": table["zip"], "age": np.asarray(table["age"]) // 10, "sex": table["sex"]}

        def private(table):
            return {
                name: fd.KRR(epsilon=1 / 3, domain=500).randomize(np.asarray(table[name]))
                for name in table.column_names
            }

        on = ["zip", "age", "sex"]
        exact = fd.attacks.linkage(lambda table: table, people, on=on, records=people)
        assert exact.success == fd.attacks.linkage(people, people, on=on).success > 0.9
        assert 0.4 < fd.attacks.linkage(coarse, people, on=on, records=people).success < exact.success - 0.1
        assert fd.attacks.linkage(private, people, on=on, records=people).success < 0.01
        with pytest.raises(fd.ParameterError, match="one row for each"):
            fd.attacks.linkage(lambda table: table.slice(1), people, on=on, records=people)

    def test_composition__attacks_a_release_of_the_callers(self):
        n = 3000
        tables = [{"a": SOURCE.permutation(np.arange(n) // 40)}, {"b": SOURCE.permutation(np.arange(n) // 40)}]

        def private(table):
            name = table.column_names[0]
            return {name: fd.KRR(epsilon=0.5, domain=n // 40).randomize(np.asarray(table[name]))}

        exact = fd.attacks.composition(*tables)
        assert fd.attacks.composition(*tables, release=lambda table: table).success == exact.success > 0.4
        assert fd.attacks.composition(*tables, release=private).success < 0.01

    def test_composition__of_independent_classes_is_on_theory(self):
        n = 10_000
        first, second = (SOURCE.permutation(np.arange(n) // size) for size in (50, 80))
        found = fd.attacks.composition({"a": first}, {"b": second})
        assert found.expected == pytest.approx(math.exp(-49 * 79 / n), abs=0.01)
        assert abs(found.success - found.expected) < 0.03
        assert found.details["k"] == [50, 80]

    def test_tracker__reads_whom_k_should_hide(self):
        people = self.people(2000)
        bits = SOURCE.random(2000) < 0.4
        exact = fd.attacks.tracker(people, bits, on=["zip", "age", "sex"], k=100)
        assert exact.success == exact.expected > 0.9

        def rule(mask):
            return None if mask.sum() < 100 else float(bits[mask].sum())

        assert fd.attacks.tracker(people, bits, on=["zip", "age", "sex"], release=rule).success > 0.9
        refused = fd.attacks.tracker(people, bits, on=["zip", "age", "sex"], release=lambda mask: None)
        assert refused.success == 0.0
        noisy = fd.attacks.tracker(
            people, bits, on=["zip", "age", "sex"], release=fd.Laplace(epsilon=0.1, sensitivity=1.0), rng=RNG
        )
        assert noisy.success == pytest.approx(noisy.expected, abs=0.07)
        assert noisy.expected < 0.55

    @pytest.mark.parametrize("table", [{"a": [1, 2]}, {"a": [1, None, 3]}])
    def test_tables__are_checked(self, table):
        with pytest.raises(fd.FastDPError):
            fd.attacks.composition(table, {"b": [1, 2, 3]})
        with pytest.raises(fd.SchemaError, match="no column 'c'"):
            fd.attacks.linkage({"a": [1]}, {"a": [1]}, on=["c"])


class TestSparse:
    """Ratings, graphs, pseudonyms."""

    def ratings(self, people=2000, items=1500, each=30):
        taste = 1 / np.arange(1, items + 1)
        rows = [
            (person, item)
            for person in range(people)
            for item in SOURCE.choice(items, each, replace=False, p=taste / taste.sum())
        ]
        person, item = np.array(rows).T
        return {"person": person, "item": item, "stars": SOURCE.integers(1, 6, person.size)}

    def test_similarity__finds_people_by_eight_items(self):
        release = self.ratings()
        kept = SOURCE.random(release["person"].size) < 0.4
        known = {name: column[kept] for name, column in release.items()}
        found = fd.attacks.similarity(release, known, value="stars", tolerance=1.0)
        assert found.success > 0.9
        assert found.details["wrong"] / found.trials < 0.02

    def test_similarity__is_stopped_by_records_that_are_private(self):
        """Items by k-RR of epsilon 1 are mostly others."""
        release = self.ratings(500)
        private = {**release, "item": fd.KRR(epsilon=1.0, domain=1500).randomize(release["item"])}
        assert fd.attacks.similarity(private, release).success < 0.05

    def test_similarity__attacks_a_release_of_the_callers(self):
        ratings = self.ratings(500)

        def private(table):
            items = fd.KRR(epsilon=1.0, domain=1500).randomize(np.asarray(table["item"]))
            return {"person": table["person"], "item": items}

        assert fd.attacks.similarity(lambda table: table, ratings, records=ratings).success > 0.9
        assert fd.attacks.similarity(private, ratings, records=ratings).success < 0.05
        with pytest.raises(fd.ParameterError, match="records"):
            fd.attacks.similarity(private, ratings)

    def test_topology__attacks_a_release_of_the_callers(self):
        edges = np.unique(np.sort(SOURCE.integers(0, 2000, (10_000, 2)), axis=1), axis=0)

        def private(true):
            return fd.KRR(epsilon=0.5, domain=2000).randomize(true.ravel()).reshape(-1, 2)

        def thinned(true):
            return true[SOURCE.random(len(true)) < 0.9]

        assert fd.attacks.topology(lambda true: true, records=edges).success > 0.9
        assert fd.attacks.topology(thinned, records=edges).success < 0.5
        assert fd.attacks.topology(private, records=edges).success < 0.01

    def test_topology__names_nodes_by_their_neighbourhood(self):
        edges = np.unique(np.sort(SOURCE.integers(0, 3000, (15_000, 2)), axis=1), axis=0)
        edges = edges[edges[:, 0] != edges[:, 1]]
        found = fd.attacks.topology(edges)
        assert found.success > 0.95
        assert found.expected < 0.05
        ring = np.stack([np.arange(50), (np.arange(50) + 1) % 50], axis=1)
        assert fd.attacks.topology(ring).success == 0.0

    def test_dictionary__undoes_hashes_without_a_key(self):
        plates = [f"{SOURCE.integers(10)}{chr(65 + SOURCE.integers(26))}{SOURCE.integers(100):02d}" for _ in range(500)]
        hidden = [hashlib.md5(plate.encode()).hexdigest() for plate in plates]
        found = fd.attacks.dictionary(pa.array(hidden), "9A99")
        assert found.success == 1.0
        assert found.details["candidates"] == 26_000
        keyed = [hmac.new(b"secret", plate.encode(), "md5").hexdigest() for plate in plates]
        assert fd.attacks.dictionary(keyed, "9A99").success == 0.0
        assert fd.attacks.dictionary(hidden, plates[:1]).success >= 1 / 500

    def test_dictionary__attacks_a_release_of_the_callers(self):
        """Hashes without a key, with one, and of reports of k-RR, of which few are true."""
        plates = [f"{SOURCE.integers(10)}{chr(65 + SOURCE.integers(26))}{SOURCE.integers(100):02d}" for _ in range(300)]
        every = [f"{i}{chr(65 + j)}{k:02d}" for i in range(10) for j in range(26) for k in range(100)]
        krr = fd.KRR(epsilon=1.0, domain=every)

        def hashed(texts):
            return [hashlib.md5(str(text).encode()).hexdigest() for text in texts]

        assert fd.attacks.dictionary(hashed, "9A99", records=plates).success == 1.0
        keyed = fd.attacks.dictionary(
            lambda texts: [hmac.new(b"key", str(text).encode(), "md5").hexdigest() for text in texts], "9A99",
            records=plates,
        )  # fmt: skip
        assert keyed.success == 0.0
        private = fd.attacks.dictionary(lambda texts: hashed(krr.randomize(texts)), "9A99", records=plates)
        assert private.success < 0.02
        assert private.details["undone"] > 250  # the hashes are undone, and are not true

    @pytest.mark.parametrize("pattern", ["", "99999999999"])
    def test_patterns__are_checked(self, pattern):
        with pytest.raises(fd.ParameterError, match="texts"):
            fd.attacks.dictionary(["00"], pattern)
        with pytest.raises(fd.ParameterError, match="algorithm"):
            fd.attacks.dictionary(["00"], "9", algorithm="crc")


@pytest.mark.parametrize("name", ["differencing", "reconstruction"])
def test_bits__are_checked_without_a_value_in_the_error(name):
    with pytest.raises(fd.ParameterError) as caught:
        getattr(fd.attacks, name)([0, 1, 31337])
    assert "31337" not in str(caught.value)
