"""Measuring stock against ECO: interleaved launches of eco-rank bench, in the lab or on a launcher.

    options = BenchOptions(["broadcast"], [8])
    outcome = bench_lab(load("three-subnets"), ["openmpi"], ["block"], options, False, console)
    outcome.results.records

docs/benchmarking.md states the estimator, what counts as slower, and what the bound is. Read `Bench.measure`
first; `pairs` starts the launches.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rich.console import Console

from eco import jobs, paths, stats
from eco.errors import EcoError, InvalidArgument
from eco.lab import Description, Lab
from eco.lab.bounds import Bound, bound_s
from eco.pairs import BenchOptions, Series, complete_pairs, launches
from eco.provenance import provenance
from eco.report.progress import launch_progress
from eco.report.records import Record, Results, Sample, record_of, seconds_text
from eco.tune import Part, TuneOptions, tune_place

#: The relay lets each packet go at its time, late ones at once: a rate is right to about this share.
RATE_UNCERTAINTY = 0.01
#: In the lab all ranks read one clock, and a call's time counts from the common instant: a rank that wakes late only
#: lengthens it. What is left are the clock's readings and the relay's rounding of times, a microsecond or two each.
CLOCK_UNCERTAINTY_S = 5e-6


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
            how = TuneOptions(anew=True, timeout_s=self.options.timeout_s)
            seconds = tune_place(place, [Part(self.options.words())], self.console, how)
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
    place = jobs.launcher_place(words, library, "eco bench")
    run = Bench(options, suspects, console)
    run.provenance["command"] = [paths.without_checkout(word) for word in words]
    with run.keeping():
        run.measure(place, no_bounds)
    return run.outcome()
