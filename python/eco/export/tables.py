"""What is known of other libraries' decision files, by version (`data/exports.json`).

target = target_of("openmpi", "Open MPI 5.0.11")        # Unsupported where nobody has looked at that version
for candidate in target.operations["broadcast"].candidates(8): print(candidate.label)
"""

from __future__ import annotations

import functools
import itertools
import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from eco import paths
from eco.errors import CorruptFile, InvalidArgument, Unsupported

#: How long `ucc_info -v` and the like may take.
ANSWER_TIMEOUT_S = 30.0

#: What a group of this many ranks allows; other needs are asked when the file is written.
FITS = {"pow2": lambda n: n & (n - 1) == 0, "even": lambda n: n % 2 == 0, "two": lambda n: n == 2}


@dataclass(frozen=True)
class Candidate:
    """One algorithm of the library's with its parameters."""

    label: str  # unique in its operation
    name: str  # as the library's file calls it
    number: int  # where that goes by numbers
    params: tuple[tuple[str, int | str], ...] = ()
    needs: frozenset[str] = frozenset()
    whole: tuple[tuple[str, str], ...] = ()  # settings that choose it, at all sizes

    def param(self, name: str, otherwise: int) -> int:
        return int(dict(self.params).get(name, otherwise))


@dataclass(frozen=True)
class Operation:
    """One of ECO's operations in the library's terms."""

    name: str
    number: int
    size: str  # the library's word for the size that it asks for; "" where it has but one
    size_over_ranks: bool  # that size is ECO's over the number of ranks
    one_rule: bool
    settings: Mapping[str, str]
    algorithms: tuple[dict[str, Any], ...]

    def candidates(self, n_ranks: int, version: str) -> list[Candidate]:
        """Those that such a group can have, each once."""
        found: dict[str, Candidate] = {}
        for entry in self.algorithms:
            needs = frozenset(entry.get("needs", ()))
            if not in_range(version, entry.get("versions", "")) or not all(
                FITS[need](n_ranks) for need in needs & set(FITS)
            ):
                continue
            for params in _combinations(entry.get("params", {}), n_ranks):
                label = " ".join([entry["name"], *(f"{name}={value}" for name, value in params)])
                found.setdefault(
                    label,
                    Candidate(label, entry["name"], int(entry.get("id", 0)), params, needs - set(FITS),
                              tuple(entry.get("whole", {}).items())),
                )  # fmt: skip
        return list(found.values())


@dataclass(frozen=True)
class Target:
    """A library's versions of one format."""

    to: str
    versions: str
    library: str
    format: str
    settings: Mapping[str, str]
    operations: Mapping[str, Operation]
    last_executed_on: str | None
    asks: tuple[str, ...] = field(default=())
    recognise: str = ""
    asks_whether_commuting: bool = False  # its file can; else rules are for any operation, or for those alone


def _combinations(params: Mapping[str, list[Any]], n_ranks: int) -> Iterator[tuple[tuple[str, Any], ...]]:
    """Every combination of values; `P` and `P-1` are of this group, and a fan-out beyond P is none."""
    words = {"P": n_ranks, "P-1": n_ranks - 1}
    choices = [[(name, words.get(value, value)) for value in values] for name, values in params.items()]
    for chosen in itertools.product(*choices):
        if dict(chosen).get("k", 1) <= n_ranks:
            yield chosen


def in_range(version: str, wanted: str) -> bool:
    """Whether 5.0.11 is in ">=4.1,<5.1"; a version without numbers is in no range, an empty range holds all."""
    numbers = [int(n) for n in re.findall(r"\d+", version.partition("-")[0])][:4]
    for condition in wanted.split(",") if wanted else []:
        match = re.fullmatch(r"(>=|<)(\d+(?:\.\d+)*)", condition.strip())
        if match is None:
            raise CorruptFile(f"data/exports.json: {condition!r} is no bound of versions; install ECO again")
        bound = [int(n) for n in match.group(2).split(".")]
        if not numbers or (numbers >= bound) != (match.group(1) == ">="):
            return False
    return True


@functools.cache
def targets() -> tuple[Target, ...]:
    """The whole table."""
    path = paths.data_dir() / "exports.json"
    try:
        document = json.loads(path.read_text())
        if (document["schema"], document["version"]) != ("eco.exports", 1):
            raise CorruptFile(
                f"{path}: expected eco.exports version 1, got {document['schema']} {document['version']}"
            )
        entries = document["targets"]
        operations = {(e["to"], e["versions"]): e["operations"] for e in entries if "operations" in e}
        return tuple(_target(e, operations[e["to"], e.get("like", e["versions"])]) for e in entries)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CorruptFile(f"{path}: {error!r}; install ECO again") from error


def _target(entry: dict[str, Any], operations: dict[str, Any]) -> Target:
    return Target(
        entry["to"], entry["versions"], entry["library"], entry["format"], entry["settings"],
        {name: Operation(o["name"], int(o.get("id", 0)), o.get("size", ""), o.get("size_over") == "P",
                         bool(o.get("one_rule")), o.get("settings", {}), tuple(o["algorithms"]))
         for name, o in operations.items()},
        entry["last_executed_on"], tuple(entry.get("asks", ())), entry.get("recognise", ""),
        bool(entry.get("asks_whether_commuting")),
    )  # fmt: skip


def words() -> list[str]:
    """What --to takes."""
    return list(dict.fromkeys(target.to for target in targets()))


def check_word(to: str) -> None:
    if to not in words():
        raise InvalidArgument(f"--to {to}: expected one of {', '.join(words())}")


def rows_of(to: str) -> list[Target]:
    check_word(to)
    return [target for target in targets() if target.to == to]


def library_that_decides(to: str, mpi_library: str) -> str:
    """Name and version of the library that reads the export; throws Unsupported where that cannot be told."""
    row = rows_of(to)[0]
    return _asked(row) if row.asks else mpi_library


def target_of(to: str, library: str) -> Target:
    """The row for a library by name and version ("Open MPI 5.0.11"); throws Unsupported for one without a row."""
    rows = rows_of(to)
    if not library.startswith(rows[0].library):
        raise Unsupported(
            f"--to {to}: these ranks run {library}, and the decisions are measured in {rows[0].library}; "
            "give a launcher of that library"
        )
    for target in rows:
        if in_range(version_of(library), target.versions):
            return target
    known = " or ".join(target.versions for target in rows)
    raise Unsupported(
        f"--to {to}: {library} is a version whose decision files nobody has looked at (known: {known}); "
        "its algorithms may have other numbers, so nothing is written"
    )


def version_of(library: str) -> str:
    return library.rpartition(" ")[2]


def _asked(target: Target) -> str:
    """The library by what a program of its own prints."""
    try:
        answer = subprocess.run(
            target.asks, capture_output=True, text=True, timeout=ANSWER_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unsupported(
            f"--to {target.to}: {' '.join(target.asks)} does not run ({error}), so which {target.library} would read "
            "the settings is unknown; put it on PATH"
        ) from error
    match = re.search(target.recognise, answer.stdout)
    if match is None:
        raise Unsupported(
            f"--to {target.to}: {' '.join(target.asks)} names no version: {answer.stdout[:200]!r}"
        )
    return f"{target.library} {match.group(1)}"
