"""`eco compare`: the same program stock and with ECO, alternating.

    eco compare -- mpirun -n 8 ./app

Both kinds of launches have the same preload: the stock ones run under ECO=observe, which times the library's
own collectives and changes nothing, so that the seconds spent in collectives can be compared too.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from eco import jobs, launch, paths, plans, rank, stats
from eco import network as networks
from eco.cli.options import LauncherLine, NetworkToUse, PlanToUse, Settings, output_file
from eco.cli.run import (
    RunOptions,
    hints_of,
    parse_settings,
    settings_of,
    tell,
    unknown_settings,
    why_unusable,
)
from eco.errors import CorruptFile, EcoError, InvalidArgument
from eco.report.progress import make_console
from eco.report.records import seconds_text, write_json

SCHEMA, VERSION = "eco.compare", 1
#: Of the wall time: less than this is lost in what launches scatter.
SHOWS = 0.05
#: Of launches without a report.
UNKNOWN = (
    "but whether ECO served anything is not known, no report came back: does the program call MPI, does `eco run` with "
    "the same options say what is wrong, is rank 0 on a host with another file system?"
)

#: Starts one command to its end; the lab and a plain launcher differ here alone.
Start = Callable[[Sequence[str], float | None], jobs.Ended]


@dataclass(frozen=True)
class ProgramLaunch:
    """One start of the program."""

    mode: str  # "stock" or "eco"
    order: int
    wall_s: float
    #: In collectives that reports count, mean over ranks; None where no report came back.
    collective_s: float | None
    measuring_s: float  # of that, spent on measuring and arming: not the program's

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Comparison:
    """All launches and what they say."""

    command: tuple[str, ...]
    launches: tuple[ProgramLaunch, ...]
    preparation_s: float  # the unrecorded first launch with ECO: it measures, plans and remembers
    measuring_s: float = 0.0  # of that, spent on measuring and arming

    def times(self, mode: str, what: str) -> list[float]:
        values = [getattr(launch, what) for launch in self.launches if launch.mode == mode]
        return [] if None in values else values

    def ratio(self, what: str) -> stats.Ratio | None:
        """Stock over ECO; None where a time is unknown or nothing was spent."""
        stock, eco = self.times("stock", what), self.times("eco", what)
        if not stock or not eco or min(*stock, *eco) <= 0:
            return None
        return stats.ratio_of_launches([[s] for s in stock], [[e] for e in eco])

    def verdict(self) -> str:
        """Plain words, also where there is nothing to gain."""
        wall, inside = self.ratio("wall_s"), self.ratio("collective_s")
        share, still_s = self.collective_share(), self.still_measured_s()
        few = "" if len(self.times("eco", "wall_s")) >= stats.MIN_LAUNCHES else (
            f" (few launches: -n {stats.MIN_LAUNCHES} or more would prove it)"
        )  # fmt: skip
        if wall is None:
            return "nothing was measured"
        is_known = bool(self.times("eco", "collective_s"))
        if wall.low > 1:
            text = f"the program is {wall.ratio:.2f} times as fast with ECO{few}"
        elif wall.high < 1 and round(1 / wall.ratio, 2) > 1:
            text = f"the program takes {1 / wall.ratio:.2f} times as long with ECO{few}"
            text += "" if still_s or not is_known else "; please report this"
        else:
            text = "no gain: the program takes the same time with ECO, within what the launches scatter"
            if share is not None and share < 0.05:
                text += f"; it spends only {share:.1%} of its time in collectives that ECO can make faster"
            elif inside is not None and inside.low > 1:
                saved = 0.0 if share is None else share * (1 - 1 / inside.ratio)
                text += f"; its collectives are {inside.ratio:.2f} times as fast, " + (
                    "too small a part to show" if saved < SHOWS else "which more launches may show"
                )
        if still_s:
            text += (
                f"; up to {seconds_text(still_s)} of ECO's launches went into measuring and planning, "
                "which is remembered: compare once more"
            )
        return text if is_known else f"{text}; {UNKNOWN}"

    def still_measured_s(self) -> float:
        """Of ECO's launches the most that one spent on measuring and arming; 0 where that is too little to count."""
        wall, measuring = self.times("eco", "wall_s"), self.times("eco", "measuring_s")
        return max(measuring) if measuring and max(measuring) >= SHOWS * stats.median(wall) else 0.0

    def collective_share(self) -> float | None:
        """Of the stock wall time, the part spent in collectives that reports count: not in alltoallv and its like."""
        wall, inside = self.times("stock", "wall_s"), self.times("stock", "collective_s")
        return stats.median(inside) / stats.median(wall) if wall and inside else None

    def to_dict(self) -> dict[str, Any]:
        command = [paths.without_checkout(word) for word in self.command]
        out: dict[str, Any] = {"schema": SCHEMA, "version": VERSION, "command": command}
        for what in ("wall_s", "collective_s"):
            ratio = self.ratio(what)
            out[what.replace("_s", "")] = {
                "stock_median_s": stats.median(self.times("stock", what))
                if self.times("stock", what)
                else None,
                "eco_median_s": stats.median(self.times("eco", what)) if self.times("eco", what) else None,
                "ratio": ratio.to_dict() if ratio else None,
            }
        out |= {"verdict": self.verdict(), "preparation_s": self.preparation_s}
        out["launches"] = [one.to_dict() for one in self.launches]
        return out


def compare_line(
    line: launch.LauncherLine,
    n: int,
    options: RunOptions,
    start: Start,
    timeout_s: float | None,
    step: Callable[[str], None],
) -> Comparison:
    """n pairs of launches of a whole command line, after one unrecorded launch that measures and plans."""
    if n < 1:
        raise InvalidArgument(f"-n {n}: at least one pair of launches is needed")
    native = launch.why_native(line)
    if native:
        raise EcoError(f"{native}: both kinds of launches would be the same program; nothing to compare")
    step("preparing: the network is measured, plans are made")
    first = _first_launch(line, options, start, timeout_s, step)
    done: list[ProgramLaunch] = []
    try:
        for pair in range(n):
            for mode in ("stock", "eco") if pair % 2 == 0 else ("eco", "stock"):
                step(f"launch {pair + 1}, {mode}")
                done.append(_launch(line, mode, len(done), options, start, timeout_s))
    except KeyboardInterrupt:
        done = done[: len(done) // 2 * 2]  # complete pairs are worth keeping
        if not done:
            raise
    return Comparison(tuple(line.words()), tuple(done), first.wall_s, first.measuring_s)


def _first_launch(
    line: launch.LauncherLine,
    options: RunOptions,
    start: Start,
    timeout_s: float | None,
    step: Callable[[str], None],
) -> ProgramLaunch:
    """The one that measures and plans. Where it fails one without ECO says whose failure it is."""
    try:
        return _launch(line, "eco", -1, options, start, timeout_s)
    except jobs.JobError as error:
        step("it failed; once without ECO, to know whose failure that is")
        _check(start(line.words(), timeout_s), "stock", line)
        raise jobs.JobError(f"it failed with ECO and not without, please report this: {error}") from error


def _check(ended: jobs.Ended, mode: str, line: launch.LauncherLine) -> None:
    missing = launch.why_missing(line)
    advice = "a program that fails can't be compared" + (f" ({missing})" if missing else "")
    jobs.check(ended, f"{mode} launch of {' '.join(line.words())}", advice)


def _launch(
    line: launch.LauncherLine,
    mode: str,
    order: int,
    options: RunOptions,
    start: Start,
    timeout_s: float | None,
) -> ProgramLaunch:
    with jobs.scratch("compare") as folder:
        report = folder / "report.json"
        settings = {**settings_of(options), "ECO_REPORT": str(report), "ECO_QUIET": "1"}
        if mode == "stock":
            settings["ECO"] = "observe"
        command = line.wrapped(jobs.eco_exec(settings))
        began = time.monotonic()
        ended = start(command, timeout_s)
        wall_s = time.monotonic() - began
        _check(ended, mode, line)
        try:
            told = rank.read_report(report)
        except CorruptFile:  # rank 0 ran on a host with another file system
            return ProgramLaunch(mode, order, wall_s, None, 0.0)
        return ProgramLaunch(mode, order, wall_s, told.collective_s, told.arming_s)


def write(comparison: Comparison, path: Path) -> None:
    """Every launch and what they say, as JSON."""
    write_json(path, comparison.to_dict())


def show(comparison: Comparison, console: Console) -> None:
    """The table and the verdict."""
    pairs = len(comparison.launches) // 2
    table = Table(
        title=f"{' '.join(comparison.command)}: {pairs} paired launches",
        title_justify="left",
        box=box.SIMPLE_HEAD,
    )
    for name in ("", "stock", "ECO", "stock / ECO"):
        table.add_column(name, justify="right" if name else "left", no_wrap=True)
    for what, title in (("wall_s", "wall time"), ("collective_s", "in collectives")):
        stock, eco, ratio = (
            comparison.times("stock", what),
            comparison.times("eco", what),
            comparison.ratio(what),
        )
        if not stock or not eco:
            table.add_row(title, "?", "?", "no report came back")
            continue
        table.add_row(
            title,
            _with_range(stock),
            _with_range(eco),
            _ratio_text(ratio) if ratio else "-",
        )
    console.print(table)
    console.print(comparison.verdict(), highlight=False, style="bold")
    console.print(
        f"before these, one launch with ECO took {seconds_text(comparison.preparation_s)}"
        + (
            f": {seconds_text(comparison.measuring_s)} of it went into measuring and planning, which is remembered"
            if comparison.measuring_s > 0
            else ""
        ),
        highlight=False,
    )


def _ratio_text(ratio: stats.Ratio) -> str:
    interval = f" ({ratio.low:.2f} to {ratio.high:.2f})" if ratio.launches > 1 else ""
    return f"{ratio.ratio:.2f}{interval}"


def _with_range(values: Sequence[float]) -> str:
    if len(values) == 1:
        return seconds_text(values[0])
    return (
        f"{seconds_text(stats.median(values))} ({seconds_text(min(values))} to {seconds_text(max(values))})"
    )


def compare(
    command: LauncherLine,
    n: Annotated[int, typer.Option("-n", "--launches", help="pairs of launches")] = 6,
    network: NetworkToUse = None,
    plan: PlanToUse = None,
    set_: Settings = None,
    timeout: Annotated[float | None, typer.Option(help="seconds that one launch may take", min=0)] = None,
    json: Annotated[Path | None, output_file("write every launch and the ratios")] = None,
) -> None:
    """Run the same program stock and with ECO, alternating: wall and collective time with intervals.

    Says plainly where there is no gain. The program's own output is not shown.
    """
    options = RunOptions(network, plan, settings=parse_settings(set_ or []))
    for path, (schema, version) in ((network, networks.SCHEMA), (plan, plans.SCHEMA)):
        bad = why_unusable(path, schema, version) if path else None
        if bad:
            raise CorruptFile(f"{bad}; without it there is nothing to compare")
    line = launch.parse(command)
    tell([*hints_of(line), *unknown_settings(options.settings)])
    console = make_console()
    with Progress(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
                  console=console, transient=True, disable=not console.is_terminal) as progress:  # fmt: skip
        task = progress.add_task("", total=2 * n + 1)
        seen = [0]

        def step(title: str) -> None:
            progress.update(task, description=title, completed=seen[0])
            seen[0] += 1

        comparison = compare_line(line, n, options, jobs.run_to_end, timeout, step)
    if json:
        write(comparison, json)
    show(comparison, console)
    sys.stdout.flush()
