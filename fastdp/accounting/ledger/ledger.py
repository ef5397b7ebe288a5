"""The ledger of a data set's budget: one SQLite file, append-only, hash-chained, spent before anything is drawn.

One transaction checks and appends, so that no two processes spend the same budget. A rollback journal and full syncs:
the file is whole after a crash, and a copy of it is a copy of all of it. What it cannot see alone is its own tail cut
off, or an older copy put in its place; whoever keeps a receipt can: it carries the head of the chain.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastdp import validation
from fastdp.accounting.ledger.accounts import Accounts
from fastdp.accounting.ledger.chain import canonical, check_chain, link
from fastdp.accounting.ledger.costs import NANO, Cost, read_guarantees, read_losses
from fastdp.accounting.ledger.drives import check_drive
from fastdp.accounting.ledger.entries import Entry, Spending
from fastdp.accounting.ledger.events import describe
from fastdp.accounting.ledger.filters import NUMBER, POLICIES, Policy, Total, allows, charge, digits
from fastdp.accounting.ledger.limits import Limit
from fastdp.accounting.ledger.reading import check_neighbours, circumstances, read_limit, read_limits
from fastdp.accounting.ledger.store import COLUMNS, make_store, open_store
from fastdp.display.html import to_html
from fastdp.errors import BudgetExceededError, LedgerCorruptError, ParameterError
from fastdp.losses import GaussianLoss
from fastdp.privacy import Privacy

if TYPE_CHECKING:
    from fastdp.accounting.curve import PrivacyCurve
    from fastdp.accounting.ledger.hindsight import Make

NOTHING = Total(0, 0)


class Ledger:
    """The budget of one data set, which every release about the same people must be paid from.

    ``Ledger(path)`` opens one that exists; :meth:`create` makes one and never replaces a file. The policy says what is
    added up: ``"pure"`` sums epsilon and delta, ``"zcdp"`` rho, ``"approx"`` rho and delta within a limit of epsilon
    and delta, ``"gaussian"`` mu squared and delta within such a limit. All may be relied on when releases are chosen
    after seeing earlier ones. Amounts are integers, rounded up.

    Parameters
    ----------
    path
        The path of a ledger that exists.

    >>> import fastdp as fd, tempfile
    >>> path = tempfile.mkdtemp() + "/people.ledger"
    >>> ledger = Ledger.create(path, epsilon=1.0, unit="person", name="people 2026")
    >>> with ledger.spend(fd.Laplace(epsilon=0.4, sensitivity=1.0), records=1, name="mean income"):
    ...     pass  # draw, release
    >>> ledger.remaining.words("pure")
    'epsilon 0.6'
    >>> ledger.spend(fd.Laplace(epsilon=0.7, sensitivity=1.0), records=1)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    fastdp.errors.BudgetExceededError: ledger: this release costs epsilon 0.70 but 0.60 of 1.00 remains; nothing was ...
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        if not self.path.is_file():
            raise ParameterError(
                f"ledger: there is no ledger {str(self.path)!r}; make one by Ledger.create or fastdp budget create"
            )
        first = self._read_one("ORDER BY seq LIMIT 1")
        self.id: str = first.body["id"]
        self.name: str = first.body["name"]
        self.unit: str = first.body["unit"]
        self.policy: Policy = first.body["policy"]

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        *,
        epsilon: float | None = None,
        rho: float | None = None,
        delta: float = 0.0,
        unit: str = "record",
        name: str = "",
        policy: str = "pure",
        metric: Mapping[str, float] | None = None,
    ) -> Ledger:
        """A new ledger with a limit: rho (and delta) for ``policy="zcdp"``, epsilon (and delta) for the others.

        The limit is rounded down. ``unit`` is whom the budget protects, ``name`` the data set. ``metric`` gives columns
        whose guarantee is by distance an account of their own: the epsilon per unit of distance that may be spent.
        """
        limit = Limit.read(validation.one_of("ledger", "policy", policy, POLICIES), epsilon, rho, delta)
        check_drive(Path(path))
        body = {
            "id": secrets.token_hex(16), "name": name, "unit": unit, "policy": policy, "amount": limit.total.amount,
            "delta": limit.total.delta, "stated": limit.stated, "metric": Accounts.read_limits(metric or {}),
            **circumstances(),
        }  # fmt: skip
        make_store(Path(path), canonical(body))
        return cls(path)

    def _read_one(self, clause: str) -> Entry:
        with open_store(self.path) as found:
            row = found.execute(f"SELECT {COLUMNS} FROM entries {clause}").fetchone()  # noqa: S608 - our own clauses
        if row is None:
            raise LedgerCorruptError(f"ledger: {str(self.path)!r} has no entries")
        return Entry.of(row)

    def append(self, kind: str, body: dict[str, Any], added: Total = NOTHING) -> Entry:
        """One transaction: the total is read, judged and written before another process sees it."""
        check_drive(self.path)
        with open_store(self.path) as found:
            found.execute("BEGIN IMMEDIATE")
            try:
                last = found.execute(f"SELECT {COLUMNS} FROM entries ORDER BY seq DESC LIMIT 1").fetchone()  # noqa: S608
                spent = Total(last[5], last[6])
                if kind == "spend":
                    body = self._judge(found, body, spent, added)
                total = spent + added
                text = canonical({**body, **circumstances()})
                row = (last[0] + 1, kind, text, added.amount, added.delta, total.amount, total.delta)
                head = link(last[7], row)
                found.execute("INSERT INTO entries VALUES(?, ?, ?, ?, ?, ?, ?, ?)", (*row, head))
                found.execute("COMMIT")
            except BaseException:
                if found.in_transaction:
                    found.execute("ROLLBACK")
                raise
        return Entry.of((*row, head))

    def _judge(self, found: sqlite3.Connection, body: dict[str, Any], spent: Total, added: Total) -> dict[str, Any]:
        """Refuse a release that is beyond a limit; what it says, with the accounts after it."""
        limit = read_limit(found)
        if added != NOTHING:
            check_neighbours(found, body["event"]["neighbours"])
            if not allows(spent, added, limit):
                raise BudgetExceededError(self._refusal(added, spent, limit))
        if not body["metric"]:
            return body
        return {**body, "accounts": Accounts.of(found).spend(body["metric"])}

    def _refusal(self, added: Total, spent: Total, limit: Total) -> str:
        left = limit - spent
        parts = []
        if added.amount > left.amount:
            cost, rest, most = (digits(total.amount, NANO, 2) for total in (added, left, limit))
            parts.append(f"{NUMBER[self.policy]} {cost} but {rest} of {most} remains")
        if added.delta > left.delta:
            parts.append(
                f"delta {added.delta / 1e18:.3g} but {left.delta / 1e18:.3g} of {limit.delta / 1e18:.3g} remains"
            )
        about = f" (the limit is {self.stated})" if self.policy in ("approx", "gaussian") else ""
        return f"ledger: this release costs {' and '.join(parts)}{about}; nothing was released"

    def spend(
        self, what: Any, *, name: str = "", records: int | None = None, times: int = 1, once: Any = None
    ) -> Spending:
        """Pay for a release before it is drawn: a mechanism, a plan, a receipt or a `Privacy`.

        It is committed when this returns, and never comes back. Use it as ``with ledger.spend(m, name=...) as paid:``
        and ``paid.settle(...)`` with what was released. ``records`` is how many records one unit of the budget, such as
        a person, has in the data at the most; it must be said where the guarantee is for one record and the budget is
        not. ``times`` is how often the mechanism is used. ``once`` is stored with the entry: what tells a redo that is
        identical to the byte from a new release. All releases of a ledger have the neighbours of its first one.
        """
        privacy, metric = self._read(what, records, times)
        added = self._charge(what, privacy, records, times)
        event = describe(what, privacy, times=times, records=records)
        body = {"name": str(name), "event": event, "metric": metric, "once": once}
        return Spending(self, self.append("spend", body, added))

    def cost(self, what: Any, *, records: int | None = None, times: int = 1) -> Total:
        """What a release would be charged; nothing is spent."""
        privacy, _ = self._read(what, records, times)
        return self._charge(what, privacy, records, times)

    def _charge(self, what: Any, privacy: Privacy | None, records: int | None, times: int) -> Total:
        if privacy is None:
            return NOTHING
        cost = Cost.of(privacy)
        if self.policy == "gaussian":
            losses = read_losses(what)
            if losses and all(isinstance(loss, GaussianLoss) for loss in losses):
                cost = cost.with_gaussians(losses, records or 1)
        return charge(self.policy, cost.times(times), self.limit)

    def check(self, what: Any, *, records: int | None = None, times: int = 1) -> Total:
        """What a release would be charged; refused as :meth:`spend` would refuse it. Nothing is spent."""
        added, spent, limit = self.cost(what, records=records, times=times), self.spent, self.limit
        if not allows(spent, added, limit):
            raise BudgetExceededError(self._refusal(added, spent, limit))
        metric = self._read(what, records, times)[1]
        if metric:
            self.accounts.spend(metric)
        return added

    def _read(self, what: Any, records: int | None, times: int) -> tuple[Privacy | None, dict[str, Any]]:
        """The guarantee for one unit of the budget, and the charges of accounts by distance."""
        privacy, by_distance = read_guarantees("ledger", what)
        times = validation.positive_integer("ledger", "times", times)
        whole = None if privacy is None else self._for_unit(privacy, records)
        return whole, Accounts.charges(by_distance, times * (records or 1))

    def _for_unit(self, privacy: Privacy, records: int | None) -> Privacy:
        """The guarantee for one unit of the budget."""
        if privacy.unit.startswith("distance") or privacy.unit[:1].isdigit():
            raise ParameterError(f"ledger: a guarantee by distance ({privacy.unit}) has no place in a sum of epsilons")
        if records is not None:
            return replace(privacy.group(validation.positive_integer("ledger", "records", records)), unit=self.unit)
        if privacy.unit != self.unit and not {privacy.unit, self.unit} <= {"record", "report"}:
            raise ParameterError(
                f"ledger: the guarantee is for one {privacy.unit}, the budget for one {self.unit}; say how many "
                f"of them a {self.unit} has in the data at the most: records=..."
            )
        return privacy

    def raise_limit(
        self, *, because: str, epsilon: float | None = None, rho: float | None = None, delta: float | None = None
    ) -> Entry:
        """A higher limit, with the reason; it stays visible as an entry of its own."""
        if not because or not isinstance(because, str):
            raise ParameterError("ledger: say why the limit is raised: because=...")
        if self.policy in ("approx", "gaussian") and delta is None:
            raise ParameterError(f"ledger: policy {self.policy!r} has a limit of epsilon and delta; give both")
        old = self.limit
        kept = old.delta / 1e18 if delta is None else delta
        new = Limit.read(self.policy, epsilon, rho, kept)
        total = new.total if delta is not None else Total(new.total.amount, old.delta)
        if not old.within(total) or old == total:
            raise ParameterError(f"ledger: the new limit must be above {self.stated}")
        return self.append(
            "raise", {"amount": total.amount, "delta": total.delta, "stated": new.stated, "because": because}
        )

    @property
    def stamp(self) -> dict[str, Any]:
        """How receipts name this ledger: its id and its data set."""
        return {"id": self.id, "name": self.name}

    @property
    def limit(self) -> Total:
        """What may be spent in all, in the sums that the policy compares."""
        with open_store(self.path) as found:
            return read_limit(found)

    @property
    def stated(self) -> str:
        """The limit as it was given."""
        with open_store(self.path) as found:
            body = read_limits(found)[-1]
        return str(body.get("stated") or self.limit.words(self.policy))

    @property
    def accounts(self) -> Accounts:
        """The accounts of columns whose guarantee is by distance."""
        with open_store(self.path) as found:
            return Accounts.of(found)

    @property
    def spent(self) -> Total:
        """What was spent."""
        return self._read_one("ORDER BY seq DESC LIMIT 1").spent

    @property
    def remaining(self) -> Total:
        """What may still be spent."""
        return self.limit - self.spent

    @property
    def head(self) -> str:
        """The hash that the next entry builds on."""
        return self._read_one("ORDER BY seq DESC LIMIT 1").head

    def entries(self) -> list[Entry]:
        """All entries, the oldest first."""
        with open_store(self.path) as found:
            return [Entry.of(row) for row in found.execute(f"SELECT {COLUMNS} FROM entries ORDER BY seq")]  # noqa: S608

    def curve(self, make: Make | None = None) -> PrivacyCurve:
        """The privacy curve of everything spent, if all of it had been fixed beforehand.

        Tighter than the sums, and no rule to stop by: releases that are chosen after seeing earlier ones are only
        guaranteed by the policy's sums.

        Parameters
        ----------
        make
            Makes a mechanism from its description, ``fd.Mechanism.from_dict``; without it every release counts as the
            worst that its stated guarantee allows.
        """
        from fastdp.accounting.ledger.hindsight import curve_in_hindsight

        return curve_in_hindsight(self.entries(), self.unit, make)

    def verify(self, stamps: Iterable[Mapping[str, Any]] | None = None) -> int:
        """Check every entry against the chain, and receipts' stamps against the entries; the number of entries.

        A stamp that the ledger does not hold, or holds otherwise, is an older copy, a ledger whose tail was cut off, or
        another ledger: a :class:`LedgerCorruptError`, as is any entry that was changed.
        """
        with open_store(self.path) as found:
            rows = found.execute(f"SELECT {COLUMNS} FROM entries ORDER BY seq").fetchall()  # noqa: S608
            if found.execute("PRAGMA integrity_check").fetchone()[0] != "ok":
                raise LedgerCorruptError(f"ledger: pages of {str(self.path)!r} are damaged")
        changed = check_chain(rows) or Accounts.check(rows)
        if changed:
            raise LedgerCorruptError(f"ledger: entry {changed} of {str(self.path)!r} was changed")
        for stamp in stamps or ():
            self.check_stamp(stamp)
        return len(rows)

    def check_stamp(self, stamp: Mapping[str, Any]) -> None:
        """Refuse a ledger that does not hold the entry of a receipt: a restored backup gives no budget back."""
        if stamp["id"] != self.id:
            raise LedgerCorruptError(f"ledger: the receipt is of ledger {stamp['id']}, this is {self.id}")
        number = int(stamp["entry"])
        with open_store(self.path) as found:
            row = found.execute("SELECT hash FROM entries WHERE seq = ?", (number,)).fetchone()
        if row is None or row[0].hex() != stamp["head"]:
            raise LedgerCorruptError(
                f"ledger: {str(self.path)!r} does not hold entry {number} as the receipt has it; it is an older "
                "copy, or was changed"
            )

    def _repr_html_(self) -> str:
        rows = [["limit", str(self.stated)], ["spent", self.spent.words(self.policy)], ["unit", self.unit]]
        return to_html(f"Ledger {self.path}", rows)

    def __repr__(self) -> str:
        return f"Ledger({str(self.path)!r}: {self.spent.words(self.policy)} of {self.stated} spent, per {self.unit})"
