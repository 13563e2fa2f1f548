"""A schedule's steps as they were predicted and as they happened, rank by rank.

    run = trace_place(place, network_file, TraceOptions("broadcast", 1 << 20), console)
    run.differences()[0]                            # the rank whose end was predicted worst

eco-rank trace runs the recipe on the ranks and writes the run in the middle of several; the predictor says of the same
schedules what it expects. An operation is at the same place in both: its position in its rank's program.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from eco import _core, jobs
from eco import network as networks
from eco.errors import CorruptFile
from eco.report.records import read_json, size_text, write_json

RANK_SCHEMA = ("eco.rank.trace", 1)
SCHEMA = "eco.trace"
VERSION = 1


@dataclass(frozen=True)
class TraceOptions:
    """What is run; without a recipe it is the one predicted to be fastest."""

    op: str
    size: int
    root: int = 0
    recipe: str | None = None
    runs: int = 9
    timeout_s: float = 300.0

    def __post_init__(self) -> None:
        """Refuses a recipe of another operation before any rank starts."""
        if self.recipe:
            _core.check_recipe(self.recipe, self.op)


@dataclass(frozen=True)
class Operation:
    """One step of a rank. A message starts when it is posted and ends when the rank hears that it is complete."""

    kind: str  # send, recv, reduce, copy
    peer: int  # -1 where there is none
    channel: int
    bytes: int
    start_s: float
    end_s: float


@dataclass(frozen=True)
class RankSteps:
    """What one rank does in one call, operations in program order."""

    operations: tuple[Operation, ...]
    end_s: float
    busy_s: float  # posting, combining and copying; the rest is waiting, in which libraries receive

    @property
    def waiting_s(self) -> float:
        return max(0.0, self.end_s - self.busy_s)


@dataclass(frozen=True)
class Difference:
    """One rank, as predicted and as traced."""

    rank: int
    predicted: RankSteps
    traced: RankSteps

    @property
    def later_s(self) -> float:
        """Of the rank's end: above zero where it came later than predicted."""
        return self.traced.end_s - self.predicted.end_s


@dataclass(frozen=True)
class TracedRun:
    """One call, predicted and traced."""

    op: str
    bytes: int
    root: int
    recipe: str
    library: str
    placement: str
    one_clock: bool  # else each rank's times count from its own start
    seconds: tuple[float, ...]  # of all runs
    predicted_s: float
    traced_s: float  # of the run that is shown: the one in the middle
    predicted: tuple[RankSteps, ...]
    traced: tuple[RankSteps, ...]

    def title(self) -> str:
        what = f"{self.op} of {size_text(self.bytes)}" if self.bytes else self.op
        return f"{what} over {len(self.traced)} ranks, {self.recipe}"

    def differences(self) -> list[Difference]:
        """Of all ranks, those first whose end was predicted worst."""
        pairs = zip(self.predicted, self.traced, strict=True)
        found = [Difference(rank, predicted, traced) for rank, (predicted, traced) in enumerate(pairs)]
        return sorted(found, key=lambda one: -abs(one.later_s))

    def write(self, path: Path) -> None:
        write_json(path, {"schema": SCHEMA, "version": VERSION, **asdict(self)})


def steps_of(record: dict[str, Any], nanoseconds: bool) -> RankSteps:
    """Of one rank: as eco-rank writes it, in nanoseconds and with what was waited, or as the predictor does."""
    factor = 1e-9 if nanoseconds else 1.0
    operations = tuple(
        Operation(kind, peer, channel, size, start * factor, end * factor)
        for kind, peer, channel, size, start, end in record["operations"]
    )
    if not nanoseconds:
        return RankSteps(operations, record["end_s"], record["busy_s"])
    end_s = record["end_ns"] * factor
    return RankSteps(operations, end_s, max(0.0, end_s - record["waited_ns"] * factor))


def read_trace(path: Path, network: str, placement: str) -> TracedRun:
    """What eco-rank trace wrote, joined with the prediction on that network. Raises CorruptFile."""
    record = read_json(path, *RANK_SCHEMA)
    try:
        op, size, root, recipe = (record[key] for key in ("collective", "bytes", "root", "recipe"))
        predicted = json.loads(_core.timeline(network, record["host_of_rank"], recipe, op, size, root))
        run = TracedRun(
            op=op,
            bytes=size,
            root=root,
            recipe=recipe,
            library=record["library"],
            placement=placement,
            one_clock=record["one_clock"],
            seconds=tuple(record["seconds"]),
            predicted_s=predicted["seconds"],
            traced_s=record["median_s"],
            predicted=tuple(steps_of(rank, nanoseconds=False) for rank in predicted["ranks"]),
            traced=tuple(steps_of(rank, nanoseconds=True) for rank in record["ranks"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise CorruptFile(f"{path}: {error!r} in a file of eco-rank of another version") from error
    for rank, (one, other) in enumerate(zip(run.predicted, run.traced, strict=True)):
        if [step.kind for step in one.operations] != [step.kind for step in other.operations]:
            raise CorruptFile(f"{path}: rank {rank} ran another schedule than {recipe}")
    return run


def trace_place(
    place: jobs.Place, network: Path, options: TraceOptions, watch: Callable[[str], None] | None = None
) -> TracedRun:
    """Runs a recipe on the ranks of a place, and predicts it on the network of that file."""
    networks.load(network)  # refused here, once, and not by every rank
    with jobs.scratch("trace") as folder:
        out = folder / "trace.json"
        words = [
            place.rank_program(), "trace", "--network", str(network.absolute()), "--op", options.op,
            "--bytes", str(options.size), "--root", str(options.root), "--runs", str(options.runs),
            "--out", str(out.absolute()),
        ]  # fmt: skip
        if options.recipe:
            words += ["--recipe", options.recipe]
        ended = place.start(place.stock(words), options.timeout_s, watch)
        jobs.check(ended, f"tracing under {place.library}", "nothing was written")
        return read_trace(out, network.read_text(encoding="utf-8"), place.placement)
