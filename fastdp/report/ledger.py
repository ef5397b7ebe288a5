"""The page of a ledger: what was spent of each limit, by which releases, and what is left."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from fastdp.accounting.ledger.costs import NANO
from fastdp.accounting.ledger.filters import NUMBER, digits
from fastdp.accounting.ledger.hindsight import describe_hindsight
from fastdp.mechanisms.base import Mechanism
from fastdp.report.page import heading, make_page, paragraph, table
from fastdp.validation import visible_text

if TYPE_CHECKING:
    from fastdp.accounting.ledger import Entry, Ledger

WIDTH, HEIGHT = 640, 26
SPENT, LEFT = "#c03020", "#cfe3cf"
LARGEST_PAGE = 2000
"""Entries that a page shows; of more, the newest."""


def ledger_page(ledger: Ledger) -> str:
    """The whole page, self-contained."""
    entries = ledger.entries()
    raised = [entry for entry in entries if entry.kind == "raise"]
    return make_page(
        f"The budget of {visible_text(ledger.name or ledger.path.name)}",
        paragraph(f"At most {ledger.stated} for one {visible_text(ledger.unit)}. Nothing that was spent comes back."),
        *[_raise_note(entry) for entry in raised],
        *_budget(ledger),
        *_hindsight(ledger),
        *_accounts(ledger),
        heading("Releases"),
        _releases(ledger, entries),
        paragraph(f"Ledger {ledger.id}, {len(entries):,} entries, head {entries[-1].head}."),
    )


def _raise_note(entry: Entry) -> str:
    text = visible_text(str(entry.body["because"]))
    return paragraph(f"The limit was raised at entry {entry.number}, {entry.body['time']}: {text}", "loud")


def _budget(ledger: Ledger) -> list[str]:
    spent, limit, left = ledger.spent, ledger.limit, ledger.remaining
    parts = [
        heading("Spent and left"),
        bar(spent.amount, limit.amount, "of the budget"),
        paragraph(f"Spent: {spent.words(ledger.policy)}. Left: {left.words(ledger.policy)}."),
    ]
    return [*parts, bar(spent.delta, limit.delta, "of delta")] if spent.delta and limit.delta else parts


def _hindsight(ledger: Ledger) -> list[str]:
    words = describe_hindsight(ledger, Mechanism.from_dict)
    return [paragraph(f"{words[:1].upper()}{words[1:]}.")] if words else []


def _accounts(ledger: Ledger) -> list[str]:
    accounts, parts = ledger.accounts, []
    for name, most in accounts.limits.items():
        used = accounts.spent.get(name, {"unit": "distance", "amount": 0})
        words = f"{digits(used['amount'], NANO)} of {digits(most, NANO)} per {used['unit']}"
        parts += [paragraph(f"{visible_text(name)}, by distance: epsilon {words}"), bar(used["amount"], most, name)]
    return [heading("By distance"), *parts] if parts else []


def bar(part: int, whole: int, label: str) -> str:
    """What was spent in red, what is left in green, and the share in digits."""
    share = min(part / whole, 1.0)
    text = escape(f"{part / whole:.1%} {visible_text(label)} spent", quote=True)
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" role="img" aria-label="{text}">'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="{LEFT}"/>'
        f'<rect width="{WIDTH * share:.2f}" height="{HEIGHT}" fill="{SPENT}"/></svg>'
        f"<p>{text}</p>"
    )


def _releases(ledger: Ledger, entries: list[Entry]) -> str:
    settled = {entry.body["of"] for entry in entries if entry.kind == "settle"}
    spends = [entry for entry in entries if entry.kind == "spend"][-LARGEST_PAGE:]
    rows = [
        [
            visible_text(str(entry.body["name"])) or "–", str(entry.number), str(entry.body["time"]),
            digits(entry.added.amount, NANO), digits(entry.spent.amount, NANO),
            "settled" if entry.number in settled else "not settled; counts fully",
        ]
        for entry in spends
    ]  # fmt: skip
    number = NUMBER[ledger.policy]
    return table(["release", "entry", "time", number, f"{number} in all", "receipt"], rows)
