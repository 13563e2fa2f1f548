"""Starting the ranks of a case without ECO and with it, and comparing what they saw.

    fault = compare(case, run(case, place, served=False), run(case, place, served=True))

eco-fuzz writes what each rank saw into a file of its own as it goes (preload/fuzz/record.h), so that a rank that hangs
or is killed has told where it is.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from eco import jobs, launch, paths
from eco.errors import CorruptFile, EcoError, Timeout
from eco.fuzz.recipes import Layout
from eco.fuzz.steps import Program, parse_step, text_of
from eco.lab import Lab
from eco.report.records import read_json, write_json

SCHEMA = ("eco.fuzz", 1)
HEADER = struct.Struct("<8sIiII8x")
ENTRY = struct.Struct("<QQIIi36s")
MAGIC = b"ecofuzz1"
NATIVE = "native"


@dataclass(frozen=True)
class Case:
    """All that a run depends on."""

    library: str
    ranks: int
    where: str  # what `eco fuzz` was told: "tcp", "memory", or a lab's name
    program: Program
    layout: Layout
    plans: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Entry:
    """One step as one rank saw it."""

    digest: int
    alike: int
    is_wrong: bool
    group: int
    algorithm: str


@dataclass(frozen=True)
class RankSeen:
    """A rank's file: where it is, and the steps that it has ended."""

    step: int
    is_in: bool
    is_done: bool
    entries: Mapping[int, Entry]


@dataclass(frozen=True)
class Seen:
    """What a run left."""

    ranks: tuple[RankSeen, ...]
    last_words: str = ""
    hung: bool = False
    code: int = 0

    @property
    def is_good(self) -> bool:
        return self.code == 0 and not self.hung and all(rank.is_done for rank in self.ranks)


@dataclass(frozen=True)
class Fault:
    """What ECO made of a program that the library alone runs otherwise."""

    kind: str  # "differs", "hangs", "ends", "is inexact", "is unlike on its ranks"
    step: int
    rank: int
    text: str
    by: str = ""  # the algorithm, or NATIVE


class OneHost:
    """Ranks of this host, over its loopback or through shared memory; to ECO they are on the hosts that it is told."""

    def __init__(self, library: str, where: str) -> None:
        self.library, self.where = library, where
        self.prefix = paths.library_dir(library)
        if not (self.prefix / "bin" / "mpiexec").exists():
            raise EcoError(f"{self.prefix}: no MPI library there; `make setup` installs it")
        self.library_settings = {"LD_LIBRARY_PATH": str(self.prefix / "lib")}

    def command(self, ranks: int, hosts: Sequence[int], words: Sequence[str]) -> list[str]:
        # Ranks share cores here: whoever waits must let the others run.
        variables = {
            "OMPI_MCA_mpi_yield_when_idle": "1",
            "UCX_TLS": "tcp,self" if self.where == "tcp" else "sm,self",
        } | launch.AS_ROOT
        launcher = [str(self.prefix / "bin" / "mpiexec"), "-n", str(ranks)]
        if launch.detect(launcher[0]).library == "openmpi":
            btl = "tcp,self" if self.where == "tcp" else "sm,self"
            launcher += ["--oversubscribe", "--bind-to", "none", "--mca", "btl", btl]
        settings = [f"{name}={value}" for name, value in variables.items()]
        return ["env", *settings, *launcher, *jobs.on_hosts(hosts), *words]

    def start(self, ranks: int, hosts: Sequence[int], words: Sequence[str], timeout_s: float) -> jobs.Ended:
        return jobs.run_to_end(self.command(ranks, hosts, words), timeout_s)


class InLab:
    """Ranks on the hosts of a lab that is up."""

    def __init__(self, lab: Lab, where: str) -> None:
        self.place = jobs.LabPlace(lab)
        self.library, self.where = lab.library, where
        self.library_settings = self.place.library_settings

    def start(self, ranks: int, hosts: Sequence[int], words: Sequence[str], timeout_s: float) -> jobs.Ended:
        return self.place.start(["mpirun", "-n", str(ranks), *words], timeout_s)


Place = OneHost | InLab


def run(case: Case, place: Place, served: bool, timeout_s: float, bytes_of: int | None = None,
        keep: Path | None = None) -> Seen:  # fmt: skip
    """One launch. `bytes_of`: a step of which all bytes are written to `keep`."""
    with jobs.scratch("fuzz") as scratch:
        folder = (keep or scratch).absolute()
        program = folder / "program"
        program.write_text(text_of(case.program))
        settings = {"ECO": "off"}
        if served:
            settings = {
                "ECO_NETWORK": str(folder / "network.json"), "ECO_CACHE_DIR": str(folder), "ECO_SITE_DIR": "none",
                "ECO_MEASURE": "never", "ECO_QUIET": "1",
                "ECO_STALL": f"{timeout_s / 2:g}", **case.settings,
            }  # fmt: skip
            (folder / "network.json").write_text(case.layout.network)
            files = [folder / f"plan-{i}.json" for i in range(len(case.plans))]
            for file, text in zip(files, case.plans, strict=True):
                file.write_text(text)
            if files:
                settings["ECO_PLAN"] = ":".join(map(str, files))
        words = [
            *jobs.eco_exec({**place.library_settings, **settings}, bare=not served),
            str(paths.native_file(f"eco-fuzz-{place.library}")), str(program), str(folder),
        ]  # fmt: skip
        if bytes_of is not None:
            words.append(str(bytes_of))
        try:
            ended = place.start(case.ranks, case.layout.hosts, words, timeout_s)
        except Timeout as error:
            return Seen(read_ranks(folder, case.ranks), str(error), hung=True)
        return Seen(read_ranks(folder, case.ranks), ended.last_words(), code=ended.code)


def read_ranks(folder: Path, ranks: int) -> tuple[RankSeen, ...]:
    return tuple(_read(folder / f"rank-{rank}") for rank in range(ranks))


def _read(path: Path) -> RankSeen:
    if not path.exists():  # it never came so far
        return RankSeen(-1, True, False, {})
    data = path.read_bytes()
    magic, n_entries, step, is_in, is_done = HEADER.unpack_from(data)
    if magic != MAGIC or len(data) < HEADER.size + n_entries * ENTRY.size:
        raise CorruptFile(f"{path}: not written by this build's eco-fuzz")
    entries = {}
    for i, fields in enumerate(ENTRY.iter_unpack(data[HEADER.size : HEADER.size + n_entries * ENTRY.size])):
        digest, alike, is_there, is_wrong, group, algorithm = fields
        if is_there:
            name = algorithm.rstrip(b"\0").decode() or NATIVE
            entries[i] = Entry(digest, alike, bool(is_wrong), group, name)
    return RankSeen(step, bool(is_in), bool(is_done), entries)


def who_is_where(case: Case, seen: Seen) -> str:
    """For a run that did not end: what each rank is in."""
    texts = {step.id: step.text() for step in case.program}
    at: dict[tuple[int, bool, bool], list[int]] = {}
    for rank, one in enumerate(seen.ranks):
        at.setdefault((one.step, one.is_in, one.is_done), []).append(rank)

    def place(step: int, is_in: bool, is_done: bool) -> str:
        if is_done:
            return "done"
        text = texts.get(step, "MPI_Init" if step < 0 else "the end: what is under way, MPI_Comm_free")
        return f"{'in' if is_in else 'behind'} {text}"

    return "; ".join(
        f"rank{'s' if len(ranks) > 1 else ''} {', '.join(map(str, ranks))} {place(*where)}"
        for where, ranks in sorted(at.items())
    )


def compare(case: Case, stock: Seen, served: Seen) -> Fault | None:
    """The first step that ECO changed. Of a run that did not end, the first that some rank is in."""
    found = _first_difference(case, stock, served)
    if served.is_good or (found and found.kind != "hangs"):
        return found
    waiting = [(one.step, rank) for rank, one in enumerate(served.ranks) if not one.is_done]
    step, rank = min(waiting, default=(-1, 0))
    if served.hung:
        awaited = [line for line in served.last_words.splitlines() if "has waited for" in line]
        return Fault("hangs", step, rank, "\n".join([who_is_where(case, served), *awaited]))
    return Fault(
        "ends", step, rank, f"exit code {served.code}; {who_is_where(case, served)}\n{served.last_words}"
    )


def _first_difference(case: Case, stock: Seen, served: Seen) -> Fault | None:
    for step in case.program:
        alike: dict[int, tuple[int, int]] = {}
        for rank in range(case.ranks):
            here, there = served.ranks[rank].entries.get(step.id), stock.ranks[rank].entries.get(step.id)
            if here is None or there is None:
                if (here is None) != (there is None) and served.is_good:
                    return Fault("differs", step.id, rank, "one of the two runs did not make this call")
                continue
            by = f"rank {rank}, by {here.algorithm}: {step.text()}"
            if here.digest != there.digest:
                return Fault("differs", step.id, rank, by, here.algorithm)
            if here.is_wrong:
                return Fault("is inexact", step.id, rank, by)
            if here.alike and here.algorithm != NATIVE:
                other, value = alike.setdefault(here.group, (rank, here.alike))
                if value != here.alike:
                    return Fault(
                        "is unlike on its ranks", step.id, rank, f"other bits than rank {other}; {by}"
                    )
    return None


def write_case(path: Path, case: Case, fault: Fault | None, note: str = "") -> None:
    schema, version = SCHEMA
    write_json(path, {
        "schema": schema, "version": version, "note": note,
        "fault": None if fault is None else {"kind": fault.kind, "step": fault.step, "text": fault.text},
        "library": case.library, "ranks": case.ranks, "where": case.where, "settings": dict(case.settings),
        "hosts": list(case.layout.hosts), "program": text_of(case.program).splitlines(),
        "plans": [json.loads(plan) for plan in case.plans], "network": json.loads(case.layout.network),
    })  # fmt: skip


def read_case(path: Path) -> Case:
    """Raises CorruptFile."""
    document = read_json(path, *SCHEMA)
    try:
        return Case(
            library=str(document["library"]),
            ranks=int(document["ranks"]),
            where=str(document["where"]),
            program=tuple(parse_step(line) for line in document["program"]),
            layout=Layout(json.dumps(document["network"]), tuple(map(int, document["hosts"]))),
            plans=tuple(json.dumps(plan) for plan in document["plans"]),
            settings={str(name): str(value) for name, value in document["settings"].items()},
        )
    except (KeyError, TypeError, ValueError) as error:
        raise CorruptFile(f"{path}: {error!r} in a file of another version") from error
