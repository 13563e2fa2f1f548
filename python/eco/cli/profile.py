"""`eco profile`: a program's collective calls by operation, size and communicator, and the time they take.

    eco profile -- mpirun -n 8 ./app                      the MPI library's own collectives
    eco profile --with-eco --json p.json -- mpirun -n 8 ./app

    mpirun -n 8 eco-exec --set ECO=observe --set ECO_PROFILE=raw.json ./app       where ECO can't start the launcher
    eco profile --read raw.json

Blocking collectives that ECO knows are counted, on every rank; each call costs three looks at a clock more. Ranks also
keep when they came to some of them, so that who is late has a name; and where a plan is remembered for as many ranks
of this library, what it would save is predicted from its measurements.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from eco import jobs, paths, wisdom
from eco import profile as profiles
from eco.cli.options import NetworkToUse, PlanToUse, Settings, output_file
from eco.cli.run import RunOptions, parse_settings, prepare, tell, unknown_settings
from eco.errors import EcoError, InvalidArgument
from eco.profile import Profile
from eco.report import profile_view
from eco.report.progress import make_console
from eco.savings import plan_for


class NoProfileError(EcoError):
    """The program ran, and no profile came back."""

    def __init__(self, code: int) -> None:
        what = f"the program ended with exit code {code}" if code else "the program ended well"
        super().__init__(
            f"no profile came back ({what}): it comes with MPI_Finalize, from a program that ECO is under on all "
            "ranks, to a folder that rank 0's host shares with this one"
        )
        self.exit_code = code or EcoError.exit_code


def profile_line(words: list[str], options: RunOptions, raw: Path) -> tuple[int, Profile | None]:
    """Runs the program, its input and output untouched: its exit code, and its profile if one came back."""
    settings = {**options.settings, "ECO_PROFILE": str(raw.absolute()), "ECO_QUIET": "1"}
    prepared = prepare(words, replace(options, settings=settings))
    if prepared.warnings:
        raise EcoError(f"{'; '.join(prepared.warnings)}, so there is nothing to profile")
    tell([*prepared.hints, *unknown_settings(options.settings)])
    code = jobs.run_attached(prepared.command)
    return code, profiles.read(raw) if raw.exists() else None


def profile(
    command: Annotated[
        list[str] | None,
        typer.Argument(help="the launcher command line, after --", metavar="[-- LAUNCHER ...]"),
    ] = None,
    with_eco: Annotated[
        bool, typer.Option("--with-eco", help="let ECO serve what it can; else it only looks on")
    ] = False,
    json: Annotated[Path | None, output_file("write the profile")] = None,
    top: Annotated[int, typer.Option(help="how many rows to show, the longest ones", min=1)] = 20,
    read: Annotated[
        Path | None,
        typer.Option(help="show a file of ECO_PROFILE or --json instead of running", metavar="FILE"),
    ] = None,
    network: NetworkToUse = None,
    plan: PlanToUse = None,
    set_: Settings = None,
) -> None:
    """Show a program's collectives: calls, sizes, communicators, and the time they take on mean and slowest rank.

    The program runs as always, and so do its output and exit code; the tables come behind it.
    """
    if (read is None) == (not command):
        raise InvalidArgument(
            "give either a launcher after --, like: eco profile -- mpirun -n 8 ./app, or --read FILE"
        )
    if not with_eco and (network or plan):
        raise InvalidArgument("--network and --plan are for ECO; give --with-eco with them")
    code, found = 0, profiles.read_either(read) if read else None
    if command:
        options = RunOptions(
            network, plan, mode="on" if with_eco else "observe", settings=parse_settings(set_ or [])
        )
        with jobs.scratch("profile") as folder:
            code, found = profile_line(command, options, folder / "raw.json")
    if found is None:
        raise NoProfileError(code)
    if json:
        found.write(json)
    sys.stdout.flush()
    console = make_console()
    profile_view.show(found, console, top)
    remembered, _ = wisdom.collect(paths.cache_dir())
    profile_view.show_savings(found, plan_for(found, remembered), console, top)
    raise typer.Exit(code)
