"""Everything fastdp raises.

::

    FastDPError
    ├── ParameterError        (ValueError)  a parameter of a mechanism, plan or call
    ├── DomainError           (ValueError)  a value outside what was declared: NaN, infinity, unknown category
    ├── SchemaError           (TypeError)   a type, column or container that cannot be used
    ├── InputCorruptError     (ValueError)  an input that contradicts its own format
    ├── InputChangedError     (ValueError)  an input that was not the same in two attempts of one release
    ├── OutputExistsError     (OSError)     an output that would overwrite something
    ├── BudgetExceededError   (ValueError)  a release that the budget does not cover
    ├── LedgerLockedError     (OSError)     a ledger in use by another process
    ├── LedgerCorruptError    (ValueError)  a ledger that fails its own checks
    ├── UnsafeRngError        (TypeError)   a use of randomness that would repeat noise
    ├── NotIdentifiableError  (ValueError)  a channel that does not determine the distribution
    ├── NotAchievableError    (ValueError)  a requirement that no allowed output meets
    └── MissingPackageError   (ImportError) an optional package that is not installed

A message names the owner, the parameter, the rule, and the way out. It never holds a record's value.
"""


class FastDPError(Exception):
    """The root of all errors of fastdp."""


class ParameterError(FastDPError, ValueError):
    """A parameter breaks its rule."""


class DomainError(FastDPError, ValueError):
    """A record holds a value outside what was declared; the value is withheld."""


class SchemaError(FastDPError, TypeError):
    """A container, type or column cannot be used here."""


class InputCorruptError(FastDPError, ValueError):
    """An input contradicts its own format."""


class InputChangedError(FastDPError, ValueError):
    """An input was not the same in two attempts of one release."""


class OutputExistsError(FastDPError, OSError):
    """An output would overwrite something."""


class BudgetExceededError(FastDPError, ValueError):
    """A release costs more than what is left of the budget."""


class LedgerLockedError(FastDPError, OSError):
    """A ledger is in use by another process."""


class LedgerCorruptError(FastDPError, ValueError):
    """A ledger fails its own checks."""


class UnsafeRngError(FastDPError, TypeError):
    """A use of randomness would repeat noise."""


class NotIdentifiableError(FastDPError, ValueError):
    """A channel does not determine the distribution."""


class NotAchievableError(FastDPError, ValueError):
    """No allowed output meets a requirement."""


class MissingPackageError(FastDPError, ImportError):
    """An optional package is not installed."""


def shown(value: object) -> str:
    """A parameter as it was given, for a message: abbreviated where it is long."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
