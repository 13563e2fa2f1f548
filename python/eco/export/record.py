"""What was measured for an export: every launch with every call, so that files can be written again from it.

    record = Record.read(Path("DIR/record.json"))
    record.launches[0].seconds["broadcast", 1024]

A launch is one start of eco-rank bench. It ran each of its operations in one way: `default` (the library as it is),
`own` (the variables set that make the library ask its decision file, but no rule in it), a candidate by its label, or
`exported` (the rules that the search had found).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eco.errors import CorruptFile
from eco.export import tables
from eco.export.tables import Candidate, Operation, Target
from eco.report.records import read_json, write_json

SCHEMA = ("eco.export", 1)

DEFAULT = "default"
OWN = "own"
EXPORTED = "exported"


@dataclass(frozen=True)
class Launch:
    """One start."""

    phase: str  # search, check
    round: int
    ways: Mapping[str, str]  # of each operation
    seconds: Mapping[tuple[str, int], tuple[float, ...]]  # of each operation and bytes: all timed calls
    wall_s: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        cells = [
            {"collective": op, "bytes": size, "seconds": list(s)} for (op, size), s in self.seconds.items()
        ]
        return {"phase": self.phase, "round": self.round, "ways": dict(self.ways), "wall_s": self.wall_s,
                "cells": cells}  # fmt: skip


@dataclass
class Record:
    """All launches for one library on some ranks."""

    to: str
    library: str
    library_file: str
    network: str
    placement: str
    hosts: list[str]  # of every rank
    ops: list[str]
    sizes: list[int]
    subnets: list[int] | None = None  # of every rank, where the partition was measured
    failed: dict[str, dict[str, str]] = field(
        default_factory=dict
    )  # operation, label: why it is no candidate
    launches: list[Launch] = field(default_factory=list)
    provenance: dict[str, Any] = field(default_factory=dict)

    @property
    def ranks(self) -> int:
        return len(self.hosts)

    @property
    def target(self) -> Target:
        return tables.target_of(self.to, self.library)

    def sizes_of(self, op: str) -> list[int]:
        return [0] if op == "barrier" else self.sizes

    def operations(self) -> dict[str, Operation]:
        """Those of `ops` that the target has, in their order."""
        known = self.target.operations
        return {op: known[op] for op in self.ops if op in known}

    def candidates(self, op: str) -> dict[str, Candidate]:
        """By label, those that can be had here and did not fail."""
        out = self.sets("partition")
        return {
            found.label: found
            for found in self.target.operations[op].candidates(self.ranks, tables.version_of(self.library))
            if found.label not in self.failed.get(op, {}) and not (found.needs & out)
        }

    def sets(self, need: str) -> frozenset[str]:
        """The need, unless it is met: a partition of more than one subnet."""
        return frozenset() if self.subnets and len(set(self.subnets)) > 1 else frozenset({need})

    def of(self, phase: str, op: str, way: str, size: int) -> dict[int, tuple[float, ...]]:
        """The calls of one cell run in one way, by round."""
        return {
            launch.round: launch.seconds[op, size]
            for launch in self.launches
            if launch.phase == phase and launch.ways.get(op) == way and launch.seconds.get((op, size))
        }

    def same_task(self, other: Record) -> bool:
        """Whether launches of the two belong together."""
        mine, theirs = (
            [r.to, r.library, r.network, r.placement, r.hosts, r.ops, r.sizes] for r in (self, other)
        )
        return mine == theirs

    def write(self, path: Path) -> None:
        write_json(path, dict(self._pairs()))

    def _pairs(self) -> Iterator[tuple[str, Any]]:
        yield from (("schema", SCHEMA[0]), ("version", SCHEMA[1]))
        for name in ("to", "library", "library_file", "network", "placement", "hosts", "ops", "sizes", "subnets",
                     "failed", "provenance"):  # fmt: skip
            yield name, getattr(self, name)
        yield "launches", [launch.to_dict() for launch in self.launches]

    @staticmethod
    def read(path: Path) -> Record:
        document = read_json(path, *SCHEMA)
        try:
            launches = [
                Launch(
                    entry["phase"],
                    int(entry["round"]),
                    dict(entry["ways"]),
                    {
                        (c["collective"], int(c["bytes"])): tuple(map(float, c["seconds"]))
                        for c in entry["cells"]
                    },
                    float(entry["wall_s"]),
                )
                for entry in document["launches"]
            ]
            fields = {name: document[name] for name in (
                "to", "library", "library_file", "network", "placement", "hosts", "ops", "sizes", "subnets",
                "failed", "provenance")}  # fmt: skip
            return Record(**fields, launches=launches)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise CorruptFile(f"{path}: {error!r}; it is no record of eco export") from error
