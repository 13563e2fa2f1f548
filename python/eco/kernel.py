"""What this kernel grants to whoever runs us: namespaces, virtual links, packet sockets, shapers.

    probe().namespaces.ok        # may the lab run here?

Everything is tried, not looked up: containers and security modules forbid what version numbers promise. The trials
happen in namespaces of their own (`python -m eco.kernel` inside `unshare`) and leave nothing behind.
"""

import dataclasses
import errno
import functools
import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

#: Generous: importing pyroute2 on a cold, busy machine takes seconds.
PROBE_TIMEOUT_S = 60.0


@dataclasses.dataclass(frozen=True)
class Feature:
    """One thing that was tried."""

    ok: bool
    detail: str  # how it works here, or why it does not

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


@dataclasses.dataclass(frozen=True)
class Kernel:
    """The features that the lab may use."""

    namespaces: Feature
    veth: Feature
    packet_sockets: Feature
    tbf: Feature
    netem: Feature

    @property
    def carries_lab(self) -> bool:
        """The relay is the medium, so that shapers of the kernel's are not required."""
        return self.namespaces.ok and self.veth.ok and self.packet_sockets.ok

    def why_no_lab(self) -> str | None:
        """The first thing that is missing for an emulated network, None where nothing is."""
        for name in ("namespaces", "veth", "packet_sockets"):
            feature: Feature = getattr(self, name)
            if not feature.ok:
                return f"{name.replace('_', ' ')}: {feature.detail}"
        return None


def unshare_command() -> list[str]:
    """The prefix that gives a command namespaces of its own, as root or as an ordinary user."""
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    return ["unshare", *user, "--net", "--mount", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc"]


@functools.cache
def probe() -> Kernel:
    """Try everything, once per process."""
    if shutil.which("unshare") is None:
        return _nothing("the program unshare is missing; install the package util-linux")
    package_root = str(Path(__file__).resolve().parents[1])
    inherited = os.environ.get("PYTHONPATH")
    try:
        done = subprocess.run(
            [*unshare_command(), sys.executable, "-m", "eco.kernel"],
            capture_output=True,
            text=True,
            timeout=PROBE_TIMEOUT_S,
            env={**os.environ, "PYTHONPATH": f"{package_root}:{inherited}" if inherited else package_root},
        )
    except subprocess.TimeoutExpired:
        return _nothing(f"no answer from inside new namespaces within {PROBE_TIMEOUT_S:g} s")
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()
        return _nothing(lines[-1] if lines else f"unshare ended with code {done.returncode}")
    features = {name: Feature(**value) for name, value in json.loads(done.stdout).items()}
    who = "as root" if os.geteuid() == 0 else "as an ordinary user"
    return Kernel(namespaces=Feature(True, f"network, mount, host name, processes, {who}"), **features)


def _nothing(why: str) -> Kernel:
    untried = Feature(False, "not tried: needs namespaces")
    return Kernel(Feature(False, why), untried, untried, untried, untried)


def _try(action: Callable[[], str]) -> Feature:
    from pyroute2.netlink.exceptions import NetlinkError

    try:
        return Feature(True, action())
    except NetlinkError as error:
        # The kernel says ENOENT for a queueing discipline whose module it has not.
        reason = "not in this kernel" if error.code == errno.ENOENT else os.strerror(error.code)
        return Feature(False, reason)
    except OSError as error:
        return Feature(False, error.strerror or str(error))


def _try_all() -> dict[str, Feature]:
    """Runs inside namespaces that end with this process."""
    from pyroute2 import IPRoute

    with IPRoute() as ip:

        def veth() -> str:
            ip.link("add", ifname="eco0", kind="veth", peer="eco1")
            return "a pair was made"

        def shaper(end: str, kind: str, settings: dict[str, Any]) -> str:
            index = ip.link_lookup(ifname=end)
            if not index:
                raise OSError(errno.ENODEV, "not tried: needs veth")
            ip.tc("add", kind, index[0], "1:", **settings)
            return "accepted"

        def packet_socket() -> str:
            socket.socket(socket.AF_PACKET, socket.SOCK_RAW).close()
            return "opened"

        return {
            "veth": _try(veth),
            "packet_sockets": _try(packet_socket),
            "tbf": _try(lambda: shaper("eco0", "tbf", {"rate": "10mbit", "burst": 4600, "limit": 100_000})),
            "netem": _try(lambda: shaper("eco1", "netem", {"delay": 1000, "limit": 100})),
        }


if __name__ == "__main__":
    print(json.dumps({name: feature.to_dict() for name, feature in _try_all().items()}))
