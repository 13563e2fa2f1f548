"""Launcher command lines: where the launcher's options end, where each program begins.

    line = parse(["mpirun", "-n", "8", "./app", "in.txt"])
    line.wrapped(["eco-exec"])          # mpirun -n 8 eco-exec ./app in.txt
    parse_prefix(["mpirun", "-n", "8"]).started(["eco-rank-openmpi", "bench"])

Which options take how many values changes with every release of a launcher, so it is data
(`data/launchers.json`). An option that the table doesn't know is an error, never a guess: wrapping the wrong
word would start some ranks without ECO. ``eco-exec`` written before the program by hand always works.
"""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from eco import abis, elf, paths
from eco.errors import CorruptFile, InvalidArgument, Unsupported

#: How long a launcher may take to say its version: slow file systems take seconds.
VERSION_TIMEOUT_S = 30.0

#: Without these Open MPI's launchers refuse to start anything as root.
AS_ROOT = {
    f"{prefix}_ALLOW_RUN_AS_ROOT{suffix}": "1" for prefix in ("OMPI", "PRTE") for suffix in ("", "_CONFIRM")
}

BY_HAND = "write eco-exec before the program yourself, for example: mpirun -n 8 eco-exec ./app"


@dataclass(frozen=True)
class Launcher:
    """What is known of one family of launchers."""

    family: str
    versions: str
    commands: tuple[str, ...]
    library: str | None  # the backend its programs use; None: the launcher starts any library's programs
    recognise: str
    dashes: str
    separator: str
    file_options: frozenset[str]
    values: dict[str, int]  # option -> number of values that follow it
    optional: frozenset[str]
    pair: frozenset[str]
    last_executed_on: str | None


@dataclass(frozen=True)
class Part:
    """One program of a command line: launcher options, then the program's words."""

    options: tuple[str, ...]
    program: tuple[str, ...]


@dataclass(frozen=True)
class LauncherLine:
    """A whole command line, split."""

    command: str
    launcher: Launcher
    parts: tuple[Part, ...]

    def words(self) -> list[str]:
        """The command line put together again."""
        out = [self.command]
        for i, part in enumerate(self.parts):
            if i:
                out.append(self.launcher.separator)
            out += [*part.options, *part.program]
        return out

    def wrapped(self, wrapper: Sequence[str]) -> list[str]:
        """The line with `wrapper` before every program that isn't wrapped already."""
        parts = tuple(
            part if is_wrapped(part.program) else Part(part.options, (*wrapper, *part.program))
            for part in self.parts
        )
        return replace(self, parts=parts).words()

    def started(self, program: Sequence[str]) -> list[str]:
        """The line, given without a program, starting this one."""
        parts = tuple(Part(part.options, tuple(program)) for part in self.parts)
        return replace(self, parts=parts).words()


def is_wrapped(program: Sequence[str]) -> bool:
    """The user wrote eco-exec himself."""
    return bool(program) and Path(program[0]).name == "eco-exec"


@functools.cache
def launchers() -> tuple[Launcher, ...]:
    """Every family in the table, in the order in which they are recognised."""
    path = paths.data_dir() / "launchers.json"
    try:
        document = json.loads(path.read_text())
        if document["schema"] != "eco.launchers" or document["version"] != 1:
            raise CorruptFile(
                f"{path}: expected eco.launchers version 1, got {document['schema']} {document['version']}"
            )
        return tuple(_launcher(entry) for entry in document["launchers"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CorruptFile(f"{path}: {error}; install ECO again") from error


def _launcher(entry: dict[str, Any]) -> Launcher:
    options = entry["options"]
    return Launcher(
        family=str(entry["family"]),
        versions=str(entry["versions"]),
        commands=tuple(entry["commands"]),
        library=None if entry["library"] is None else str(entry["library"]),
        recognise=str(entry["recognise"]),
        dashes=str(entry["dashes"]),
        separator=str(entry["separator"]),
        file_options=frozenset(entry["file_options"]),
        values={name: int(count) for count in ("0", "1", "2") for name in options[count]},
        optional=frozenset(options["optional"]),
        pair=frozenset(options["pair"]),
        last_executed_on=None if entry["last_executed_on"] is None else str(entry["last_executed_on"]),
    )


def known_commands() -> list[str]:
    """The names that ECO accepts as launchers."""
    return sorted({command for launcher in launchers() for command in launcher.commands})


def is_launcher(word: str) -> bool:
    """By name alone; `mpirun.openmpi` and `mpiexec-mpich-mp` are launchers too."""
    return any(re.fullmatch(re.escape(c) + r"([.-].*)?", Path(word).name) for c in known_commands())


def of_library(library: str) -> Launcher:
    """The newest family that starts this library's programs, for launchers that need not be asked (the lab's)."""
    return [found for found in launchers() if found.library == library][-1]


def recognise(version_text: str) -> Launcher | None:
    """The family of a launcher by what it prints for --version."""
    for launcher in launchers():
        if re.search(launcher.recognise, version_text):
            return launcher
    return None


def _find(command: str) -> str:
    """Where the launcher is. Throws InvalidArgument."""
    found = shutil.which(command)
    if found is None:
        raise InvalidArgument(
            f"{command}: no such launcher on PATH; load the MPI module, or give its full path"
        )
    return found


@functools.cache
def detect(command: str) -> Launcher:
    """Asks the launcher for its version.

    Throws InvalidArgument where there is no such launcher or ECO doesn't know it.
    """
    if not is_launcher(command):
        raise InvalidArgument(
            f"{command!r} is not a launcher that ECO knows ({', '.join(known_commands())}); "
            f"start with one of these, or {BY_HAND}"
        )
    _find(command)
    try:
        answer = subprocess.run(
            [command, "--version"], capture_output=True, text=True, timeout=VERSION_TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise InvalidArgument(
            f"{command} --version did not answer within {VERSION_TIMEOUT_S:.0f} s; {BY_HAND}"
        ) from error
    except OSError as error:
        raise InvalidArgument(f"{command}: {error.strerror}; {BY_HAND}") from error
    text = answer.stdout + answer.stderr
    found = recognise(text)
    if found is None:
        first = text.strip().splitlines()[0] if text.strip() else "nothing"
        raise Unsupported(f"{command} --version says {first!r}: not a launcher that ECO knows; {BY_HAND}")
    return found


def parse(words: Sequence[str], launcher: Launcher | None = None) -> LauncherLine:
    """Splits a whole command line. Every part must have a program."""
    line = parse_prefix(words, launcher)
    for part in line.parts:
        if not part.program:
            raise InvalidArgument(
                f"no program in {' '.join(words)!r}: expected LAUNCHER [options] PROGRAM [arguments]"
            )
    return line


def parse_prefix(words: Sequence[str], launcher: Launcher | None = None) -> LauncherLine:
    """Splits a command line that may lack the program (eco characterize, tune and bench bring their own)."""
    if not words:
        raise InvalidArgument("no launcher given: expected, for example, -- mpirun -n 8")
    known = launcher or detect(words[0])
    parts: list[Part] = []
    rest = list(words[1:])
    while True:
        part, rest, more = _part(rest, known, words[0])
        parts.append(part)
        if not more:
            return LauncherLine(words[0], known, tuple(parts))


def _part(words: list[str], launcher: Launcher, command: str) -> tuple[Part, list[str], bool]:
    """One program's options and words, what follows its separator, and whether there was one."""
    options: list[str] = []
    while words and words[0].startswith("-") and words[0] not in ("-", launcher.separator):
        count = _width(words, launcher, command)
        if count > len(words):
            raise InvalidArgument(
                f"{command}: option {words[0]} needs {count - 1} value(s), the line ends before"
            )
        options += words[:count]
        ended = words[0] == "--"
        words = words[count:]
        if ended:
            break
    if launcher.separator in words:
        end = words.index(launcher.separator)
        return Part(tuple(options), tuple(words[:end])), words[end + 1 :], True
    return Part(tuple(options), tuple(words)), [], False


def _width(words: list[str], launcher: Launcher, command: str) -> int:
    """How many words the option at the front takes, itself included."""
    word = words[0]
    if word == "--":
        return 1
    if launcher.dashes == "getopt" and not word.startswith("--"):
        return _width_of_letters(word, launcher, command)
    name, equals, value = word.lstrip("-").partition("=")
    if name in launcher.file_options:
        raise Unsupported(
            f"{command} {word}: its programs are named in a file that ECO doesn't rewrite; {BY_HAND}"
        )
    if name in launcher.pair:  # NAME VALUE, or NAME=VALUE in one word
        if equals:
            return 1 if "=" in value else 2
        return 2 if len(words) > 1 and "=" in words[1] else 3
    if name in launcher.optional:
        return 1
    if name not in launcher.values:
        raise Unsupported(
            f"{command}: option {word} is not in ECO's table for {launcher.family} {launcher.versions}, "
            f"so it can't tell where the program begins; {BY_HAND}"
        )
    count = launcher.values[name]
    if equals and count == 0:
        return 1
    return 1 + count - (1 if equals else 0)


def _width_of_letters(word: str, launcher: Launcher, command: str) -> int:
    """`-n 4`, `-n4`, `-ul`, `-uln4`: letters of a getopt line."""
    for i, letter in enumerate(word[1:], start=1):
        if letter in launcher.optional:
            return 1  # its value, if any, is in the same word
        if letter not in launcher.values:
            raise Unsupported(
                f"{command}: option -{letter} in {word} is not in ECO's table for {launcher.family}, "
                f"so it can't tell where the program begins; {BY_HAND}"
            )
        if launcher.values[letter]:
            return 1 if len(word) > i + 1 else 2
    return 1


@dataclass(frozen=True)
class Installation:
    """Where the launcher's MPI library lies."""

    library: str  # the ABI of the programs that it starts: "openmpi", "mpich", "mpi-abi"
    prefix: Path
    library_dir: Path | None  # None: the loader finds it by itself


def installation(line: LauncherLine, library: str | None = None) -> Installation:
    """The library whose programs this launcher starts.

    A launcher of no library (srun) needs to be told, as does one that is to start programs of the standard ABI.
    """
    name = library or line.launcher.library
    if name is None:
        raise InvalidArgument(
            f"{line.command} starts programs of any MPI: say which with --library openmpi, mpich or mpi-abi"
        )
    abi = abis.by_name(name)
    launcher = _find(line.command)
    # The launcher may be a link to a wrapper elsewhere (Debian's alternatives): its own directory comes
    # first.
    prefixes = [Path(launcher).absolute().parent.parent, Path(launcher).resolve().parent.parent]
    for prefix in prefixes:
        for directory in (prefix / "lib", prefix / "lib64"):
            if abi in abis.in_directory(directory):
                return Installation(name, prefix, directory)
    return Installation(name, prefixes[-1], None)


def library_environment(where: Installation) -> dict[str, str]:
    """What a program linked by soname alone needs to find the library."""
    if where.library_dir is None:
        return {}
    inherited = os.environ.get("LD_LIBRARY_PATH")
    return {"LD_LIBRARY_PATH": str(where.library_dir) + (f":{inherited}" if inherited else "")}


def is_static(program: Sequence[str]) -> bool:
    """Whether this executable has no dynamic loader, which would put ECO under it."""
    path = shutil.which(program[0]) if program else None
    return path is not None and elf.has_loader(Path(path)) is False


def _behind_eco_exec(program: Sequence[str]) -> Sequence[str]:
    """The program's own words, without an eco-exec that the user wrote."""
    if not is_wrapped(program):
        return program
    words = list(program[1:])
    while words and words[0].startswith("--"):
        word = words.pop(0)
        if word == "--":
            break
        if word == "--set":
            words = words[1:]
    return words


def why_native(line: LauncherLine) -> str | None:
    """Why this job must run without ECO as a whole, if it must.

    A static program takes nothing under it, so its ranks could not even agree with the others.
    """
    for part in line.parts:
        program = _behind_eco_exec(part.program)
        if is_static(program):
            return f"{program[0]} is statically linked, so nothing can be put under it"
    return None


def why_alone(line: LauncherLine) -> str | None:
    """Why each process of this job may take itself for its only rank, if a program says so.

    A likely mistake and no more: some builds of a library start under launchers of another.
    """
    for part in line.parts:
        program = _behind_eco_exec(part.program)
        abi = linked_with(program)
        if abi and line.launcher.library and abi.name != line.launcher.library:
            return (
                f"{program[0]} is linked with {abi.serves}, and {line.command} starts programs of "
                f"{abis.by_name(line.launcher.library).serves}: if each process says that it is rank 0 of 1, "
                "take the launcher of the program's own library"
            )
    return None


def linked_with(program: Sequence[str]) -> abis.Abi | None:
    """The ABI of the MPI library that an executable names, where programs of that ABI have launchers of their own."""
    path = shutil.which(program[0]) if program else None
    names = elf.needed(Path(path)) if path else ()
    own = {launcher.library for launcher in launchers()}
    return next(
        (abi for abi in abis.all_abis() if abi.name in own and {*abi.sonames, *abi.bindings} & set(names)),
        None,
    )


def why_missing(line: LauncherLine) -> str | None:
    """Which program is not on this host, where that is so: after a launch that failed, the likely reason."""
    for part in line.parts:
        program = _behind_eco_exec(part.program)
        if program and shutil.which(program[0]) is None:
            where = f"in {Path.cwd()}" if os.sep in program[0] else "on PATH"
            return f"there is no executable {program[0]} {where} on this host"
    return None
