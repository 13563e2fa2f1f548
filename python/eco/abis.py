"""MPI's binary interfaces (`data/abis.json`): what a library of each is called, and which backend serves it.

for abi in all_abis():
    print(abi.name, abi.backend, abi.sonames)
found = in_directory(Path("/opt/mpich/lib"))     # [mpich, mpi-abi]
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from pathlib import Path

from eco import paths
from eco.errors import CorruptFile, InvalidArgument


@dataclass(frozen=True)
class Abi:
    """One binary interface of MPI."""

    name: str  # "openmpi", "mpich", "mpi-abi"
    sonames: tuple[str, ...]
    bindings: tuple[str, ...]  # what programs in Fortran or C++ name instead
    exports: str  # a symbol that each of its libraries has
    serves: str  # for people: which libraries these are
    last_executed: tuple[str, ...]

    @property
    def backend(self) -> str:
        return f"libeco-{self.name}.so"

    @property
    def rank_program(self) -> str:
        return f"eco-rank-{self.name}"

    @property
    def fuzz_program(self) -> str:
        return f"eco-fuzz-{self.name}"


@functools.cache
def all_abis() -> tuple[Abi, ...]:
    """Every ABI that ECO has a backend for."""
    path = paths.data_dir() / "abis.json"
    try:
        document = json.loads(path.read_text())
        if document["schema"] != "eco.abis" or document["version"] != 2:
            raise CorruptFile(
                f"{path}: expected eco.abis version 2, got {document['schema']} {document['version']}"
            )
        return tuple(
            Abi(
                name=str(entry["name"]),
                sonames=tuple(entry["sonames"]),
                bindings=tuple(entry["bindings"]),
                exports=str(entry["exports"]),
                serves=str(entry["serves"]),
                last_executed=tuple(entry["last_executed"]),
            )
            for entry in document["abis"]
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CorruptFile(f"{path}: {error}; install ECO again") from error


def by_name(name: str) -> Abi:
    """The ABI of that name; throws InvalidArgument with the names that there are."""
    for abi in all_abis():
        if abi.name == name:
            return abi
    names = ", ".join(abi.name for abi in all_abis())
    raise InvalidArgument(f"--library {name}: expected one of {names}")


def in_directory(folder: Path) -> list[Abi]:
    """The ABIs of the MPI libraries that lie in a folder, by their names alone."""
    return [abi for abi in all_abis() if any((folder / soname).exists() for soname in abi.sonames)]
