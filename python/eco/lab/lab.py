"""An emulated network that is up: run commands on its hosts.

    with Lab(load("networks/three-subnets.toml"), library="mpich", placement="shuffled:1") as lab:
        lab.run(["mpirun", "-n", "8", "./app"], timeout=60)

Entering builds the network (well under a second), leaving removes it with every process in it; so does the end of
this process, however it ends. docs/lab.md says how it works.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from eco.errors import EcoError, InvalidArgument, Timeout, Unsupported
from eco.lab import launch
from eco.lab.description import Description
from eco.lab.fabric import Fabric
from eco.lab.placement import place
from eco.lab.reading import load
from eco.paths import cache_dir, library_dir, native_dir, native_file

#: What a command has to end by itself after an interrupt: eco.jobs gives its own jobs ten seconds.
PATIENCE_S = 12.0
MEDIUM = "eco-relay (user-space store-and-forward; every packet serialised on every link it crosses)"


@dataclasses.dataclass(frozen=True)
class Streams:
    """Ambient traffic: long TCP streams, each from one host to another, on and off for so long in the mean."""

    pairs: tuple[tuple[str, str], ...]
    on_s: float
    off_s: float
    window_bytes: int  # what of a stream may be under way


class Lab:
    """A network description brought to life. Use as a context manager; `run` any number of commands."""

    def __init__(
        self,
        description: Description | str | Path,
        library: str = "openmpi",
        placement: str = "block",
        n_ranks: int | None = None,
        back_pressure: bool = True,
    ) -> None:
        self.description = description if isinstance(description, Description) else load(description)
        self.library = library
        self.placement = placement
        self.hosts_of_ranks = place(self.description, placement, n_ranks)
        self.fabric = Fabric(self.description)
        self.seconds_to_build = 0.0
        self._back_pressure = back_pressure
        self._process: subprocess.Popen[bytes] | None = None
        self._inside_pid = 0
        self._launch = self._prepare()

    def __enter__(self) -> Lab:
        self._process = subprocess.Popen(
            [*_unshare(), sys.executable, "-m", "eco.lab.inside"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=_python_env(),
            start_new_session=True,  # an interrupt is for the command that runs, not for the network
        )
        try:
            answer = self._ask({"do": "up", **self._network()})
            self.seconds_to_build = float(answer["seconds"])
            self._inside_pid = _only_child(self._process.pid)
            self._send_files()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Take the network down with everything in it."""
        if self._process is None:
            return
        assert self._process.stdin is not None
        try:
            self._process.stdin.close()
            self._process.wait(timeout=10)
        except (OSError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        self._process = None

    def use(
        self, library: str | None = None, placement: str | None = None, n_ranks: int | None = None
    ) -> None:
        """Change library or placement of the commands that follow; the network stays up."""
        self.library = library or self.library
        self.placement = placement or self.placement
        self.hosts_of_ranks = place(self.description, self.placement, n_ranks)
        self._launch = self._prepare()
        if self._process is not None:
            self._send_files()

    def host_of_rank(self, rank: int) -> str:
        """The host that `mpirun` puts a rank on."""
        return self.hosts_of_ranks[rank]

    @property
    def environment(self) -> dict[str, str]:
        """What `run` adds to the environment of a command."""
        return dict(self._launch.environment)

    def run(
        self,
        command: Sequence[str],
        timeout: float | None = None,
        env: Mapping[str, str] | None = None,
        capture: bool = False,
        host: str | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command on the first rank's host (or `host`), in the current directory.

        `env` is added to the lab's environment. Raises Timeout after `timeout` seconds, having killed the
        command and all that it started on any host.
        """
        full_env = {**os.environ, **self._launch.environment, **(env or {})}
        preload = os.environ.get("LD_PRELOAD")
        if preload and "LD_PRELOAD" not in (env or {}):
            full_env["LD_PRELOAD"] += f":{preload}"
        process: subprocess.Popen[str] | None = None
        try:
            process = subprocess.Popen(
                self._into(host or self.hosts_of_ranks[0]) + list(command),
                env=full_env,
                text=True,
                stdin=subprocess.DEVNULL if capture else None,
                stdout=subprocess.PIPE if capture else None,
                stderr=subprocess.PIPE if capture else None,
            )
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            self._ask({"do": "sweep"})
            assert process is not None, "nothing else has a limit"
            process.kill()
            out, err = process.communicate()
            raise Timeout(
                f"lab {self.description.name}: {' '.join(command)}: no end after {timeout:g} s, killed; "
                f"its last words: {((err or '') + (out or ''))[-400:]!r}"
            ) from None
        except BaseException:
            # An interrupt, perhaps while it began: the command got it too and ends by itself; its ranks may live on.
            if process is not None:
                process.wait()
            self._ask({"do": "settle", "patience_s": PATIENCE_S})
            self._ask({"do": "sweep"})
            raise
        return subprocess.CompletedProcess(list(command), process.returncode, out, err)

    def start(self, command: Sequence[str], host: str, **options: Any) -> subprocess.Popen[Any]:
        """Start a command on a host and return at once; options are those of subprocess.Popen."""
        return subprocess.Popen(self._into(host) + list(command), **options)

    def stats(self) -> dict[str, Any]:
        """What the relay carried, dropped and delayed since the network came up."""
        return dict(self._ask({"do": "stats"})["stats"])

    def cut(self, host: str, rail: int, is_cut: bool = True) -> None:
        """Pull the cable of a host's NIC: nothing passes it and nobody is told. False plugs it in again."""
        found = [nic.peer for nic in self.fabric.nics if (nic.host, nic.rail) == (host, rail)]
        if not found:
            raise InvalidArgument(f"lab {self.description.name}: {host} has no NIC on rail {rail}")
        self._ask({"do": "cut", "interface": found[0], "is_cut": is_cut})

    def traffic(self, order: dict[str, Any]) -> list[float]:
        """Send traffic of our own through the network; eco.lab.traffic says what an order holds."""
        done = subprocess.run(
            [*self._into_lab(), sys.executable, "-m", "eco.lab.traffic"],
            input=json.dumps(order),
            capture_output=True,
            text=True,
            env=_python_env(),
            timeout=120,
        )
        if done.returncode != 0:
            raise EcoError(f"lab {self.description.name}: traffic failed: {done.stderr.strip()[-400:]}")
        return [float(x) for x in json.loads(done.stdout)]

    @contextlib.contextmanager
    def streams(self, streams: Streams, seed: int) -> Iterator[list[float]]:
        """Long TCP streams that come and go meanwhile; at the end the list holds what each carried, in bit/s."""
        ip = {nic.host: nic.ip for nic in self.fabric.nics if nic.rail == 0}
        flows = [{"source": a, "target": b, "target_ip": ip[b]} for a, b in streams.pairs]
        order = {"do": "streams", "flows": flows, "seed": seed, "on_s": streams.on_s, "off_s": streams.off_s,
                 "window_bytes": streams.window_bytes}  # fmt: skip
        process = subprocess.Popen(
            [*self._into_lab(), sys.executable, "-m", "eco.lab.traffic"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=_python_env(),
        )  # fmt: skip
        carried: list[float] = []
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(json.dumps(order) + "\n")
            process.stdin.flush()
            if process.stdout.readline() != "on\n":
                raise EcoError(
                    f"lab {self.description.name}: no streams: {process.communicate()[1].strip()[-400:]}"
                )
            yield carried
        finally:
            out, _ = process.communicate()  # closes its input: the streams end
        carried += json.loads(out)

    def _prepare(self) -> launch.Launch:
        launch.launcher_of(self.library)  # of what is installed there may be more than the lab can start
        return launch.prepare(
            self.description,
            self.hosts_of_ranks,
            self.library,
            library_dir(self.library),
            native_dir(),
            cache_dir(),
            os.environ.get("PATH", os.defpath),
        )

    def _network(self) -> dict[str, Any]:
        relay = native_file("eco-relay")
        lines = ["127.0.0.1 localhost", *(f"{n.ip} {n.host}" for n in self.fabric.nics if n.rail == 0)]
        nics = [
            {**dataclasses.asdict(n), "back_pressure": self._tbf(n.host, n.rail)} for n in self.fabric.nics
        ]
        return {
            "hosts": self.description.hosts,
            "nics": nics,
            "hosts_file": "\n".join(lines) + "\n",
            "relay": str(relay),
            "relay_config": self.fabric.relay_config(),
        }

    def _tbf(self, host: str, rail: int) -> dict[str, Any] | None:
        """A token bucket at the NIC's rate, so that TCP feels its own NIC's queue and does not flood it.

        It shapes nothing that is measured: the relay serialises behind it, and its burst only lets it catch
        up when the kernel's timer is late.
        """
        rate_bytes = self.fabric.nic_rate_bit(host, rail) / 8
        if not self._back_pressure or rate_bytes >= 2**32:  # the kernel's field; no relay carries that anyway
            return None
        return {"rate": int(rate_bytes), "burst": max(16_000, int(rate_bytes * 0.001)), "limit": 4_000_000}

    def _send_files(self) -> None:
        self._ask({"do": "files", "files": self._launch.files, "programs": self._launch.programs})

    def _into(self, host: str) -> list[str]:
        if self._process is None:
            raise InvalidArgument(f"lab {self.description.name} is not up; use it in a with statement")
        if host not in self.description.hosts:
            raise InvalidArgument(
                f"lab {self.description.name} has no host {host!r}; its hosts are {', '.join(self.description.hosts)}"
            )
        # Changing the mount namespace forgets the working directory, hence env -C.
        return [*self._into_lab(), *launch.enter_host(host), "env", "-C", str(Path.cwd())]

    def _into_lab(self) -> list[str]:
        user = [] if os.geteuid() == 0 else ["-U", "--preserve-credentials"]
        return ["nsenter", "-t", str(self._inside_pid), *user, "-m", "-n", "-u", "-p", "--"]

    def _ask(self, order: dict[str, Any]) -> dict[str, Any]:
        if self._process is None:
            raise InvalidArgument(f"lab {self.description.name} is not up; use it in a with statement")
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(order).encode() + b"\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = b""
        if not line:
            raise Unsupported(
                f"lab {self.description.name}: namespaces cannot be made here ({self._last_words()}); "
                "it needs root or unprivileged user namespaces (`eco doctor` says which are allowed)"
            )
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise EcoError(f"lab {self.description.name}: {order['do']}: {answer['error']}")
        return answer

    def _last_words(self) -> str:
        assert self._process is not None
        assert self._process.stderr is not None
        self._process.kill()
        return self._process.stderr.read().decode(errors="replace").strip()[-500:] or "no message"


def _python_env() -> dict[str, str]:
    """For our own processes inside: they find this package wherever it was imported from."""
    paths = [str(Path(__file__).parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def _unshare() -> list[str]:
    if shutil.which("unshare") is None or shutil.which("nsenter") is None:
        raise Unsupported("unshare and nsenter are missing; install the package util-linux")
    user = [] if os.geteuid() == 0 else ["-U", "-r"]
    return ["unshare", *user, "-n", "-m", "-u", "-p", "--fork", "--kill-child", "--mount-proc"]


def _only_child(pid: int) -> int:
    children = Path(f"/proc/{pid}/task/{pid}/children")
    if children.exists():
        return int(children.read_text().split()[0])
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            if int(fields[1]) == pid:
                return int(entry.name)
    raise Unsupported(f"process {pid} (unshare) has no child; is /proc mounted?")


__all__ = ["MEDIUM", "Lab", "Streams"]
