"""Options that several commands have: one meaning and one help for each.

def tune(command: LauncherPrefix, library: Library = None, ops: Ops = "all") -> None: ...
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from eco.lab.launch import LAUNCHERS
from eco.report.records import PICTURES, check_ending, check_writable, check_writable_in
from eco.topology import MOST_NODES

# What is started.
LauncherPrefix = Annotated[
    list[str], typer.Argument(help="launcher and options", metavar="[--] LAUNCHER ...")
]
LauncherLine = Annotated[
    list[str], typer.Argument(help="the launcher command line", metavar="[--] LAUNCHER ...")
]
LauncherPrefixOrLab = Annotated[
    list[str] | None,
    typer.Argument(help="launcher and options, without a program", metavar="[[--] LAUNCHER ...]"),
]
LabOrLauncher = Annotated[
    str | None, typer.Option("--lab", help="an emulated network: a TOML file or a shipped name")
]
Library = Annotated[str | None, typer.Option(help="with srun: openmpi, mpich or mpi-abi")]
#: Whose programs the lab can start.
LAB_LIBRARIES = ", ".join(LAUNCHERS)
LabLibrary = Annotated[str, typer.Option(help=f"in the lab: one of {LAB_LIBRARIES}")]
LabOrSrunLibrary = Annotated[
    str | None, typer.Option(help=f"in the lab: one of {LAB_LIBRARIES}; with srun: openmpi, mpich or mpi-abi")
]
LabLibraries = Annotated[str, typer.Option(help=f"in the lab: {LAB_LIBRARIES}; a list", metavar="LIST")]
JobTimeout = Annotated[float | None, typer.Option(help="end the job after this many seconds", min=0)]

# What a program with ECO under it is given.
NetworkToUse = Annotated[
    Path | None, typer.Option(help="use this network file instead of the remembered one", metavar="FILE")
]
PlanToUse = Annotated[Path | None, typer.Option(help="use this plan file as it is", metavar="FILE")]
Settings = Annotated[list[str] | None, typer.Option("--set", help="NAME=VALUE for every rank")]

# What is measured.
Ops = Annotated[str, typer.Option(help="operations, or all")]
Sizes = Annotated[str, typer.Option(help="bytes, with KiB, MiB, kB, MB")]
LabPlacements = Annotated[
    str, typer.Option(help="in the lab: block, round-robin, shuffled:SEED; a list", metavar="LIST")
]
LaunchTimeout = Annotated[float, typer.Option(help="seconds that one launch may take")]

MostTimes = Annotated[float, typer.Option(help="leave out what is predicted to take so many times the best")]

# What is predicted.
NetworkFile = Annotated[
    Path | None, typer.Option(help="a network file; else the one remembered last", metavar="FILE")
]
Placement = Annotated[
    str, typer.Option(help="block, round-robin, shuffled:SEED, or the host number of each rank: 0,0,1")
]
Ranks = Annotated[int | None, typer.Option(help="how many; else one for each host", min=1, max=MOST_NODES)]
Root = Annotated[int, typer.Option(help="of a broadcast, reduce, scatter or gather")]


def _checked(file: Path | None) -> Path | None:
    if file is not None:
        check_writable(file)
    return file


def output_file(does: str, *names: str) -> Any:
    """The option of a file that a command writes at its end: looked at before the work, which may take long."""
    return typer.Option(*names, help=does, metavar="FILE", callback=_checked)


def output_picture(does: str, *names: str, endings: Sequence[str] = PICTURES) -> Any:
    """The same for a picture, whose name says its kind."""

    def checked(file: Path | None) -> Path | None:
        if file is not None:
            check_ending(file, endings)
        return _checked(file)

    return typer.Option(*names, help=does, metavar="FILE", callback=checked)


def output_argument(does: str) -> Any:
    """The same for a file that is an argument."""
    return typer.Argument(help=does, metavar="FILE", callback=_checked)


def _checked_folder(folder: Path | None) -> Path | None:
    if folder is not None:
        check_writable_in(folder)
    return folder


def output_folder(does: str) -> Any:
    """The same for a folder of files."""
    return typer.Option(help=does, metavar="DIR", callback=_checked_folder)


def words_of(text: str) -> list[str]:
    """A comma-separated list, each word once."""
    return list(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))
