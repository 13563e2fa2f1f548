"""Launches of eco-rank bench in pairs: stock and with ECO in turn.

series = Series()
launches(place, BenchOptions(["broadcast"], [8]), series, print)
complete_pairs(series.samples)
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eco import jobs, rank
from eco.collectives import Grid
from eco.errors import EcoError, InvalidArgument
from eco.report.records import Sample, size_text

MODES = ("stock", "eco")


@dataclass(frozen=True)
class BenchOptions(Grid):
    """What is measured and how long."""

    launches: int = 3
    min_reps: int = 5
    max_seconds: float = 1.0  # of each cell in each launch
    tune: bool = True
    timeout_s: float = 600.0  # of one launch
    settings: dict[str, str] = field(default_factory=dict)  # for the ECO launches

    def __post_init__(self) -> None:
        if self.launches < 1:
            raise InvalidArgument(f"--launches {self.launches}: at least one pair of launches is needed")
        if self.min_reps < 1 or self.max_seconds <= 0:
            raise InvalidArgument(
                f"--min-reps {self.min_reps}, --max-seconds {self.max_seconds:g}: both must be above 0"
            )


@dataclass
class Series:
    """What one library and placement gave: samples, and what is the same in every launch."""

    samples: list[Sample] = field(default_factory=list)
    algorithms: dict[tuple[str, int], str] = field(default_factory=dict)
    launches: list[dict[str, Any]] = field(default_factory=list)  # each start, with what the relay made of it
    ranks: int = 0
    library: str = ""
    clock: str = ""


def bench_words(place: jobs.Place, options: BenchOptions, out: Path) -> list[str]:
    """eco-rank bench for the whole grid."""
    return [
        place.rank_program(), "bench", *options.words(),
        "--min-reps", str(options.min_reps), "--max-seconds", f"{options.max_seconds:g}", "--out", str(out),
    ]  # fmt: skip


def one_launch(place: jobs.Place, mode: str, options: BenchOptions) -> rank.TimedLaunch:
    """Starts eco-rank bench once, stock or with ECO, and reads what it measured."""
    with jobs.scratch("bench") as folder:
        out, report = folder / "samples.json", folder / "report.json"
        words = bench_words(place, options, out)
        settings = {"ECO_QUIET": "1", "ECO_REPORT": str(report), "ECO_ARM_AFTER": "0", **options.settings}
        command = place.stock(words) if mode == "stock" else place.with_eco(words, settings)
        ended = place.start(command, options.timeout_s)
        what = f"{mode} launch of eco-rank bench ({place.library}, {place.placement})"
        if ended.code != rank.WRONG_RESULT or not out.exists():
            jobs.check(ended, what, "start the launcher by hand to see more")
        timed = rank.read_bench(out)
        if mode == "eco" and report.exists():  # not where rank 0 has another file system
            check_armed(rank.read_report(report), options, what)
    if timed.preloaded != (mode == "eco"):
        raise EcoError(
            f"{what}: ECO's preload was {'there' if timed.preloaded else 'not there'}; see eco doctor"
        )
    wrong = [f"{cell.collective} {size_text(cell.bytes)}" for cell in timed.cells if not cell.correct]
    if wrong:
        raise EcoError(f"{what}: wrong results of {', '.join(wrong)}; please report this")
    return timed


def check_armed(told: rank.Report, options: BenchOptions, what: str) -> None:
    """Throws EcoError where ECO could not be used at all: stock against stock is no comparison.

    A communicator is armed even where the library's own collectives are as good; a barrier alone arms none.
    """
    if told.armed or not told.native or all(name == "barrier" for name in options.ops):
        return
    raise EcoError(f"{what}: ECO served nothing, for it could not be used: {'; '.join(told.native)}")


def launches(place: jobs.Place, options: BenchOptions, series: Series, step: Callable[[str], None]) -> None:
    """Pairs of launches.

    Which of the two comes first alternates, so that neither always finds the machine warmer.
    """
    first_number = 1 + max((sample.launch for sample in series.samples), default=-1)
    order = len({sample.order for sample in series.samples})
    for number in range(first_number, first_number + options.launches):
        for mode in MODES if number % 2 == 0 else MODES[::-1]:
            step(f"{place.library}, {place.placement}: launch {number + 1}, {mode}")
            before, began = place.relay(), time.monotonic()
            timed = one_launch(place, mode, options)
            series.launches.append(
                {"library": place.library, "placement": place.placement, "launch": number, "mode": mode,
                 "order": order, "wall_s": time.monotonic() - began,
                 "relay_late_us": lateness_us(before, place.relay())})  # fmt: skip
            series.ranks, series.library, series.clock = timed.ranks, timed.library, timed.clock
            for cell in timed.cells:
                series.samples.append(
                    Sample(cell.collective, cell.bytes, place.placement, place.network, place.library, number,
                           mode, order, cell.seconds, cell.late))  # fmt: skip
                if mode == "eco":
                    series.algorithms[cell.collective, cell.bytes] = cell.algorithm
            order += 1


def lateness_us(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """How late the relay handed packets over between two looks at it; nothing outside the lab."""
    if before is None or after is None:
        return None
    then, now = before["late_us"], after["late_us"]
    packets = after["delivered"] - before["delivered"]
    sums = now["average"] * after["delivered"] - then["average"] * before["delivered"]
    return {
        "average": max(0.0, sums / packets) if packets else 0.0,
        "over_1ms": now["over_1ms"] - then["over_1ms"],
        "packets": packets,
    }


def complete_pairs(samples: Sequence[Sample]) -> list[Sample]:
    """Those of launches that ran both stock and with ECO."""
    seen = {mode: {sample.launch for sample in samples if sample.mode == mode} for mode in MODES}
    return [sample for sample in samples if all(sample.launch in seen[mode] for mode in MODES)]
