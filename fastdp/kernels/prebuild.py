"""``python -m fastdp.kernels.prebuild FOLDER [LEVEL...]``: machine code with a C interface, for ``kernels.native``.

Each level is compiled in a process of its own, for a CPU that need not be this one: nothing is run. What is exported
stands in ``signatures.json``, which ``python -m tests.cli.cold_kernels --record`` writes from what ``fastdp warmup``
compiles. All functions are linked into one module, everything but the entries made internal, optimized once, and
linked by the C compiler. The header ``fastdp.h`` says how to call them.
"""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from fastdp.kernels.cache import source_digest
from fastdp.kernels.native import LEVELS, SWITCH, cpu_flags, levels_of

SIGNATURES = Path(__file__).with_name("signatures.json")
_V3 = (
    "64bit avx avx2 bmi bmi2 cmov crc32 cx16 cx8 f16c fma fxsr lzcnt mmx movbe popcnt sahf sse sse2 sse3 sse4.1 sse4.2"
    " ssse3 xsave"
).split()
_V4 = [*_V3, "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", "evex512"]
_VAES = [
    *_V4, "aes", "pclmul", "vaes", "vpclmulqdq", "gfni", "sha", "avx512vbmi", "avx512vbmi2", "avx512ifma", "avx512vnni",
    "avx512bitalg", "avx512vpopcntdq",
]  # fmt: skip
_NOT_INTEL = [
    "sse4a", "clzero", "mwaitx", "rdpru", "wbnoinvd", "avx512bf16", "pku", "shstk", "invpcid", "rdpid", "prfchw",
    "clwb", "clflushopt", "xsavec", "xsaveopt", "xsaves", "adx", "rdrnd", "rdseed", "fsgsbase",
]  # fmt: skip
TARGETS = {
    # tuned as Zen 4, which has no reason to avoid wide vectors: named x86-64-v4, k-RR is a fifth slower
    "x86-64-v4-vaes": ("znver4", _VAES, _NOT_INTEL),
    "x86-64-v4": ("x86-64-v4", _V4, []),
    "x86-64-v3": ("x86-64-v3", _V3, []),
}
KNOWN_SYMBOLS = frozenset(
    "sqrt exp exp2 log log2 log1p expm1 pow sin cos tan floor ceil round rint trunc fma fmin fmax ldexp frexp fabs"
    " erf erfc lgamma tgamma atan2 atan asin acos hypot sinh cosh tanh memcpy memset memmove fmod nearbyint log10 cbrt"
    " sqrtf expf logf powf".split()
)
"""What a library may need of the C library; anything else would be Python's."""


def read_type(described: Any) -> Any:
    """The type that an entry of the list of signatures describes."""
    from numba.core import types

    if isinstance(described, str):
        return getattr(types, "boolean" if described == "bool" else described)
    if isinstance(described, dict):
        home, name = described["name"].split(":")
        made = getattr(importlib.import_module(home), name) if home != "builtins" else None
        return types.BaseTuple.from_types(tuple(map(read_type, described["fields"])), made)
    dtype, axes, writeable = described
    return types.Array(read_type(dtype), axes, "C", readonly=not writeable)


def describe_type(kind: Any) -> Any:
    """The entry for a type; None for one that no prebuilt kernel takes."""
    from numba.core import types

    if isinstance(kind, types.Array):
        return [str(kind.dtype), kind.ndim, kind.mutable] if kind.layout == "C" and kind.aligned else None
    if isinstance(kind, types.BaseTuple):
        fields = [describe_type(field) for field in kind]
        made = getattr(kind, "instance_class", tuple)
        return None if None in fields else {"name": f"{made.__module__}:{made.__name__}", "fields": fields}
    if isinstance(kind, types.Literal):
        return None
    return str(kind) if isinstance(kind, types.Integer | types.Float | types.Boolean) else None


def _unpack(context: Any, builder: Any, kind: Any, words: Any, at: int) -> tuple[Any, int]:
    """An argument from its words, and where the next one starts."""
    from llvmlite import ir
    from numba.core import cgutils, types

    word = ir.IntType(64)

    def load(place: int) -> Any:
        return builder.load(builder.gep(words, [word(place)]))

    if isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder)
        element = context.get_data_type(kind.dtype)
        shape = [load(at + 1 + axis) for axis in range(kind.ndim)]
        size = word(context.get_abi_sizeof(element))
        strides, step = [], size
        for length in reversed(shape):
            strides.insert(0, step)
            step = builder.mul(step, length)
        count = word(1)
        for length in shape:
            count = builder.mul(count, length)
        array.data, array.nitems, array.itemsize = builder.inttoptr(load(at), element.as_pointer()), count, size
        array.shape, array.strides = cgutils.pack_array(builder, shape), cgutils.pack_array(builder, strides)
        array.meminfo = cgutils.get_null_value(array.meminfo.type)
        array.parent = cgutils.get_null_value(array.parent.type)
        return array._getvalue(), at + 1 + kind.ndim  # noqa: SLF001
    if isinstance(kind, types.BaseTuple):
        inside, values, place = builder.inttoptr(load(at), word.as_pointer()), [], 0
        for field in kind:
            value, place = _unpack(context, builder, field, inside, place)
            values.append(value)
        return context.make_tuple(builder, kind, values), at + 1
    value, form = load(at), context.get_value_type(kind)
    if isinstance(kind, types.Float):
        value = builder.bitcast(value if kind.bitwidth == 64 else builder.trunc(value, ir.IntType(32)), form)
    elif form.width < 64:
        value = builder.trunc(value, form)
    return value, at + 1


def _add_entry(context: Any, library: Any, symbol: str, compiled: Any) -> None:
    """A function of one pointer to words that calls a compiled kernel."""
    from llvmlite import ir
    from numba.core import types

    word = ir.IntType(64)
    module = library.create_ir_module(symbol)
    function = ir.Function(module, ir.FunctionType(word, [word.as_pointer()]), symbol)
    builder = ir.IRBuilder(function.append_basic_block())
    arguments, at = [], 0
    for kind in compiled.signature.args:
        value, at = _unpack(context, builder, kind, function.args[0], at)
        arguments.append(value)
    described = compiled.fndesc
    inner = context.declare_function(module, described)
    _, result = context.call_conv.call_function(builder, inner, described.restype, described.argtypes, arguments)
    kind = described.restype
    if kind == types.none:
        result = word(0)
    elif isinstance(kind, types.Float):
        result = builder.bitcast(result, word)
    elif result.type.width < 64:
        result = (builder.sext if getattr(kind, "signed", False) else builder.zext)(result, word)
    builder.ret(result)
    library.add_ir_module(module)
    library.add_linking_library(compiled.library)


def _compile(level: str, folder: Path, only: list[str]) -> None:
    """Compile all signatures, or those of some kernels, for the level that this process was started for."""
    from fastdp.kernels import compiler

    compiler.kernel = compiler.part  # nothing is made machine code by itself
    import llvmlite.binding as llvm
    from numba.core import types
    from numba.core.registry import cpu_target

    context = cpu_target.target_context
    codegen = context.codegen()
    library, entries = codegen.create_library("fastdp"), {}
    for number, entry in enumerate(json.loads(SIGNATURES.read_text())):
        home, _, name = entry["kernel"].rpartition(".")
        if only and name not in only:
            continue
        dispatcher = getattr(importlib.import_module(home), name)
        kinds = tuple(map(read_type, entry["arguments"]))
        dispatcher.compile(kinds)
        compiled = dispatcher.overloads[kinds]
        returned = compiled.fndesc.restype
        if isinstance(returned, types.BaseTuple) or (isinstance(returned, types.Float) and returned.bitwidth != 64):
            continue
        symbol = f"fastdp_{home.rpartition('.')[2]}_{name.strip('_')}_{number}"
        _add_entry(context, library, symbol, compiled)
        entries[symbol] = entry | {"returns": str(returned)}
    whole = library._final_module  # noqa: SLF001  (numba offers no way to a shared library that others can load)
    for linked in dict.fromkeys(library._linking_libraries):  # noqa: SLF001
        whole.link_in(linked._get_module_for_linking(), preserve=True)  # noqa: SLF001
    for function in whole.functions:
        if not function.is_declaration:
            function.linkage = "external" if function.name in entries else "internal"
    for variable in whole.global_variables:
        if not variable.is_declaration:
            variable.linkage = "internal"
    passes, builder = codegen._module_pass_manager()  # noqa: SLF001
    passes.run(whole, builder)
    needed = {f.name for f in whole.functions if f.is_declaration and not f.name.startswith("llvm.")}
    if not needed <= KNOWN_SYMBOLS:
        raise RuntimeError(f"prebuilt kernels would need {sorted(needed - KNOWN_SYMBOLS)}")
    machine = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(
        cpu=codegen._get_host_cpu_name(),  # noqa: SLF001
        features=codegen._tm_features,  # noqa: SLF001
        opt=3,
        reloc="pic",
        codemodel="default",
    )
    made, built = folder / f"{level}.o", folder / f"{level}.so"
    made.write_bytes(machine.emit_object(whole))
    link = [find_linker(), "-shared", "-Wl,--gc-sections", "-Wl,-s", "-o", str(built), str(made), "-lm"]
    subprocess.run(link, check=True)  # noqa: S603
    made.unlink()
    manifest = {"digest": source_digest(), "level": level, "features": TARGETS[level][1], "kernels": entries}
    (folder / f"{level}.json").write_text(json.dumps(manifest, separators=(",", ":")))


def find_linker() -> str:
    """The C compiler that links a library."""
    found = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if found is None:
        raise RuntimeError("prebuilt kernels need a C compiler to be linked (cc, gcc or clang; or name one in CC)")
    return found


def build(folder: Path, levels: list[str], only: list[str] | None = None) -> None:
    """Compile the levels, each in a process of its own; the folder gets all of them or is left as it was."""
    find_linker()
    with tempfile.TemporaryDirectory() as made:
        running = []
        for level in levels:
            name, has, lacks = TARGETS[level]
            features = ",".join([*(f"+{one}" for one in has), *(f"-{one}" for one in lacks)])
            environment = {one: value for one, value in os.environ.items() if not one.startswith("NUMBA_")} | {
                SWITCH: "0", "NUMBA_CPU_NAME": name, "NUMBA_CPU_FEATURES": features, "FASTDP_CACHE_DIR": os.devnull,
                "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), *filter(None, sys.path)]),
            }  # fmt: skip
            command = [sys.executable, "-m", "fastdp.kernels.prebuild", "--level", level, made, *(only or [])]
            running.append(subprocess.Popen(command, env=environment))  # noqa: S603
        codes = [one.wait() for one in running]
        if any(codes):
            raise RuntimeError("prebuilt kernels could not be compiled")
        folder.mkdir(parents=True, exist_ok=True)
        for file in Path(made).iterdir():
            shutil.copy(file, folder / file.name)


def main(arguments: list[str]) -> None:
    """Build the levels that are named, or the best one for this CPU."""
    if arguments[0] == "--level":
        _compile(arguments[1], Path(arguments[2]), arguments[3:])
    elif set(arguments[1:]) - set(LEVELS):
        sys.exit(f"prebuilt kernels: levels are {', '.join(LEVELS)}; got {', '.join(arguments[1:])}")
    else:
        build(Path(arguments[0]), arguments[1:] or levels_of(cpu_flags())[:1] or list(LEVELS))


if __name__ == "__main__":
    main(sys.argv[1:])
