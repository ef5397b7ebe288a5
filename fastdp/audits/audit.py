"""``fd.audit``: the empirical epsilon of mechanisms, callables and training runs."""

from __future__ import annotations

from fastdp.audits.epsilon import epsilon
from fastdp.audits.one_run import OneRun, one_run
from fastdp.audits.pairs import search
from fastdp.audits.registry import registry
from fastdp.audits.result import EpsilonAudit, Witness

__all__ = ["EpsilonAudit", "OneRun", "Witness", "epsilon", "one_run", "registry", "search"]
