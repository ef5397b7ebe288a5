"""Which drive a ledger lies on: locks of network drives do not hold, and two machines could spend one budget."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

from fastdp.errors import ParameterError

REFUSED = {
    "nfs", "nfs4", "cifs", "smb3", "smbfs", "ncpfs", "afs", "davfs", "fuse.sshfs", "fuse.davfs2", "fuse.rclone",
    "fuse.s3fs", "fuse.gcsfuse", "fuse.gvfsd-fuse",
}  # fmt: skip
DOUBTED = {"9p", "ceph", "fuse.ceph-fuse", "glusterfs", "fuse.glusterfs", "lustre", "gpfs", "beegfs", "virtiofs"}
"""Shared drives whose locks hold if whoever mounted them said so."""


def check_drive(path: Path) -> None:
    """Refuse a network drive, and warn of a shared one."""
    kind = drive_kind(path)
    if kind in REFUSED:
        raise ParameterError(
            f"ledger: {str(path)!r} is on a network drive ({kind}), where two machines can spend the same budget; keep "
            "the ledger on a local disk"
        )
    if kind in DOUBTED:
        warnings.warn(
            f"ledger: {str(path)!r} is on a shared drive ({kind}); if its locks do not hold between machines, two can "
            "spend the same budget",
            stacklevel=4,
        )


def drive_kind(path: Path, mounts: str | None = None) -> str:
    """The file system's type, as the operating system names it; empty where it does not tell."""
    whole = path.resolve()
    if sys.platform == "win32":
        return _windows_kind(whole)
    try:
        text = Path("/proc/self/mountinfo").read_text(encoding="utf-8") if mounts is None else mounts
    except OSError:
        return ""
    return _longest(whole, text)


def _longest(path: Path, mounts: str) -> str:
    """The type of the last mount whose point is the nearest above the path."""
    best, kind = -1, ""
    for line in mounts.splitlines():
        left, _, right = line.partition(" - ")
        fields = left.split()
        if len(fields) < 5 or not right:
            continue
        point = fields[4].encode().decode("unicode_escape")  # spaces are \\040
        if len(point) >= best and path.is_relative_to(point):
            best, kind = len(point), right.split()[0]
    return kind


def _windows_kind(path: Path) -> str:
    if str(path).startswith("\\\\"):
        return "cifs"
    import ctypes

    remote = 4
    kind = ctypes.windll.kernel32.GetDriveTypeW(os.path.splitdrive(path)[0] + "\\")  # type: ignore[attr-defined,unused-ignore]
    return "cifs" if kind == remote else ""
