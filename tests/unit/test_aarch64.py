"""The trampoline for aarch64, on any machine: assembled, linked, and its stubs run by an emulator.

`make aarch64` installs what they need beyond an assembler: zig, compiler and C library of that machine, and unicorn,
its processor.
"""

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TRAMPOLINE = ROOT / "preload" / "trampoline"
STUBS = TRAMPOLINE / "stubs.aarch64.S"
TARGET = "aarch64-linux-gnu.2.28"  # as old a C library as Python's wheels allow


def spellings(call: str) -> set[str]:
    """A call's entries in Fortran's bindings: preload/trampoline/spellings.h."""
    return {
        *(f"mpi_{call}{end}" for end in ("", "_", "__", "_f08_")),
        f"MPI_{call.upper()}",
        f"ompi_{call}_f",
    }


def names_in(table: str, pattern: str) -> list[str]:
    return re.findall(pattern, (ROOT / "preload" / table).read_text(), re.MULTILINE)


WRAPPED = set(names_in("wrappers.def", r"^ECO_WRAP\w*\((\w+)"))
WRAPPED |= {name for call in names_in("fortran.def", r"^ECO_FORTRAN\w*\((\w+)") for name in spellings(call)}
FORTRAN = spellings("init") | spellings("init_thread")
NEEDS_ZIG = pytest.mark.skipif(
    importlib.util.find_spec("ziglang") is None, reason="no compiler for aarch64 here: run `make aarch64`"
)
ZIG = [sys.executable, "-m", "ziglang"]


def assembler() -> list[str] | None:
    """The first one found that makes objects for aarch64."""
    if shutil.which("aarch64-linux-gnu-gcc"):
        return ["aarch64-linux-gnu-gcc"]
    if importlib.util.find_spec("ziglang"):
        return [*ZIG, "cc", f"--target={TARGET}"]
    clang = next(filter(None, map(shutil.which, ("clang", *(f"clang-{n}" for n in range(30, 11, -1))))), None)
    return [clang, "--target=aarch64-linux-gnu"] if clang else None


def functions(path: Path, option: str) -> set[str]:
    """Global functions that an object defines."""
    table = subprocess.run(["readelf", "-W", option, path], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"FUNC\s+GLOBAL\s+DEFAULT\s+\d+\s+(\w+)", table))


def machine(path: Path) -> str:
    header = subprocess.run(["readelf", "-h", path], capture_output=True, text=True, check=True).stdout
    return re.findall(r"Machine:\s+(\S+)", header)[0]


def test_stubs_assemble(tmp_path: Path) -> None:
    command = assembler()
    if command is None:
        pytest.skip("no assembler for aarch64 here: run `make aarch64`")
    target = tmp_path / "stubs.o"
    subprocess.run([*command, f"-I{ROOT}", "-c", STUBS, "-o", target], check=True)
    assert machine(target) == "AArch64"
    assert functions(target, "--syms") == WRAPPED


@NEEDS_ZIG
def test_trampoline_links_and_needs_libc_alone(tmp_path: Path) -> None:
    if shutil.which("cmake") is None:
        pytest.skip("no cmake on PATH: it writes the table of ABIs")
    table = ["cmake", "-D", f"INTO={tmp_path}", "-P", ROOT / "cmake" / "EcoAbis.cmake"]
    subprocess.run(table, check=True)
    target = tmp_path / "libeco-preload.so"
    words = [*ZIG, "c++", f"--target={TARGET}", "-nostdlib++", "-shared", "-fPIC", "-O1", "-std=c++20", "-Wall",
             "-Werror", "-fvisibility=hidden", f"-I{ROOT}", f"-I{tmp_path}", *TRAMPOLINE.glob("*.cc"), STUBS,
             "-o", target]  # fmt: skip
    subprocess.run(words, check=True)
    assert machine(target) == "AArch64"
    exported = {name for name in functions(target, "--dyn-syms") if not name.startswith("_")}
    assert exported == {*WRAPPED, *FORTRAN, "eco_last_algorithm"}
    needed = subprocess.run(["readelf", "-d", target], capture_output=True, text=True, check=True).stdout
    libraries = set(re.findall(r"NEEDED.*\[(\w+)", needed))
    assert libraries <= {"libc", "libpthread", "libdl"}


#: What is not the stub's: it returns at once, and everything that a function may destroy is destroyed.
RESOLVER = """
.globl eco_trampoline_resolve
eco_trampoline_resolve:
  ret
.globl _start
_start:
  ret
"""


@NEEDS_ZIG
def test_stubs_keep_arguments_and_remember_their_targets(tmp_path: Path) -> None:
    pytest.importorskip("unicorn", reason="no emulator of aarch64 here: run `make aarch64`")
    pytest.importorskip("elftools", reason="no reader of ELF files here: run `make aarch64`")
    from elftools.elf.elffile import ELFFile
    from unicorn import UC_ARCH_ARM64, UC_HOOK_CODE, UC_MODE_ARM, Uc
    from unicorn import arm64_const as a64

    (tmp_path / "resolver.S").write_text(RESOLVER)
    program = tmp_path / "program"
    words = [*ZIG, "cc", f"--target={TARGET}", "-nostdlib", "-static", "-no-pie", f"-I{ROOT}", STUBS,
             tmp_path / "resolver.S", "-o", program]  # fmt: skip
    subprocess.run(words, check=True)
    with program.open("rb") as file:
        elf = ELFFile(file)
        segments = [(s["p_vaddr"], s.data()) for s in elf.iter_segments() if s["p_type"] == "PT_LOAD"]
        symbols = {s.name: s["st_value"] for s in elf.get_section_by_name(".symtab").iter_symbols()}

    page, stack, caller, target = 0x1000, 0x7000_0000, 0x6000_0000, 0x5000_0000
    processor = Uc(UC_ARCH_ARM64, UC_MODE_ARM)
    first = min(address for address, _ in segments) // page * page
    last = max(address + len(data) for address, data in segments)
    processor.mem_map(first, (last - first) // page * page + page)
    for address, data in segments:
        processor.mem_write(address, data)
    for address in (stack - page, stack, caller, target):
        processor.mem_map(address, page)
    registers = {f"x{n}": getattr(a64, f"UC_ARM64_REG_X{n}") for n in range(31)} | {"sp": a64.UC_ARM64_REG_SP}
    volatile = [registers[f"x{n}"] for n in range(19)]
    asked: list[str] = []

    def resolve(emulator: Uc, address: int, size: int, data: object) -> None:
        name = emulator.mem_read(emulator.reg_read(registers["x0"]), 64)
        asked.append(bytes(name).split(b"\0")[0].decode())
        assert emulator.reg_read(registers["sp"]) % 16 == 0
        for register in volatile:
            emulator.reg_write(register, 0xBAD)
        emulator.reg_write(registers["x0"], target)

    address = symbols["eco_trampoline_resolve"]
    processor.hook_add(UC_HOOK_CODE, resolve, begin=address, end=address)

    # Arguments, the place of a large result, what a function must keep, where it returns to, the stack.
    kept = {f"x{n}": 0x1111_0000 + n for n in (*range(9), *range(19, 30))} | {"x30": caller, "sp": stack}
    for name in WRAPPED:
        for called in (1, 2):
            for register, value in kept.items():
                processor.reg_write(registers[register], value)
            processor.emu_start(symbols[name], target, count=200)
            assert processor.reg_read(a64.UC_ARM64_REG_PC) == target, name
            found = {register: processor.reg_read(registers[register]) for register in kept}
            assert found == kept, name
            assert asked[-1] == name
            assert asked.count(name) == 1, f"{name} forgot its target before call {called}"
