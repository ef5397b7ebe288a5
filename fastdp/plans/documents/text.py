"""The text of a plan of any kind, from its file."""

from __future__ import annotations

from pathlib import Path

from fastdp.errors import ParameterError


def read_text(owner: str, path: str | Path) -> str:
    """The UTF-8 text of a TOML file, without a byte-order mark."""
    try:
        return Path(path).read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise ParameterError(f"{owner}: cannot read {str(path)!r}: {error.strerror}") from None
    except TypeError:
        raise ParameterError(f"{owner}: load takes the path of a TOML file, got {type(path).__name__}") from None
    except UnicodeDecodeError:
        raise ParameterError(f"{owner}: {str(path)!r} is not UTF-8 text") from None
