"""Measuring stock against ECO: interleaved launches of eco-rank bench, in the lab or on a launcher.

    options = BenchOptions(["broadcast"], [8])
    outcome = bench_lab(load("three-subnets"), ["openmpi"], ["block"], options, False, console)
    outcome.results.records

docs/benchmarking.md states the estimator, what counts as slower, and what the bound is. Read `Bench.measure`
first.
"""

from __future__ import annotations

import contextlib
import datetime
import os
import platform
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from eco import __version__, jobs, launch, rank, stats
from eco.errors import EcoError, InvalidArgument
from eco.lab import Description, Lab
from eco.lab.bounds import Bound, bound_s
from eco.report.progress import launch_progress, rank_progress
from eco.report.records import Record, Results, Sample, record_of, seconds_text, size_text

MODES = ("stock", "eco")

#: The relay lets each packet go at its time, late ones at once: a rate is right to about this share.
RATE_UNCERTAINTY = 0.01
#: In the lab all ranks read one clock, and a call's time counts from the common instant: a rank that wakes late only
#: lengthens it. What is left are the clock's readings and the relay's rounding of times, a microsecond or two each.
CLOCK_UNCERTAINTY_S = 5e-6


@dataclass(frozen=True)
class BenchOptions:
    """What is measured and how long."""

    ops: Sequence[str]
    sizes: Sequence[int]
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


def grid(options: BenchOptions) -> list[str]:
    """Operations and sizes as eco-rank takes them."""
    return ["--ops", ",".join(options.ops), "--sizes", ",".join(map(str, options.sizes))]


def bench_words(place: jobs.Place, options: BenchOptions, out: Path) -> list[str]:
    """eco-rank bench for the whole grid."""
    return [
        place.rank_program(), "bench", *grid(options),
        "--min-reps", str(options.min_reps), "--max-seconds", f"{options.max_seconds:g}", "--out", str(out),
    ]  # fmt: skip


def one_launch(place: jobs.Place, mode: str, options: BenchOptions) -> rank.TimedLaunch:
    """Starts eco-rank bench once, stock or with ECO, and reads what it measured."""
    with jobs.scratch("bench") as folder:
        out, report = folder / "samples.json", folder / "report.json"
        words = bench_words(place, options, out)
        quiet = {"ECO_QUIET": "1", "ECO_REPORT": str(report), **options.settings}
        command = place.stock(words) if mode == "stock" else place.with_eco(words, quiet)
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


def tune(place: jobs.Place, grid_words: Sequence[str], timeout_s: float | None, console: Console) -> float:
    """Network and plan of this placement into the cache, so that no job measures; seconds that it took.

    Two jobs: measuring a network fills its queues, and TCP connections that lost packets then time candidates
    as no program will find them.
    """
    started = time.monotonic()
    with jobs.scratch("tune") as folder, rank_progress(console) as progress:
        what = f"tuning {place.library}, {place.placement}"
        watch = progress(what)
        for task in (["--network-only"], [*grid_words, "--out", str(folder / "plan.json")]):
            words = [place.rank_program(), "tune", *task, "--progress"]
            ended = place.start(place.stock(words), timeout_s, watch)
            jobs.check(ended, what, "programs go on without a plan, or with the one they have")
    seconds = time.monotonic() - started
    console.print(f"{what} took {seconds_text(seconds)}: network and plan are remembered", highlight=False)
    return seconds


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


def records_of(series: Series, bounds: Callable[[str, int], Bound | None]) -> list[Record]:
    """One record per cell, in the order in which they were measured."""
    records = []
    for cell in dict.fromkeys(sample.cell for sample in series.samples):
        collective, size = cell[3], cell[4]
        limit = bounds(collective, size)
        algorithm = series.algorithms[collective, size]
        records.append(
            record_of(series.samples, cell, series.ranks, limit.seconds if limit else None, algorithm)
        )
    return records


def below_bound(records: Sequence[Record], bounds: Callable[[str, int], Bound | None]) -> list[str]:
    """The cells in which a single call was faster than the network allows, in words."""
    out = []
    for record in records:
        limit = bounds(record.collective, record.bytes)
        if limit is None:
            continue
        for mode, seconds in (("stock", record.stock_min_s), ("ECO", record.eco_min_s)):
            if seconds < limit.seconds - uncertainty_s(limit):
                out.append(
                    f"{record.title()}: {mode} took {seconds_text(seconds)}, the bound is "
                    f"{seconds_text(limit.seconds)} +- {seconds_text(uncertainty_s(limit))} "
                    f"({limit.binding_resource})"
                )
    return out


def uncertainty_s(limit: Bound) -> float:
    """How far a right measurement may lie below the bound."""
    return RATE_UNCERTAINTY * limit.seconds + CLOCK_UNCERTAINTY_S


def no_bounds(collective: str, size: int) -> Bound | None:
    """Outside the lab nothing bounds a time."""
    return None


def lab_bounds(lab: Lab) -> Callable[[str, int], Bound | None]:
    """The bounds of the description for the placement that the lab has now."""
    description, hosts = lab.description, lab.hosts_of_ranks
    return lambda collective, size: bound_s(description, hosts, collective, size)


def rerun_suspects(
    place: jobs.Place,
    options: BenchOptions,
    series: Series,
    records: Sequence[Record],
    step: Callable[[str], None],
) -> Series | None:
    """Fresh launches of the cells whose whole interval lies below 1; nothing if there are none."""
    cells = [r for r in records if r.launches >= stats.MIN_LAUNCHES and r.ratio_high < 1]
    if not cells:
        return None
    again = replace(
        options,
        ops=list(dict.fromkeys(r.collective for r in cells)),
        sizes=sorted({r.bytes for r in cells}),
        launches=stats.SUSPECT_LAUNCHES,
    )
    fresh = Series()
    launches(place, again, fresh, step)
    suspects = {r.cell for r in cells}
    fresh.samples = [sample for sample in fresh.samples if sample.cell in suspects]
    return fresh


@dataclass
class Outcome:
    """All series of a run put together."""

    results: Results
    violations: list[str] = field(default_factory=list)
    slower: list[str] = field(default_factory=list)
    ended_early: str = ""  # why, where not everything was measured

    @property
    def exit_code(self) -> int:
        return 1 if self.violations or self.slower or self.ended_early else 0


class Bench:
    """Goes through places; keeps what was measured if it ends early."""

    def __init__(self, options: BenchOptions, suspects: bool, console: Console) -> None:
        if suspects and options.launches < stats.MIN_LAUNCHES:
            raise InvalidArgument(
                f"--suspects with --launches {options.launches}: fewer than {stats.MIN_LAUNCHES} pairs of launches "
                f"make nobody a suspect; give --launches {stats.MIN_LAUNCHES} or more"
            )
        self.options = options
        self.suspects = suspects
        self.console = console
        self.records: list[Record] = []
        self.samples: list[Sample] = []
        self.suspect_samples: list[Sample] = []
        self.launches: list[dict[str, Any]] = []
        self.ended_early = ""
        self.violations: list[str] = []
        self.suspect_ratios: list[tuple[Record, stats.Ratio]] = []
        self.provenance = provenance()
        self.tuning: list[dict[str, Any]] = []

    def measure(self, place: jobs.Place, bounds: Callable[[str, int], Bound | None]) -> None:
        """One library and placement."""
        if self.options.tune:
            seconds = tune(place, grid(self.options), self.options.timeout_s, self.console)
            self.tuning.append({"library": place.library, "placement": place.placement, "seconds": seconds})
        series = Series()
        stopped: KeyboardInterrupt | EcoError | None = None
        with launch_progress(self.console, 2 * self.options.launches) as step:
            try:
                launches(place, self.options, series, step)
            except (KeyboardInterrupt, EcoError) as reason:
                stopped = reason
                series.samples = complete_pairs(series.samples)
        records = records_of(series, bounds)
        self.violations += below_bound(records, bounds)
        self.launches += series.launches
        if self.suspects and stopped is None:
            try:
                records = self._suspects_again(place, series, records, bounds)
            except (KeyboardInterrupt, EcoError) as reason:
                stopped = reason
        self.records += records
        self.samples += series.samples
        if series.library:
            self.provenance.setdefault("libraries", {})[place.library] = series.library
            self.provenance["clock"] = series.clock
        if stopped:
            raise stopped

    def _suspects_again(
        self,
        place: jobs.Place,
        series: Series,
        records: list[Record],
        bounds: Callable[[str, int], Bound | None],
    ) -> list[Record]:
        """The records with those of suspects made anew; what made them suspects is kept beside."""
        with launch_progress(self.console, 2 * stats.SUSPECT_LAUNCHES) as step:
            fresh = rerun_suspects(place, self.options, series, records, step)
        if fresh is None:
            return records
        self.launches += [launched | {"of_suspects": True} for launched in fresh.launches]
        renewed = {record.cell: record for record in records_of(fresh, bounds)}
        self.violations += below_bound(list(renewed.values()), bounds)
        self.suspect_samples += [s for s in series.samples if s.cell in renewed]
        series.samples = [s for s in series.samples if s.cell not in renewed] + fresh.samples
        done = Results(tuple(renewed.values()), tuple(fresh.samples))
        self.suspect_ratios += [(record, done.ratio(record)) for record in renewed.values()]
        return [renewed.get(record.cell, record) for record in records]

    @contextlib.contextmanager
    def keeping(self) -> Iterator[None]:
        """An interrupt or an error ends the run early; what was measured until then is kept, if there is any."""
        try:
            yield
        except KeyboardInterrupt:
            self.ended_early = "interrupted"
        except EcoError as error:
            if not self.records:
                raise
            self.ended_early = str(error)

    def outcome(self) -> Outcome:
        verdicts = stats.slower_after_holm([ratio for _, ratio in self.suspect_ratios])
        slower = [
            f"{record.title()}: {ratio.ratio:.3f} ({ratio.low:.3f} to {ratio.high:.3f}) "
            f"over {ratio.launches} fresh launches"
            for (record, ratio), slow in zip(self.suspect_ratios, verdicts, strict=True)
            if slow
        ]
        self.provenance |= {"tuning": self.tuning, "launches": self.launches}
        results = Results(
            tuple(self.records),
            tuple(self.samples),
            self.provenance,
            tuple(self.suspect_samples),
            complete=not self.ended_early,
        )
        return Outcome(results, self.violations, slower, self.ended_early)


def bench_lab(
    description: Description,
    libraries: Sequence[str],
    placements: Sequence[str],
    options: BenchOptions,
    suspects: bool,
    console: Console,
    ranks: int | None = None,
) -> Outcome:
    """Every library and placement in the lab, which is brought up once."""
    run = Bench(options, suspects, console)
    with Lab(description, library=libraries[0], placement=placements[0], n_ranks=ranks) as lab:
        run.provenance["lab"] = {"network": description.name, "digest": description.digest()}
        with run.keeping():
            for library in libraries:
                for placement in placements:
                    lab.use(library, placement, ranks)
                    run.measure(jobs.LabPlace(lab), lab_bounds(lab))
    return run.outcome()


def bench_launcher(
    words: Sequence[str], library: str | None, options: BenchOptions, suspects: bool, console: Console
) -> Outcome:
    """The ranks that a launcher prefix starts."""
    line = launch.parse_bare_prefix(words, "eco bench")
    run = Bench(options, suspects, console)
    run.provenance["command"] = list(words)
    with run.keeping():
        run.measure(jobs.LauncherPlace(line, library), no_bounds)
    return run.outcome()


def provenance() -> dict[str, Any]:
    """Where and with what the samples were taken."""
    return {
        "eco_version": __version__,
        "commit": _commit(),
        "measured_at": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "machine": {
            "name": platform.node(),
            "kernel": platform.release(),
            "cores": os.cpu_count(),
            "processor": _processor(),
        },
        "estimator": "median over paired launches of (median call stock / median call ECO), "
        "95 % percentile bootstrap",
    }


def _processor() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.machine()


def _commit() -> str | None:
    """The checkout's commit, where there is one."""
    root = Path(__file__).resolve().parents[2]
    if not (root / ".git").exists():
        return None
    try:
        answer = subprocess.run(["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=12"],
                                capture_output=True, text=True, timeout=10, check=False)  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    return answer.stdout.strip() or None
