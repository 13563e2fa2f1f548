"""The command `eco`: a registry with one line per command, each imported only when it is called.

A command is a module `eco.cli.<name>` with a function of that name (typer reads its signature), or with an `app`
(typer.Typer) where it has commands of its own. A module that is not there does not appear.
"""

import importlib
import importlib.util
import io
import os
import sys
from collections.abc import Iterator
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from eco import __version__
from eco.errors import EcoError, InvalidArgument
from eco.spelling import did_you_mean

#: In the order of `eco --help`, which is the order in which one meets them.
COMMANDS = (
    "demo",
    "run",
    "compare",
    "profile",
    "bench",
    "characterize",
    "tune",
    "wisdom",
    "guidelines",
    "export",
    "show",
    "explain",
    "lab",
    "predict",
    "map",
    "trace",
    "validate",
    "record",
    "verify",
    "fuzz",
    "doctor",
)

#: Typer's own frames and locals are no help to who reads the trace of a defect.
SETTINGS: dict[str, Any] = {"pretty_exceptions_enable": False, "rich_markup_mode": "rich"}


#: Of numbers on a command line: the C++ core counts in int, and no wait is longer.
MOST = 2**31 - 1


def all_of(command: Any) -> Iterator[Any]:
    """A command, and all below where it is a group."""
    yield command
    for below in getattr(command, "commands", {}).values():
        yield from all_of(below)


def check_values(command: Any) -> None:
    """Its numbers fit where they go, and its words are text.

    What a type says by itself lets NaN through, and bytes that are none but in the names of files.
    """
    names = {parameter.name: max(parameter.opts, key=len) for parameter in command.params}
    inner = command.callback

    def call(*args: Any, **values: Any) -> Any:
        for name, value in values.items():
            if isinstance(value, int | float) and not abs(value) <= MOST:
                raise InvalidArgument(f"{names[name]} {value}: expected a number of at most {MOST}")
            if isinstance(value, str) and value.encode(errors="ignore").decode() != value:
                raise InvalidArgument(f"{names[name]} {value!a}: expected UTF-8")
        return inner(*args, **values)

    if inner is not None:
        command.callback = call


def keep_launcher_whole(command: Any) -> None:
    """A launcher's line is taken as it is from its first word on, with or without `--`."""
    arguments = [parameter for parameter in command.params if parameter.param_type_name == "argument"]
    if [(argument.name, argument.nargs) for argument in arguments] == [("command", -1)]:
        command.allow_interspersed_args = False


def has_module(name: str) -> bool:
    return importlib.util.find_spec(f"eco.cli.{name}") is not None


class Registry(TyperGroup):
    """The commands of COMMANDS, each loaded when it is asked for."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [name for name in COMMANDS if has_module(name)]

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Typer looks for what was meant among commands that are loaded, and none is yet."""
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            ctx.fail(f"No such command {name!r}{did_you_mean(name, self.list_commands(ctx))}")
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS or not has_module(cmd_name):
            return None
        module = importlib.import_module(f"eco.cli.{cmd_name}")
        group = getattr(module, "app", None)
        if group is None:
            group = typer.Typer(add_completion=False, **SETTINGS)
            group.command(name=cmd_name)(getattr(module, cmd_name))
        command = typer.main.get_command(group)
        command.name = cmd_name
        for each in all_of(command):
            check_values(each)
            keep_launcher_whole(each)
        return command


app = typer.Typer(cls=Registry, no_args_is_help=True, add_completion=False, **SETTINGS)


def print_version(wanted: bool) -> None:
    if wanted:
        print(f"eco {__version__}")
        raise typer.Exit


@app.callback()
def eco(
    version: Annotated[
        bool, typer.Option("--version", callback=print_version, is_eager=True, help="Say the version.")
    ] = False,
) -> None:
    """Collective communication that follows the network it really runs on."""


def main() -> None:
    """The entry point. What is the caller's or the world's fault becomes one line and an exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # names of files may be any bytes, and are shown as they are
            stream.reconfigure(errors="surrogateescape")
    try:
        app(prog_name="eco")
    except EcoError as error:
        print(f"eco: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        # Who read our output has left; the interpreter must not fail once more when it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


if __name__ == "__main__":
    main()
