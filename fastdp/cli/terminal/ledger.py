"""What a ledger says of itself on a terminal, and as JSON."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fastdp.accounting.ledger import Ledger
    from fastdp.accounting.ledger.entries import Entry


WIDTH = 40
"""Characters of the bar."""


def bars(ledger: Ledger, path: str) -> list[str]:
    """What was spent and what is left, each with a bar: the budget, its delta, and the accounts by distance."""
    from fastdp.accounting.ledger.costs import NANO
    from fastdp.accounting.ledger.filters import digits

    spent, limit = ledger.spent, ledger.limit
    lines = [
        f"{ledger.name or path}: {spent.words(ledger.policy)} of {limit.words(ledger.policy)} per {ledger.unit} spent",
        f"  {_bar(spent.amount, limit.amount)}",
        f"  {ledger.remaining.words(ledger.policy)} remains",
    ]
    if ledger.policy in ("approx", "gaussian"):
        lines.append(f"  all of it together is {ledger.stated}")
    if spent.delta and limit.delta:
        lines.insert(2, f"  {_bar(spent.delta, limit.delta)} of delta")
    accounts = ledger.accounts
    for name, most in accounts.limits.items():
        used = accounts.spent.get(name, {"unit": "distance", "amount": 0})
        words = f"{digits(used['amount'], NANO)} of {digits(most, NANO)} per {used['unit']} spent"
        lines += [f"{name}: epsilon {words}", f"  {_bar(used['amount'], most)}"]
    return lines


def _bar(part: int, whole: int) -> str:
    from fastdp.cli.terminal.screen import draw_bar, draws_blocks

    share = part / whole
    return f"{draw_bar(share, 1.0, WIDTH, blocks=draws_blocks(sys.stdout))} {share:.1%}"


def unsettled(ledger: Ledger) -> list[int]:
    """Spends that no release was noted for; they count fully."""
    entries = ledger.entries()
    settled = {entry.body["of"] for entry in entries if entry.kind == "settle"}
    return [entry.number for entry in entries if entry.kind == "spend" and entry.number not in settled]


def describe(ledger: Ledger) -> dict[str, Any]:
    """A ledger's state, for JSON: amounts in billionths of epsilon or rho, delta in units of 1e-18."""
    return {
        "id": ledger.id, "name": ledger.name, "unit": ledger.unit, "policy": ledger.policy,
        **{
            name: {"amount": total.amount, "delta": total.delta, "words": total.words(ledger.policy)}
            for name, total in (("limit", ledger.limit), ("spent", ledger.spent), ("remaining", ledger.remaining))
        },
        "stated": ledger.stated, "head": ledger.head, "unsettled": unsettled(ledger),
        "metric": {
            name: {"limit": most, "spent": 0, **_renamed(ledger.accounts.spent.get(name))}
            for name, most in ledger.accounts.limits.items()
        },
    }  # fmt: skip


def _renamed(account: dict[str, Any] | None) -> dict[str, Any]:
    return {} if account is None else {"spent": account["amount"], "unit": account["unit"]}


def describe_entry(entry: Entry) -> dict[str, Any]:
    """An entry, for JSON: exact integers, and the text of its body."""
    return {
        "entry": entry.number, "kind": entry.kind, "body": entry.body, "spent": entry.spent.amount,
        "spent_delta": entry.spent.delta, "head": entry.head,
    }  # fmt: skip
