"""Starting MPI programs, stock or with ECO: on a launcher that the user gave, or in the lab.

    place = LauncherPlace(launch.parse_prefix(["mpirun", "-n", "8"]))         # or LabPlace(lab)
    place.start(place.stock(["./app"]), timeout_s=60)
    place.start(place.with_eco(["./app"], {"ECO_NETWORK": "network.json"}), timeout_s=60)

Settings travel on the command line (`eco-exec --set NAME=VALUE`): the environment of this shell does not
reach every host under every launcher.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from eco import launch, paths
from eco.errors import EcoError, InvalidArgument, Timeout, TransportError
from eco.lab import Lab
from eco.lab.launch import launcher_of

#: What a job's last words may be, in an error message.
LAST_LINES = 12

#: Sets the host that ECO takes its rank's for, out of the first argument's list of names, and becomes the rest.
_ON_ITS_HOST = """rank=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:?no launcher}}
hosts=$1
shift
while [ "$rank" -gt 0 ]; do hosts=${hosts#*,}; rank=$((rank - 1)); done
export ECO_HOST_ID=${hosts%%,*}
exec "$@"
"""


@dataclass(frozen=True)
class Ended:
    """How a job ended."""

    code: int
    output: str
    errors: str

    def last_words(self) -> str:
        lines = [line for line in (self.output + "\n" + self.errors).splitlines() if line.strip()]
        return "\n".join(lines[-LAST_LINES:]) or "it printed nothing"


def eco_exec(settings: Mapping[str, str], bare: bool = False) -> list[str]:
    """The words that go before a program; `bare` starts it with nothing under it."""
    words = [str(paths.native_file("eco-exec")), *(["--bare"] if bare else [])]
    for name, value in settings.items():
        words += ["--set", f"{name}={value}"]
    return words


def host_id(host: int) -> str:
    """What on_hosts() calls a host, where a network says its boot_id."""
    return f"host-{host}"


def on_hosts(hosts: Sequence[int]) -> list[str]:
    """The words that go before a program whose ranks, all on one machine, are to take themselves for on these hosts."""
    return ["sh", "-c", _ON_ITS_HOST, "on-its-host", ",".join(map(host_id, hosts))]


class Place:
    """Where jobs run: a number of ranks of one library, placed in one way."""

    library: str
    placement: str
    network: str
    library_settings: dict[str, str]

    def command(self, program: Sequence[str]) -> list[str]:
        """The launcher with this program."""
        raise NotImplementedError

    def start(
        self, command: Sequence[str], timeout_s: float | None, watch: Callable[[str], None] | None = None
    ) -> Ended:
        """Runs a command to its end. `watch` sees each line of its standard error as it comes."""
        raise NotImplementedError

    def stock(self, program: Sequence[str], settings: Mapping[str, str] | None = None) -> list[str]:
        """The program without ECO, started through the same wrapper, which steps aside."""
        return self.command(
            [*eco_exec({**self.library_settings, **(settings or {}), "ECO": "off"}, bare=True), *program]
        )

    def with_eco(self, program: Sequence[str], settings: Mapping[str, str] | None = None) -> list[str]:
        """The program with ECO under it."""
        return self.command([*eco_exec({**self.library_settings, **(settings or {})}), *program])

    def relay(self) -> dict[str, Any] | None:
        """What carries the packets of an emulated network says of itself; nothing elsewhere."""
        return None

    def abi(self) -> str:
        """The ABI of this place's library."""
        return self.library

    def rank_program(self) -> str:
        """eco-rank of this place's library; throws Unsupported where that backend was not built."""
        return str(paths.native_file(f"eco-rank-{self.abi()}"))


class LauncherPlace(Place):
    """A launcher prefix: the ranks and hosts are whatever its options say."""

    def __init__(self, line: launch.LauncherLine, library: str | None = None) -> None:
        where = launch.installation(line, library)
        self.line = line
        self.library = where.library
        self.placement = "as launched"
        self.network = "measured"
        self.library_settings = launch.library_environment(where)

    def command(self, program: Sequence[str]) -> list[str]:
        return self.line.started(program)

    def start(
        self, command: Sequence[str], timeout_s: float | None, watch: Callable[[str], None] | None = None
    ) -> Ended:
        return run_to_end(command, timeout_s, watch)


def launcher_place(words: Sequence[str], library: str | None, command: str) -> LauncherPlace:
    """The place of a launcher prefix, for a command that brings its own program."""
    line = launch.parse_prefix(words)
    if any(part.program for part in line.parts):
        raise InvalidArgument(
            f"{' '.join(words)!r} names a program: {command} brings its own; "
            "give the launcher and its options alone"
        )
    return LauncherPlace(line, library)


class LabPlace(Place):
    """The lab that is up, with the library and placement that it has at the moment."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.library = lab.library
        self.placement = lab.placement
        self.network = lab.description.name
        self.ranks = len(lab.hosts_of_ranks)
        self.library_settings = {"LD_LIBRARY_PATH": str(paths.library_dir(self.library) / "lib")}

    def abi(self) -> str:
        return launcher_of(self.library).abi

    def command(self, program: Sequence[str]) -> list[str]:
        return ["mpirun", "-n", str(self.ranks), *program]

    def relay(self) -> dict[str, Any] | None:
        return self.lab.stats()

    def start(
        self, command: Sequence[str], timeout_s: float | None, watch: Callable[[str], None] | None = None
    ) -> Ended:
        if watch is None:
            ended = self.lab.run(command, timeout=timeout_s, capture=True)
            return Ended(ended.returncode, ended.stdout, ended.stderr)
        # The lab hands over output at the end only; a file in between lets it be watched.
        with (
            scratch("stderr") as folder,
            _followed(folder / "stderr", watch) as errors,
        ):
            script = 'exec "$@" 2>"$0"'
            ended = self.lab.run(["sh", "-c", script, str(errors), *command], timeout=timeout_s, capture=True)
            return Ended(ended.returncode, ended.stdout, errors.read_text(errors="replace"))


@contextlib.contextmanager
def scratch(what: str, near: Path | None = None) -> Iterator[Path]:
    """A folder that rank 0 can write to and we can read.

    In the working directory, which clusters share between hosts; where nothing can be made there, in /tmp.
    """
    prefix = f".eco-{what}-"
    try:
        made = tempfile.TemporaryDirectory(prefix=prefix, dir=near or Path.cwd())
    except OSError:
        made = tempfile.TemporaryDirectory(prefix=prefix)
    with made as name:
        yield Path(name)


@contextlib.contextmanager
def _followed(path: Path, watch: Callable[[str], None]) -> Iterator[Path]:
    """Calls `watch` with each line that is appended to a file."""
    path.touch()
    done = threading.Event()

    def follow() -> None:
        with path.open(errors="replace") as file:
            line = ""
            while True:
                last_look = done.is_set()
                line += file.readline()
                if line.endswith("\n"):
                    watch(line.rstrip("\n"))
                    line = ""
                elif last_look:
                    return
                else:
                    done.wait(0.1)

    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    try:
        yield path
    finally:
        done.set()
        thread.join()


class Terminated(KeyboardInterrupt):
    """SIGTERM: as an interrupt, it ends what was started, and what is known is kept."""


@contextlib.contextmanager
def _terminable() -> Iterator[None]:
    """Raises Terminated where SIGTERM would end this process at once and leave its jobs running."""

    def terminate(number: int, frame: FrameType | None) -> None:
        raise Terminated

    if threading.current_thread() is not threading.main_thread():  # it gets no signals
        yield
        return
    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def run_to_end(
    command: Sequence[str], timeout_s: float | None, watch: Callable[[str], None] | None = None
) -> Ended:
    """Runs a command in a process group of its own; a time limit, an interrupt or SIGTERM ends the whole group."""
    with _terminable():
        return _run_to_end(command, timeout_s, watch)


def _run_to_end(
    command: Sequence[str], timeout_s: float | None, watch: Callable[[str], None] | None
) -> Ended:
    try:
        process = subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
    except OSError as error:
        raise TransportError(f"{command[0]}: {error.strerror}") from error
    errors: list[str] = []

    def read_errors() -> None:
        assert process.stderr is not None
        for line in process.stderr:
            errors.append(line)
            if watch is not None:
                watch(line.rstrip("\n"))

    reader = threading.Thread(target=read_errors, daemon=True)
    reader.start()
    output: list[str] = []
    writer = threading.Thread(target=lambda: output.extend(process.stdout or ()), daemon=True)
    writer.start()
    try:
        process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        _end(process)
        reader.join()
        writer.join()
        words = Ended(-1, "".join(output), "".join(errors)).last_words()
        raise Timeout(
            f"{' '.join(command)}: no end after {timeout_s:g} s, ended it. Last words:\n{words}"
        ) from None
    except BaseException:
        _end(process)
        raise
    reader.join()
    writer.join()
    return Ended(process.returncode, "".join(output), "".join(errors))


def run_attached(command: Sequence[str]) -> int:
    """Runs a command on this terminal, which takes an interrupt to it; its exit code as a shell says it."""
    try:
        process = subprocess.Popen(list(command))
    except OSError as error:
        raise TransportError(f"{command[0]}: {error.strerror}") from error
    while True:
        with contextlib.suppress(KeyboardInterrupt):
            code = process.wait()
            return code if code >= 0 else 128 - code


def _end(process: subprocess.Popen[str]) -> None:
    """Launchers take their ranks with them when asked politely; a moment later all is killed that is left."""
    family = _descendants(process.pid)
    for number, patience_s in ((signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0)):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(patience_s)
            break
    # Ranks are in groups of their own, and of a launcher that had to be killed nobody ends them: they would hold on to
    # its output, which is read to its end.
    for pid, began in family.items():
        if _began(pid) == began:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _stat(pid: int) -> list[str]:
    """What /proc says of a process, from its state on; nothing if it has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _began(pid: int) -> str:
    """When a process did: the next one with its number has another time."""
    stat = _stat(pid)
    return stat[19] if stat else ""


def _descendants(pid: int) -> dict[int, str]:
    """The processes that it started, and those that they did, with when they began."""
    parents = {int(path.name): _stat(int(path.name)) for path in Path("/proc").glob("[0-9]*")}
    found = [pid]
    for parent in found:
        found += [child for child, stat in parents.items() if stat and int(stat[1]) == parent]
    return {child: parents[child][19] for child in found[1:]}


class JobError(EcoError):
    """A job that this command started ended with an error."""


def check(ended: Ended, what: str, advice: str) -> None:
    """Throws JobError with the job's last words unless it ended well."""
    if ended.code == 0:
        return
    how = f"signal {-ended.code}" if ended.code < 0 else f"exit code {ended.code}"
    raise JobError(f"{what} ended with {how}; {advice}. Last words:\n{ended.last_words()}")
