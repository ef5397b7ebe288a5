"""The function that writes a group of the keystream: the same signature for every cipher, one body per module."""

from __future__ import annotations

from fastdp.kernels.jit import cgutils, ir


def declare_group(module: ir.Module, name: str, *, each: bool) -> tuple[ir.Function, ir.IRBuilder | None]:
    """``void (key*, counters*, plane, attempt, out*)``, and what builds its body; None where it has one already.

    ``attempt`` is a word for all blocks, or with ``each`` a pointer to one word per block. The function is large, and
    so never inlined.
    """
    word, index = ir.IntType(32), ir.IntType(64)
    pointer = word.as_pointer()
    shape = ir.FunctionType(ir.VoidType(), [pointer, index.as_pointer(), word, pointer if each else word, pointer])
    function = cgutils.get_or_insert_function(module, shape, f"{name}{'_each' if each else ''}")
    if function.blocks:
        return function, None
    function.linkage = "linkonce_odr"
    function.attributes.add("noinline")
    return function, ir.IRBuilder(function.append_basic_block())
