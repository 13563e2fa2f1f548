"""`eco doctor`: what works here, what is missing, and the command that would bring it."""

import dataclasses
import enum
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any

import typer

from eco import __version__, abis, kernel, paths
from eco.errors import EcoError
from eco.spelling import did_you_mean

SCHEMA = "eco.doctor"
VERSION = 1

#: Seconds for a launcher to say its version.
LAUNCHER_TIMEOUT_S = 30.0


class State(enum.StrEnum):
    OK = "ok"
    LIMITED = "limited"  # ECO works, something that one may want does not
    MISSING = "missing"
    WRONG = "wrong"  # set, to something that no rank can read


#: With any of these ECO does not work.
FAULTS = frozenset({State.MISSING, State.WRONG})


@dataclasses.dataclass(frozen=True)
class Check:
    """One line of the report."""

    section: str
    name: str
    state: State
    detail: str
    advice: str = ""

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


@dataclasses.dataclass(frozen=True)
class Report:
    """All that was looked at."""

    checks: tuple[Check, ...]

    @property
    def healthy(self) -> bool:
        return not any(check.state in FAULTS for check in self.checks)

    def to_dict(self) -> dict[str, Any]:
        checks = [check.to_dict() for check in self.checks]
        return {"schema": SCHEMA, "version": VERSION, "healthy": self.healthy, "checks": checks}


def examine() -> Report:
    """Look at everything. Takes about a second; changes nothing."""
    return Report(
        (*versions(), *native_files(), *mpi_libraries(), *kernel_features(), *folders(), *rails(), *options())
    )


def versions() -> list[Check]:
    core = _core_version()
    if core is None:
        core_check = Check(
            "version", "C++ core", State.MISSING, "eco._core is absent or outdated", "make build"
        )
    elif core != __version__:
        core_check = Check(
            "version", "C++ core", State.MISSING, f"{core} under Python files of {__version__}", "make build"
        )
    else:
        core_check = Check("version", "C++ core", State.OK, core)
    libraries = ", ".join(
        f"{name} {metadata.version(name)}" for name in ("numpy", "scipy", "pyroute2", "typer")
    )
    return [
        Check("version", "eco", State.OK, f"{__version__} in {Path(__file__).resolve().parents[1]}"),
        core_check,
        Check("version", "Python", State.OK, f"{platform.python_version()} with {libraries}"),
        Check("version", "system", State.OK, f"{platform.system()} {platform.release()}, {platform.machine()}, "
              f"{' '.join(platform.libc_ver())}, {os.cpu_count()} cores"),
    ]  # fmt: skip


def _core_version() -> str | None:
    try:
        from eco import _core

        return _core.version()
    except (ImportError, AttributeError):  # absent, or so old that it cannot say
        return None


def wanted_files() -> dict[str, str]:
    """Native files, and what each is for."""
    files = {"libeco-preload.so": "ECO under a program", "eco-exec": "ECO under a program"}
    for abi in abis.all_abis():
        files[abi.backend] = f"programs of {abi.serves}"
        files[abi.rank_program] = f"characterize, tune and bench under {abi.serves}"
        files[abi.fuzz_program] = f"fuzz under {abi.serves}"
    return {**files, "eco-relay": "emulated networks", "libeco-idle.so": "emulated networks"}


def native_files() -> list[Check]:
    try:
        folder = paths.native_dir()
    except EcoError as error:
        return [Check("native file", "folder", State.MISSING, str(error), "make build")]
    checks = [Check("native file", "folder", State.OK, str(folder))]
    for name, purpose in wanted_files().items():
        if (folder / name).is_file():
            checks.append(Check("native file", name, State.OK, f"for {purpose}"))
        else:
            checks.append(
                Check("native file", name, State.MISSING, f"needed for {purpose}", "make setup build")
            )
    return checks


def mpi_libraries() -> list[Check]:
    checks = []
    for library in (*paths.LIBRARIES, *paths.MORE_LIBRARIES):
        prefix = paths.library_dir(library)
        # Intel's mpirun is a script that asks for PATH; its mpiexec answers wherever it lies.
        launcher = prefix / "bin" / "mpiexec"
        if launcher.is_file():
            detail = f"{_launcher_version(launcher)} in {prefix}, {_served_by(prefix)}"
            checks.append(Check("MPI library", library, State.OK, detail))
        elif library in paths.LIBRARIES:
            detail = f"not in {prefix}: the lab cannot run programs of {library}"
            checks.append(Check("MPI library", library, State.LIMITED, detail, paths.how_to_install(library)))
        else:
            detail = "not installed; only tests of ECO itself want it"
            checks.append(Check("MPI library", library, State.OK, detail, paths.how_to_install(library)))
    on_path = shutil.which("mpirun") or shutil.which("mpiexec")
    detail = (
        f"{_launcher_version(Path(on_path))} in {on_path}, {_served_by(Path(on_path).absolute().parent.parent)}"
        if on_path
        else "no mpirun or mpiexec"
    )
    checks.append(Check("MPI library", "on PATH", State.OK, detail))
    return checks


def _served_by(prefix: Path) -> str:
    """The backends for the libraries below a prefix. Distributions keep theirs elsewhere: then the loader knows."""
    found = [abi.backend for name in ("lib", "lib64") for abi in abis.in_directory(prefix / name)]
    names = " and ".join(dict.fromkeys(found))
    return f"served by {names}" if names else "its library is where the loader finds it"


def _launcher_version(launcher: Path) -> str:
    """What the launcher calls itself. It is asked outside of any job, so it starts nothing."""
    try:
        done = subprocess.run(
            [launcher, "--version"], capture_output=True, text=True, timeout=LAUNCHER_TIMEOUT_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"a launcher that does not answer ({error})"
    return version_in(done.stdout + done.stderr)


def version_in(text: str) -> str:
    """`Open MPI 5.0.11` or `MPICH 5.0.2` out of what `mpirun --version` prints."""
    found = re.search(r"\((?:Open MPI|OpenRTE)\) (\S+)|Open MPI v?(\d\S*)", text)
    if found:
        return f"Open MPI {found.group(1) or found.group(2)}"
    if "HYDRA" in text and (found := re.search(r"Version:\s+(\S+)", text)):
        return f"MPICH {found.group(1)}"
    found = re.search(r"Intel\(R\) MPI Library.*Version (\S+)", text)
    if found:
        return f"Intel MPI {found.group(1)}"
    lines = text.strip().splitlines()
    return f"unknown launcher ({lines[0]})" if lines else "unknown launcher"


def kernel_features() -> list[Check]:
    found = kernel.probe()
    without = "the lab and the measured demo do not run here; everything else does"
    checks = []
    for name in ("namespaces", "veth", "packet_sockets"):
        feature: kernel.Feature = getattr(found, name)
        state = State.OK if feature.ok else State.LIMITED
        checks.append(
            Check("kernel", name.replace("_", " "), state, feature.detail, "" if feature.ok else without)
        )
    # The relay is the lab's medium; shapers of the kernel's are told for those who compare.
    for name in ("tbf", "netem"):
        feature = getattr(found, name)
        detail = feature.detail if feature.ok else f"{feature.detail}; not needed, eco-relay is the medium"
        checks.append(Check("kernel", name, State.OK, detail))
    return checks


def folders() -> list[Check]:
    """Where networks are remembered: who can't write there measures in every job again."""
    checks = [_folder("cache", paths.cache_dir(), "set ECO_CACHE_DIR to a folder that all hosts see")]
    site = paths.site_dir()
    if site is None or not site.is_dir():
        detail = "none: networks are not shared between users"
        return [*checks, Check("remembering", "site directory", State.OK, detail)]
    return [
        *checks,
        _folder("site directory", site, f"read only for you; chmod 1777 {site / 'networks'} to add"),
    ]


def _folder(name: str, folder: Path, advice: str) -> Check:
    """The folder itself, or what it would be made in, can be written."""
    target = folder / "networks"
    while not target.exists():
        target = target.parent
    n_files = len(list((folder / "networks").glob("*.json")))
    detail = f"{folder}, {n_files} networks"
    if os.access(target, os.W_OK | os.X_OK):
        return Check("remembering", name, State.OK, detail)
    return Check("remembering", name, State.LIMITED, f"{detail}; {target} can't be written", advice)


def rails() -> list[Check]:
    """What of this host could be rails: whether they join the job's hosts only a job can tell."""
    try:
        from eco import _core

        nics = _core.nics()
    except (ImportError, AttributeError):
        return []
    checks = [Check("rails", network, State.OK, f"this host is {address} there") for network, address in nics]
    if not nics:
        checks.append(Check("rails", "NICs", State.OK, "none but the loopback"))
    return [*checks, ucx()]


def ucx() -> Check:
    """For `--transport ucx`. A program whose MPI library has a UCX already uses that one."""
    from eco import _core

    version, file, reason = _core.ucx()
    if reason:
        return Check("rails", "UCX", State.LIMITED, f"{reason}; the MPI library's own would do")
    return Check("rails", f"UCX {version}", State.OK, f"{file}, unless the MPI library brings its own")


def options() -> list[Check]:
    """The options in force, and what is wrong with those that are set."""
    try:
        from eco import _core
    except ImportError:
        return []
    known = _core.option_docs()
    checks = []
    for variable, values, meaning in known:
        value = os.environ.get(variable)
        if value is None:
            checks.append(Check("option", variable, State.OK, f"not set; {values}: {meaning}"))
            continue
        try:
            _core.check_options({variable: value})
        except EcoError as error:
            checks.append(Check("option", variable, State.WRONG, str(error), f"mend or unset {variable}"))
        else:
            checks.append(Check("option", variable, State.OK, f"{value}; {meaning}"))
    names = [variable for variable, _, _ in known]
    for variable in _core.unknown_variables(sorted(os.environ)):
        advice = f"unset {variable}{did_you_mean(variable, names)}"
        checks.append(Check("option", variable, State.LIMITED, "no option of ECO's: ignored", advice))
    return checks


def print_report(report: Report) -> None:
    from rich.console import Console
    from rich.table import Table

    colour = {State.OK: "green", State.LIMITED: "yellow"}
    mark = {state: f"[{colour.get(state, 'red')}]{state}[/]" for state in State}
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    section = ""
    for check in report.checks:
        if check.section != section:
            section = check.section
            table.add_row()
            table.add_row("", f"[bold]{section}[/]", "")
        advice = f"  [bold]-> {_plain(check.advice)}[/]" if check.advice else ""
        table.add_row(mark[check.state], _plain(check.name), _plain(check.detail) + advice)
    console = Console()
    console.print(table)
    console.print()
    faults = sum(check.state in FAULTS for check in report.checks)
    limits = sum(check.state is State.LIMITED for check in report.checks)
    if faults:
        console.print(f"{faults} missing or wrong, {limits} limited; the arrows say what to do")
    else:
        console.print("ECO works here" + (f"; {limits} limited" if limits else ""))


def _plain(text: str) -> str:
    from rich.markup import escape

    return escape(text)


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """What works here and what is missing."""
    report = examine()
    if as_json:
        json.dump(report.to_dict(), sys.stdout, indent=2)
        print()
    else:
        print_report(report)
    if not report.healthy:
        raise typer.Exit(1)
