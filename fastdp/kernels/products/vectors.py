"""Straight-line code on vectors of float64, written once over operators and compiled as parts of kernels.

LLVM leaves loops over ten rows in and ten rows out as they are, for it cannot tell that rows do not overlap. Here loads
and stores are whole vectors by themselves. Kernels pass addresses as integers, made by :func:`address`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from fastdp.kernels.jit import cgutils, intrinsic, ir, target_features, types

LANES = 8 if "avx512f" in target_features() else 4
"""Numbers in a vector: as many as let a butterfly of ten complex ones stay in registers, or nearly."""

VECTOR = 8 * LANES
"""Bytes of a vector."""


@functools.cache
def _index() -> ir.Type:
    return ir.IntType(64)


@functools.cache
def _number() -> ir.Type:
    return ir.DoubleType()


@functools.cache
def _lanes() -> ir.Type:
    return ir.VectorType(_number(), LANES)


class Lanes:
    """A vector of numbers in the function being written."""

    __slots__ = ("builder", "value")

    def __init__(self, builder: ir.IRBuilder, value: ir.Value) -> None:
        self.builder, self.value = builder, value

    def __add__(self, other: Lanes) -> Lanes:
        return Lanes(self.builder, self.builder.fadd(self.value, other.value))

    def __sub__(self, other: Lanes) -> Lanes:
        return Lanes(self.builder, self.builder.fsub(self.value, other.value))

    def __neg__(self) -> Lanes:
        return Lanes(self.builder, self.builder.fneg(self.value))

    def __mul__(self, other: Lanes | float) -> Lanes:
        return Lanes(self.builder, self.builder.fmul(self.value, _value(other)))

    def plus(self, a: Lanes, b: Lanes | float) -> Lanes:
        """This and a * b, rounded once where the machine can."""
        shape = ir.FunctionType(_lanes(), [_lanes()] * 3)
        function = cgutils.get_or_insert_function(self.builder.module, shape, f"llvm.fmuladd.v{LANES}f64")
        return Lanes(self.builder, self.builder.call(function, [a.value, _value(b), self.value]))

    def minus(self, a: Lanes, b: Lanes | float) -> Lanes:
        """This less a * b, rounded once where the machine can."""
        return self.plus(-a, b)

    def clipped(self) -> Lanes:
        """0 for what is below it or no number."""
        positive = self.builder.fcmp_ordered(">", self.value, _value(0.0))
        return Lanes(self.builder, self.builder.select(positive, self.value, _value(0.0)))

    def total(self) -> Lanes:
        """The sum of all, in each lane."""
        whole, size = self, LANES // 2
        while size:
            whole = whole + whole.mixed(whole, [k ^ size for k in range(LANES)])
            size //= 2
        return whole

    def mixed(self, other: Lanes, places: list[int]) -> Lanes:
        """The numbers at ``places`` of this followed by the other."""
        mask = ir.Constant(ir.VectorType(ir.IntType(32), LANES), places)
        return Lanes(self.builder, self.builder.shuffle_vector(self.value, other.value, mask))


def _value(number: Lanes | float) -> ir.Value:
    return number.value if isinstance(number, Lanes) else ir.Constant(_lanes(), [number] * LANES)


Pair = tuple[Lanes, Lanes | None]
"""Complex numbers: their real parts, and their imaginary ones, None where they are real."""


class Code:
    """A function being written; places are addresses in bytes."""

    def __init__(self, builder: ir.IRBuilder) -> None:
        self.builder = builder

    def integer(self, value: Any) -> ir.Value:
        return ir.Constant(_index(), value) if isinstance(value, int) else value

    def at(self, place: ir.Value, index: ir.Value | int, step: ir.Value | int) -> ir.Value:
        """The place so many steps further."""
        return self.builder.add(place, self.builder.mul(self.integer(index), self.integer(step)))

    def _pointer(self, place: ir.Value, offset: int, kind: ir.Type) -> ir.Value:
        place = self.builder.add(place, self.integer(offset)) if offset else place
        return self.builder.inttoptr(place, kind.as_pointer())

    def load(self, place: ir.Value, offset: int = 0) -> Lanes:
        return Lanes(self.builder, self.builder.load(self._pointer(place, offset, _lanes()), align=8))

    def store(self, lanes: Lanes, place: ir.Value, offset: int = 0) -> None:
        self.builder.store(lanes.value, self._pointer(place, offset, _lanes()), align=8)

    def read(self, place: ir.Value, *, real: bool) -> Pair:
        """A row of numbers: a vector of real parts, then one of imaginary parts where there are any."""
        return self.load(place), None if real else self.load(place, VECTOR)

    def write(self, pair: Pair, place: ir.Value, *, real: bool) -> None:
        """Write a row, or only its real parts."""
        self.store(pair[0], place)
        if not real:
            self.store(pair[1], place, VECTOR)

    def spread(self, place: ir.Value, offset: int = 0) -> Lanes:
        """One number in all lanes."""
        number = self.builder.load(self._pointer(place, offset, _number()), align=8)
        empty = ir.Constant(_lanes(), ir.Undefined)
        first = self.builder.insert_element(empty, number, ir.Constant(ir.IntType(32), 0))
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        return Lanes(self.builder, self.builder.shuffle_vector(first, empty, zeros))

    def copy_number(self, source: ir.Value, target: ir.Value) -> None:
        number = self.builder.load(self._pointer(source, 0, _number()), align=8)
        self.builder.store(number, self._pointer(target, 0, _number()), align=8)

    def add_number(self, source: ir.Value, target: ir.Value) -> None:
        number, goal = self._pointer(source, 0, _number()), self._pointer(target, 0, _number())
        self.builder.store(self.builder.fadd(self.builder.load(goal), self.builder.load(number)), goal)

    def words(self, place: ir.Value, index: ir.Value, count: int) -> list[ir.Value]:
        """A row of so many integers."""
        first = self._pointer(self.at(place, index, 8 * count), 0, _index())
        return [self.builder.load(self.builder.gep(first, [self.integer(k)]), align=8) for k in range(count)]

    @contextmanager
    def loop(self, count: ir.Value) -> Iterator[ir.Value]:
        with cgutils.for_range(self.builder, count) as loop:
            yield loop.index

    def constant(self, number: float) -> Lanes:
        return Lanes(self.builder, _value(number))

    def variable(self, start: Lanes | float = 0.0) -> ir.Value:
        """A vector that loops change: see :meth:`get` and :meth:`set`."""
        return cgutils.alloca_once_value(self.builder, _value(start))

    def get(self, variable: ir.Value) -> Lanes:
        return Lanes(self.builder, self.builder.load(variable))

    def set(self, variable: ir.Value, lanes: Lanes) -> None:
        self.builder.store(lanes.value, variable)


class Routine:
    """A function of integers, its body written by ``write(code, *integers)``; once in a module and never inlined."""

    def __init__(self, name: str, write: Callable[..., None]) -> None:
        self._name, self._write = f"fastdp_{name}_{LANES}", write

    def call(self, builder: ir.IRBuilder, *values: ir.Value) -> None:
        """Call it from a function being written."""
        shape = ir.FunctionType(ir.VoidType(), [_index()] * len(values))
        function = cgutils.get_or_insert_function(builder.module, shape, self._name)
        if not function.blocks:
            function.linkage = "linkonce_odr"
            function.attributes.add("noinline")
            inside = ir.IRBuilder(function.append_basic_block())
            self._write(Code(inside), *function.args)
            inside.ret_void()
        builder.call(function, values)


def vectorized(write: Callable[..., None]) -> Any:
    """The routine with this body, as kernels call it."""
    routine = Routine(write.__name__, write)

    @intrinsic
    def call(_context: Any, *integers: Any) -> Any:
        def generate(context: Any, builder: ir.IRBuilder, _signature: Any, arguments: Any) -> Any:
            routine.call(builder, *cgutils.unpack_tuple(builder, arguments[0]))
            return context.get_dummy_value()

        return types.void(types.StarArgTuple((types.int64,) * len(integers))), generate

    return call


@intrinsic
def address(_context: Any, array: Any) -> Any:
    """Where the data of an array are."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        return builder.ptrtoint(data, _index())

    return types.int64(array), generate
