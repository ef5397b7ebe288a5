"""Client requests to callgrind: how a Python program running under it tells it what to count.

A request is a short sequence of instructions that does nothing on a real CPU and that valgrind knows. It is written
here as machine code for x86-64, since there is no other way to say it from Python.
"""

from __future__ import annotations

import ctypes
import mmap
import platform

_CODE = bytes.fromhex(
    "4889f8"  # mov rax, rdi: the request and its arguments
    "31d2"  # xor edx, edx: the answer where nobody listens
    "53"  # push rbx
    "48c1c703 48c1c70d 48c1c73d 48c1c733"  # rol rdi by 3, 13, 61 and 51: 128 in all
    "4887db"  # xchg rbx, rbx: here valgrind looks
    "5b"  # pop rbx
    "4889d0"  # mov rax, rdx
    "c3"  # ret
)
_TOOL = (ord("C") << 24) + (ord("T") << 16)
_RUNNING, _ZERO, _DUMP, _START, _STOP = 0x1001, _TOOL + 1, _TOOL + 3, _TOOL + 4, _TOOL + 5


class Callgrind:
    """The callgrind that this process runs under."""

    def __init__(self) -> None:
        if platform.machine() not in {"x86_64", "AMD64"}:
            raise OSError("requests to callgrind are written for x86-64 alone")
        self._memory = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        self._memory.write(_CODE)
        place = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        self._call = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p)(place)

    def _ask(self, request: int, argument: int = 0) -> int:
        words = (ctypes.c_uint64 * 6)(request, argument, 0, 0, 0, 0)
        return int(self._call(ctypes.addressof(words)))

    @property
    def running(self) -> bool:
        """Whether valgrind is there at all."""
        return self._ask(_RUNNING) > 0

    def start(self) -> None:
        """Count from now on; before this, programs run several times as fast."""
        self._ask(_START)

    def stop(self) -> None:
        self._ask(_STOP)

    def zero(self) -> None:
        """Forget what was counted."""
        self._ask(_ZERO)

    def dump(self, name: str) -> None:
        """Write what was counted to the next file, under a name."""
        text = ctypes.create_string_buffer(name.encode())
        self._ask(_DUMP, ctypes.addressof(text))
