"""`eco run`: the unmodified program with ECO under it.

eco run -- mpirun -n 8 ./app            # becomes: mpirun -n 8 eco-exec ./app
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from eco import _core, jobs, launch, plans
from eco import network as networks
from eco.cli.options import LauncherLine, NetworkToUse, PlanToUse, Settings
from eco.errors import CorruptFile, EcoError, InvalidArgument
from eco.report.records import check_writable, read_json
from eco.spelling import did_you_mean


@dataclass(frozen=True)
class Prepared:
    """The command line to become, and what to tell the user before."""

    command: list[str]
    warnings: list[str] = field(default_factory=list)  # why it runs without ECO
    hints: list[str] = field(default_factory=list)  # what is likely a mistake, though it runs


@dataclass(frozen=True)
class RunOptions:
    """What `eco run` was asked for."""

    network: Path | None = None
    plan: Path | None = None
    report: Path | None = None
    mode: str = "on"  # on, off, observe
    measure: str | None = None  # never, auto
    budget_s: float | None = None
    settings: dict[str, str] = field(default_factory=dict)
    transport: str | None = None  # auto, mpi, tcp, ucx


def why_unusable(path: Path, schema: str, version: int) -> str | None:
    """Why a file of the user's can't be used; whether it speaks of the job's hosts only the ranks can tell."""
    try:
        read_json(path, schema, version)
        if schema == networks.SCHEMA[0]:
            networks.load(path)
    except CorruptFile as error:
        return str(error)
    return None


def prepare(words: Sequence[str], options: RunOptions) -> Prepared:
    """Decides what to start. Throws where the command line itself is not understood."""
    line = launch.parse(words)
    if options.mode == "off":
        return Prepared(line.words())
    native = launch.why_native(line)
    if native:
        return Prepared(line.words(), [f"{native}; the whole job runs without ECO"])
    for path, (schema, version) in ((options.network, networks.SCHEMA), (options.plan, plans.SCHEMA)):
        bad = why_unusable(path, schema, version) if path else None
        if bad:
            return Prepared(line.words(), [f"{bad}; the program runs without ECO"])
    return Prepared(line.wrapped(jobs.eco_exec(settings_of(options))), hints=hints_of(line))


def hints_of(line: launch.LauncherLine) -> list[str]:
    """What is likely a mistake in a command line that can be started."""
    alone = launch.why_alone(line)
    return [alone] if alone else []


def unknown_settings(settings: Mapping[str, str]) -> list[str]:
    """Of those, what looks like options of ECO's and is none. Ranks that are not quiet say it themselves."""
    known = [variable for variable, _, _ in _core.option_docs()]
    return [
        f"{name} is no option of ECO's and is ignored; `eco doctor` lists those there are{did_you_mean(name, known)}"
        for name in _core.unknown_variables(sorted(settings))
    ]


def lost_report(options: RunOptions) -> list[str]:
    """Why there may be no report, before the program takes its hours. Rank 0 writes it, perhaps on another host."""
    if options.report is None:
        return []
    if options.mode == "off":
        return [f"--report {options.report}: without ECO there is no report"]
    try:
        check_writable(options.report)
    except InvalidArgument as error:
        return [f"{error}; rank 0 will write there, and may not be able to"]
    return []


def tell(lines: Sequence[str]) -> None:
    """What the user should know and need not stop for."""
    for line in lines:
        print(f"eco: {line}", file=sys.stderr)


def settings_of(options: RunOptions) -> dict[str, str]:
    """The ECO_* variables that every rank gets."""
    settings = dict(options.settings)
    if options.network:
        settings["ECO_NETWORK"] = str(options.network.absolute())
    if options.plan:
        settings["ECO_PLAN"] = str(options.plan.absolute())
    if options.report:
        settings["ECO_REPORT"] = str(options.report.absolute())
    if options.mode != "on":
        settings["ECO"] = options.mode
    if options.transport:
        if options.transport not in ("auto", "mpi", "tcp", "ucx"):
            raise InvalidArgument(f"--transport {options.transport}: expected auto, mpi, tcp or ucx")
        settings["ECO_TRANSPORT"] = options.transport
    if options.measure:
        if options.measure not in ("never", "auto"):
            raise InvalidArgument(f"--measure {options.measure}: expected never or auto")
        settings["ECO_MEASURE"] = options.measure
    if options.budget_s is not None:
        if options.budget_s < 0:
            raise InvalidArgument(f"--budget {options.budget_s:g}: expected seconds, 0 for no limit")
        settings["ECO_BUDGET"] = f"{options.budget_s:g}"
    return settings


def parse_settings(pairs: Sequence[str]) -> dict[str, str]:
    """`NAME=VALUE` words."""
    settings = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise InvalidArgument(f"--set {pair}: expected NAME=VALUE")
        settings[name] = value
    return settings


def run(
    command: LauncherLine,
    network: NetworkToUse = None,
    plan: PlanToUse = None,
    report: Annotated[
        Path | None, typer.Option(help="write what was served and passed, as JSON", metavar="FILE")
    ] = None,
    off: Annotated[bool, typer.Option("--off", help="start the program without ECO")] = False,
    observe: Annotated[
        bool, typer.Option("--observe", help="time the library's own calls, change nothing")
    ] = False,
    transport: Annotated[
        str | None,
        typer.Option(
            help="auto, mpi, tcp or ucx: what carries ECO's messages (auto: TCP over several rails)"
        ),
    ] = None,
    measure: Annotated[
        str | None, typer.Option(help="never or auto: may the job measure what is not known")
    ] = None,
    budget: Annotated[
        float | None, typer.Option(help="seconds for measuring in the job (5); 0: no limit")
    ] = None,
    set_: Settings = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="print the command line and stop")] = False,
) -> None:
    """Run an unmodified MPI program with ECO under it.

    Inserts eco-exec before every program of the launcher's command line; the exit code is the program's.
    """
    if off and observe:
        raise InvalidArgument("--off and --observe exclude each other")
    options = RunOptions(
        network, plan, report, "off" if off else "observe" if observe else "on", measure, budget,
        parse_settings(set_ or []), transport)  # fmt: skip
    prepared = prepare(command, options)
    tell([*prepared.warnings, *prepared.hints])
    if dry_run:
        tell(unknown_settings(options.settings))
        print(shlex.join(prepared.command))
        return
    tell(lost_report(options))
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execvp(prepared.command[0], prepared.command)
    except OSError as error:
        raise EcoError(f"{prepared.command[0]}: {error.strerror}") from error
