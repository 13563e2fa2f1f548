"""Test suites of others, stock and with ECO serving what it can: what tools/mpi4py-suite and tools/mpich-suite share.

    host = Host("openmpi", Path("build/some-suite"), limit_s=60)        # measures this machine's network, once
    done = host.run(3, [program], with_eco=True, limit_s=120)           # nothing: it did not end within the limit
    pairs = Pairs.of(stock, with_eco)                                   # runs both until a pair comes out the same
    pairs.verdict(60)

A plan by hand makes ECO serve on one host, on communicators of every size that the job may have.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from eco import jobs, paths, plans
from eco.errors import Timeout, TransportError
from eco.lab.launch import asleep_while_idle
from eco.launch import AS_ROOT
from eco.provenance import provenance
from eco.report.records import read_json, write_records

#: Pairs of runs at most, before what differs counts: the process managers of some libraries fail now and then.
MOST_PAIRS = 3
NO_LINE = "no line of ECO"
#: Small messages one way, larger ones another that cuts them: finely, as long as that takes no time to speak of.
ROWS: plans.Rows = {
    name: [
        (64, f"{algorithms}/{small}"),
        (4096, f"{algorithms}/{large} segment=64"),
        (1 << 21, f"{algorithms}/{large} segment=8192"),
    ]
    for name, small, large in (
        ("broadcast", "binomial", "chain"),
        ("reduce", "binomial", "chain"),
        ("allreduce", "doubling", "ring"),
        ("reduce_scatter", "flat", "chain"),
        ("reduce_scatter_block", "flat", "circulant"),
        ("scatter", "binomial", "chain"),
        ("gather", "binomial", "chain"),
        ("allgather", "doubling", "chain"),
        ("alltoall", "doubling", "flat"),
        ("scan", "doubling", "chain"),
        ("exscan", "doubling", "chain"),
        ("neighbor_allgather", "flat", "flat"),
        ("neighbor_alltoall", "flat", "flat"),
    )
    for algorithms in (name.removesuffix("_block"),)
} | {"barrier": [(0, "barrier/binomial")]}


class Host:
    """An MPI library on this machine, with a folder for what is made for its runs."""

    def __init__(self, library: str, folder: Path, limit_s: float) -> None:
        self.library = library
        self.prefix = paths.library_dir(library)
        self.folder = folder.resolve()
        self.folder.mkdir(parents=True, exist_ok=True)
        self.network = self.folder / f"network-{library}.json"
        measure = [str(paths.native_file(f"eco-rank-{library}")), "characterize", "--out", str(self.network)]
        made = self.run(2, measure, with_eco=False, limit_s=limit_s)
        if made is None or made.code != 0:
            raise TransportError(made.errors if made else f"{measure[0]} did not end in {limit_s:g} s")

    def forced(self, ranks: int) -> dict[str, str]:
        """Settings by which ECO serves what it can, on communicators of at most so many ranks."""
        files = []
        for size in range(max(ranks, 2), 1, -1):
            files.append(self.folder / f"plan-{size}.json")
            files[-1].write_text(plans.by_hand(size, ROWS))
        plan = ":".join(map(str, files))
        return {"ECO_PLAN": plan, "ECO_NETWORK": str(self.network), "ECO_ARM_AFTER": "0"}

    def run(
        self,
        ranks: int,
        words: Sequence[str],
        with_eco: bool,
        limit_s: float,
        settings: Mapping[str, str] | None = None,
        options: Sequence[str] = (),
        within: Path | None = None,
    ) -> jobs.Ended | None:
        """The words on so many ranks, launched with these options in this folder; nothing if they don't end in time."""
        launcher = [str(self.prefix / "bin" / "mpiexec")]
        if self.library == "openmpi":
            launcher += ["--oversubscribe", "--bind-to", "none", "--mca", "btl", "tcp,self"]
        yielding = {"OMPI_MCA_mpi_yield_when_idle": "1", "UCX_TLS": "tcp,self",
                    "LD_LIBRARY_PATH": str(self.prefix / "lib")}  # fmt: skip
        # More ranks than processors sleep while they wait, as on emulated hosts: those of MPICH spin.
        crowded = ranks > (os.cpu_count() or 1)
        environment = AS_ROOT | yielding | (asleep_while_idle(paths.native_dir(), 50) if crowded else {})
        environment |= dict(settings or {})
        if with_eco:
            environment |= self.forced(ranks)
            words = [str(paths.native_file("eco-exec")), *words]
        there = [f"--chdir={within}"] if within else []
        named = [f"{name}={value}" for name, value in environment.items()]
        command = ["env", *there, *named, *launcher, *options, "-n", str(ranks), *words]
        try:
            return jobs.run_to_end(command, limit_s)
        except Timeout:
            return None


def served(errors: str) -> tuple[int, int] | None:
    """Calls served, of how many: ECO's line at the end."""
    said = re.search(r"eco: served (\d+) of (\d+)", errors)
    return (int(said.group(1)), int(said.group(2))) if said else None


def armed_s(errors: str) -> float:
    """What arming took, by the same line: a plan by hand has every communicator armed, which nobody would."""
    said = re.search(r"eco: served .* armed in ([\d.e-]+) s", errors)
    return float(said.group(1)) if said else 0.0


class Run(Protocol):
    """What is known of one run, stock or with ECO."""

    @property
    def code(self) -> int | None:
        """Nothing if it was ended at its limit."""

    @property
    def seconds(self) -> float: ...

    @property
    def served(self) -> tuple[int, int] | None: ...

    @property
    def whole(self) -> bool:
        """It came to the end of what it was to do."""

    def facts(self) -> dict[str, str]:
        """All that is compared."""


R = TypeVar("R", bound=Run)


@dataclass
class Pairs(Generic[R]):
    """Runs of one thing, stock and with ECO in turn, until a pair comes out the same."""

    stock: list[R] = field(default_factory=list)
    eco: list[R] = field(default_factory=list)
    always_says: bool = True  # ECO, at the end of every run that ends well

    @classmethod
    def of(cls, stock: Callable[[], R], with_eco: Callable[[], R], always_says: bool = True) -> Pairs[R]:
        """Runs them."""
        pairs = cls(always_says=always_says)
        while len(pairs.stock) < MOST_PAIRS:
            pairs.stock.append(stock())
            if pairs.stock[-1].code is None:
                break
            pairs.eco.append(with_eco())
            if not pairs.unlike(-1):
                break
        return pairs

    def unlike(self, pair: int) -> list[str]:
        """What a pair has not in common, in words."""
        stock, eco = self.stock[pair], self.eco[pair]
        mine, theirs = stock.facts(), eco.facts()
        out = [
            f"{name}: {mine.get(name, 'not run')} and {theirs.get(name, 'not run')}"
            for name in sorted(mine.keys() | theirs.keys())
            if mine.get(name) != theirs.get(name)
        ]
        silent = self.always_says and stock.code == 0 and eco.served is None
        return out + ([NO_LINE] if silent else [])

    def unexplained(self) -> list[str]:
        """What no stock run came to, but one with ECO. Jobs that break off do so at any test."""
        stock = [run.facts() for run in self.stock]
        breaks_off = {run.code for run in self.stock if not run.whole}
        out = [NO_LINE for pair in range(len(self.eco)) if NO_LINE in self.unlike(pair)]
        for run in self.eco:
            facts = run.facts()
            broke_off = not run.whole and run.code in breaks_off
            for name in sorted(set(facts).union(*stock)):
                seen = {of.get(name, "not run") for of in stock}
                found = facts.get(name, "not run")
                if found not in seen and not (broke_off and name not in facts):
                    out.append(f"{name}: {' or '.join(sorted(seen))} and {found}")
        return sorted(set(out))

    def verdict(self, limit_s: float) -> str:
        if len(self.eco) < len(self.stock):
            return f"stock did not end in {limit_s:g} s"
        if len(self.eco) == 1 and not self.unlike(0):
            return "same" if self.eco[0].whole else "same, to where stock breaks off"
        return "differs" if self.unexplained() else "stock varies"

    def record(self, limit_s: float) -> dict[str, Any]:
        """What every suite keeps of them."""
        record: dict[str, Any] = {
            "verdict": self.verdict(limit_s),
            "stock_s": [run.seconds for run in self.stock],
            "eco_s": [run.seconds for run in self.eco],
            "codes": [[run.code for run in self.stock], [run.code for run in self.eco]],
        }
        counts = [run.served for run in self.eco if run.served is not None]
        record["served"], record["calls"] = counts[-1] if counts else (0, 0)
        unlike = [words for pair in range(len(self.eco)) for words in self.unlike(pair)]
        if unlike:
            record["unlike"] = (self.unexplained() or unlike)[:10]
        return record


Key = tuple[Any, ...]


class Records:
    """What has run, by a key of each record; kept in a file, where there is one, whenever one is added."""

    def __init__(
        self, file: Path | None, schema: str, version: int, key: Callable[[dict[str, Any]], Key]
    ) -> None:
        self.file, self.schema, self.version, self.key = file, schema, version, key
        found = read_json(file, schema, version)["records"] if file and file.exists() else []
        self.by_key: dict[Key, dict[str, Any]] = {key(record): record for record in found}

    def add(self, record: dict[str, Any]) -> None:
        self.by_key[self.key(record)] = record
        if self.file:
            # No times are compared, so there is no estimator.
            made_by = {name: value for name, value in provenance().items() if name != "estimator"}
            head = {"schema": self.schema, "version": self.version, "provenance": made_by}
            write_records(self.file, head, [self.by_key[key] for key in sorted(self.by_key)])
