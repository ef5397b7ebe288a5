"""Which format a file has: by its first bytes, then by its ending."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from fastdp.errors import ParameterError
from fastdp.validation import unknown

Kind = Literal["parquet", "arrow", "arrows", "csv"]
"""Parquet, an Arrow file, an Arrow stream, comma-separated text."""
Compression = Literal["gzip", "zstd"]
FORMATS = ("parquet", "arrow", "csv")
"""What a person may ask for; whether an Arrow output is a file or a stream follows from where it goes."""
SNIFFED = 8
"""First bytes that tell a format."""

_STARTS: tuple[tuple[bytes, Kind], ...] = (
    (b"PAR1", "parquet"), (b"PARE", "parquet"), (b"ARROW1", "arrow"), (b"\xff\xff\xff\xff", "arrows"),
)  # fmt: skip
_ENDINGS: dict[str, Kind] = {
    ".parquet": "parquet", ".pq": "parquet",
    ".arrow": "arrow", ".feather": "arrow", ".ipc": "arrow", ".arrows": "arrows",
    ".csv": "csv",
}  # fmt: skip
COMPRESSED: dict[str, Compression] = {".gz": "gzip", ".zst": "zstd"}
_COMPRESSED_STARTS: tuple[tuple[bytes, Compression], ...] = ((b"\x1f\x8b", "gzip"), (b"\x28\xb5\x2f\xfd", "zstd"))


def compression_of(start: bytes) -> Compression | None:
    """The compression of a stream that begins with these bytes."""
    return next((kind for magic, kind in _COMPRESSED_STARTS if start.startswith(magic)), None)


def check_format(owner: str, option: str, given: str | None) -> None:
    """Refuse a word that is no format."""
    if given is not None and given not in FORMATS:
        raise ParameterError(f"{owner}: {option}: {unknown('format', given, FORMATS)}")


def input_kind(owner: str, start: bytes, path: Path | None, given: str | None) -> Kind:
    """What was asked for, else what the first bytes say, else the ending; a stream of text without either is CSV."""
    check_format(owner, "input_format", given)
    by_content = _kind_of(start)
    if given in {"parquet", "csv"}:
        return given  # type: ignore[return-value]
    if given == "arrow":
        return "arrow" if by_content == "arrow" else "arrows"
    if by_content is not None:
        return by_content
    if path is None:
        return "csv"
    if _ending(path) in _ENDINGS:
        return _ENDINGS[_ending(path)]
    raise ParameterError(
        f"{owner}: neither its content nor its ending tells the format of {str(path)!r}; "
        f"say which it is (input_format, --from): {', '.join(FORMATS)}"
    )


def _kind_of(start: bytes) -> Kind | None:
    for magic, kind in _STARTS:
        if start.startswith(magic):
            return kind
    return None


def _ending(path: Path) -> str:
    """The ending that tells the format, which is before that of a compression."""
    ending = path.suffix.lower()
    return Path(path.stem).suffix.lower() if ending in COMPRESSED else ending


def is_text(path: Path) -> bool:
    """Whether the ending is that of CSV, compressed or not."""
    return _ENDINGS.get(_ending(path)) == "csv"


def output_compression(owner: str, path: Path | None, kind: str) -> Compression | None:
    """The compression of an output by its ending; only text is compressed as a whole."""
    compression = None if path is None else COMPRESSED.get(path.suffix.lower())
    if compression is not None and kind != "csv":
        assert path is not None
        raise ParameterError(
            f"{owner}: only CSV is compressed as a whole; leave out {path.suffix!r}, or name the output "
            f".csv{path.suffix}"
        )
    return compression


def output_kind(owner: str, path: Path | None, given: str | None, source: Kind | None) -> Kind:
    """What was asked for, else by the ending; standard output (no path) is CSV for CSV, else an Arrow stream."""
    check_format(owner, "output_format", given)
    if path is None:
        if given == "parquet":
            raise ParameterError(
                f"{owner}: Parquet cannot be written to standard output; name a file (-o), or choose arrow or csv "
                "(--to)"
            )
        return "csv" if (given or source) == "csv" else "arrows"
    ending = _ending(path)
    if given == "arrow":
        return "arrows" if ending == ".arrows" else "arrow"
    if given is not None:
        return given  # type: ignore[return-value]
    if ending and ending not in _ENDINGS:
        raise ParameterError(
            f"{owner}: the ending {ending!r} of the output tells no format; use one of {', '.join(_ENDINGS)}, "
            ".csv.gz, .csv.zst, "
            "or say which format to write (output_format, --to)"
        )
    if path.suffix.lower() in COMPRESSED and not ending:
        return "csv"
    return _ENDINGS.get(ending, "parquet")
