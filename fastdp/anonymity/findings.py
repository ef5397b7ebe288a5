"""What the classes of a table come to, in words: what a requirement misses, figures in lines, what is given away."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastdp.anonymity.requirements import SLACK, Requirement
from fastdp.anonymity.risk import Risk

if TYPE_CHECKING:
    from fastdp.anonymity.classes import Classes


def failures(found: Classes, requirement: Requirement) -> list[str]:
    """The models of a requirement that the classes of a table do not meet, by name."""
    asked, failed = requirement, []
    if found.k < asked.k:
        failed.append("k")
    if asked.l is not None:
        if asked.l_model == "recursive":
            good = asked.c is not None and found.recursive(int(asked.l)) < asked.c
        else:
            good = found.l(asked.l_model) >= asked.l * (1 - SLACK)
        if not good:
            failed.append("l")
    if asked.t is not None and found.t(asked.t_distance) > asked.t * (1 + SLACK) + SLACK:
        failed.append("t")
    failed += [
        name
        for name in ("alpha", "beta", "delta")
        if getattr(asked, name) is not None and getattr(found, name) > getattr(asked, name) * (1 + SLACK)
    ]
    return failed


def people(count: int, show: int) -> str:
    """A number of people, withheld where it is smaller than ``show`` and not 0."""
    return f"fewer than {show:,}" if 0 < count < show else f"{count:,}"


def describe(found: Classes, show: int = 0, risk: Risk | None = None) -> list[str]:
    """What there is to say of a table, in lines; numbers of people below ``show`` are withheld."""
    risk = found.risk() if risk is None else risk
    unique = people(found.unique, show)
    lines = [
        f"{found.rows:,} rows in {found.count:,} classes by {', '.join(found.quasi)}"
        + (f"; {people(found.dropped, show)} rows with missing values left out" if found.dropped else ""),
        f"  k-anonymity     k = {found.k:,}; {unique} rows are unique"
        + (f" ({found.unique / found.rows:.1%})" if unique[0].isdigit() else ""),
        f"  re-identified   a record with probability at most {risk.prosecutor:.4g}, on average {risk.mean:.4g}",
    ]
    if risk.journalist is not None and risk.presence is not None:
        low, high = risk.presence
        lines += [
            f"  in a population at most {risk.journalist:.4g} per record, {risk.marketer:.4g} on average",
            f"  presence        between {low:.4g} and {high:.4g} of a class of the population are in the table",
        ]
    for name in found.sensitive:
        d = found.diversity(name)
        ordered = "" if d.t_ordered is None else f", by rank {d.t_ordered:.4g}"
        lines += [
            f"{name}: {d.values:,} values",
            f"  l-diversity     distinct {d.distinct_l:,}, entropy {d.entropy_l:.4g}; alpha {d.alpha:.4g}",
            f"  t-closeness     {d.t_equal:.4g}{ordered}; beta {d.beta:.4g}; delta {d.delta:.4g}",
            f"  homogeneous     {people(d.homogeneous, show)} rows are in classes with a single value",
            f"  a guess         from the class is right for {d.guessed:.1%} of the rows, without it for {d.prior:.1%}",
        ]
    return lines


def leaks(found: Classes, show: int = 0) -> list[str]:
    """What the table still gives away, in sentences; [] where nothing was found."""
    sentences = []
    if found.unique:
        sentences.append(
            f"{people(found.unique, show)} rows are unique: whoever knows {', '.join(found.quasi)} of a person finds "
            "their record."
        )
    for name in found.sensitive:
        d = found.diversity(name)
        if d.homogeneous:
            sentences.append(
                f"{people(d.homogeneous, show)} rows are in classes with one value of {name}: it is known of a person "
                f"without finding their record, whatever k is."
            )
        if d.guessed > d.prior + 0.01:
            sentences.append(
                f"The class tells {d.information:.3g} of {d.uncertainty:.3g} bits about {name}: the best guess is "
                f"right for {d.guessed:.1%} of the rows instead of {d.prior:.1%}."
            )
    if found.k > 1:
        sentences.append(
            "k-anonymity does not compose: a second table about the same people, k-anonymous by itself, can make them "
            "unique. A released count or mean with differential privacy does not have this problem."
        )
    return sentences
