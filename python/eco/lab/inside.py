"""The lab's own process: first in its namespaces, builds the network, serves orders, takes all with it.

Started by eco.lab.lab through `unshare` as process 1. Reads one JSON order a line from standard input and answers
each with one line; when its input ends, it exits, and the kernel removes every process, interface and mount
of the lab. Orders: up (the network as plain data), files, stats, cut, settle, sweep.
"""

from __future__ import annotations

import fcntl
import json
import os
import selectors
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from eco.lab import namespaces

STATE_DIR = Path("/run/eco-lab")
NAP_S = 0.05
TMP_DIR = STATE_DIR / "tmp"

# Reno was the steadiest, and is what child namespaces are allowed on kernels whose default is another. Nothing is
# remembered between connections and idle ones keep their window, so that repetitions measure the same thing.
SYSCTLS = {
    "net/ipv4/tcp_congestion_control": "reno",
    "net/ipv4/tcp_slow_start_after_idle": "0",
    "net/ipv4/tcp_no_metrics_save": "1",
}
# Neighbour discovery would be the only traffic that nobody asked for.
NO_IPV6 = {"net/ipv6/conf/all/disable_ipv6": "1", "net/ipv6/conf/default/disable_ipv6": "1"}

_SIOCGIFFLAGS, _IFF_RUNNING = 0x8913, 0x40
_SIOCETHTOOL = 0x8946
_ETHTOOL_STSO, _ETHTOOL_SGSO, _ETHTOOL_SGRO = 0x1F, 0x24, 0x2C


def set_sysctls(values: dict[str, str], required: bool) -> None:
    """Write /proc/sys entries of the current network namespace."""
    for name, value in values.items():
        try:
            (Path("/proc/sys") / name).write_text(value)
        except OSError:
            if required:
                raise


def no_offloads(interface: str) -> None:
    """Make packets leave `interface` at the size they would have on a wire."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        for command in (_ETHTOOL_STSO, _ETHTOOL_SGSO, _ETHTOOL_SGRO):
            value = bytearray(struct.pack("II", command, 0))
            address = (struct.pack("16sP", interface.encode(), _address_of(value))).ljust(40, b"\0")
            fcntl.ioctl(s.fileno(), _SIOCETHTOOL, address)


def _address_of(buffer: bytearray) -> int:
    import ctypes

    return ctypes.addressof((ctypes.c_char * len(buffer)).from_buffer(buffer))


class Inside:
    """What process 1 knows: the relay and where its statistics are."""

    def __init__(self) -> None:
        self.relay: subprocess.Popen[bytes] | None = None
        self.stats_file = STATE_DIR / "relay-stats.json"

    def up(self, order: dict[str, Any]) -> dict[str, Any]:
        """Build hosts, links and relay."""
        from pyroute2 import IPRoute

        started = time.monotonic()
        namespaces.mount_tmpfs("/run", "256m")
        namespaces.mount_tmpfs("/dev/shm", "2g")
        TMP_DIR.mkdir(parents=True)
        hosts_file = STATE_DIR / "hosts"
        hosts_file.write_text(order["hosts_file"])
        namespaces.bind_mount(hosts_file, "/etc/hosts")
        set_sysctls(NO_IPV6, required=False)

        nics_of: dict[str, list[dict[str, Any]]] = {h: [] for h in order["hosts"]}
        for nic in order["nics"]:
            nics_of[nic["host"]].append(nic)
        netns = {host: namespaces.make_host(host) for host in order["hosts"]}
        with IPRoute() as root:
            # The kernel tells a pair's ends apart by their indices when it decides how soon a link counts as up:
            # equal ones, which namespaces would otherwise give, cost a second.
            for index, nic in enumerate(order["nics"], start=1000):
                root.link(
                    "add",
                    index=index,
                    ifname=nic["peer"],
                    kind="veth",
                    state="up",
                    gso_max_segs=1,
                    peer={
                        "ifname": nic["interface"],
                        "address": nic["mac"],
                        "net_ns_fd": netns[nic["host"]],
                        "gso_max_segs": 1,
                    },
                )
        for host, nics in nics_of.items():
            with namespaces.inside(netns[host]):
                set_sysctls(SYSCTLS, required=True)
                set_sysctls(NO_IPV6, required=False)
                with IPRoute() as ip:
                    self._set_up_host(ip, nics, order["nics"])
        best_equipped = max(nics_of, key=lambda host: len(nics_of[host]))
        with namespaces.inside(netns[best_equipped]):
            self._show_interfaces(nics_of[best_equipped])
        for host, nics in nics_of.items():
            with namespaces.inside(netns[host]):
                self._wait_until_up([nic["interface"] for nic in nics])
            os.close(netns[host])
        self._start_relay(order["relay"], order["relay_config"])
        return {"seconds": time.monotonic() - started}

    @staticmethod
    def _set_up_host(ip: Any, nics: list[dict[str, Any]], all_nics: list[dict[str, Any]]) -> None:
        ip.link("set", index=1, state="up")
        for nic in nics:
            no_offloads(nic["interface"])
            index = socket.if_nametoindex(nic["interface"])
            ip.link("set", index=index, state="up")
            ip.addr("add", index=index, address=nic["ip"], prefixlen=16)
            for other in all_nics:
                if other["rail"] == nic["rail"] and other["host"] != nic["host"]:
                    ip.neigh("add", dst=other["ip"], lladdr=other["mac"], ifindex=index, state="permanent")
            if nic["back_pressure"] is not None:
                ip.tc("add", "tbf", index, 0x10000, **nic["back_pressure"])

    @staticmethod
    def _show_interfaces(nics: list[dict[str, Any]]) -> None:
        """Make /sys/class/net list a host's interfaces instead of the machine's; UCX looks there for names.

        All hosts see the same list, that of the current namespace: their interfaces have the same names.
        """
        sysfs = STATE_DIR / "sysfs"
        sysfs.mkdir()
        try:
            namespaces.mount_sysfs(sysfs)
            namespaces.bind_mount(sysfs / "devices/virtual/net", "/sys/devices/virtual/net")
            namespaces.bind_mount(sysfs / "class/net", "/sys/class/net")
        except OSError:  # containers may hide parts of /sys, and then allow no new one: the names must do
            namespaces.mount_tmpfs("/sys/class/net", "64k")
            for name in ("lo", *(nic["interface"] for nic in nics)):
                (Path("/sys/class/net") / name).mkdir()

    @staticmethod
    def _wait_until_up(interfaces: list[str]) -> None:
        """Until then libraries that look for usable interfaces do not see them."""
        deadline = time.monotonic() + 5
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            for name in interfaces:
                while True:
                    request = struct.pack("16sH14s", name.encode(), 0, b"")
                    flags = struct.unpack("16sH14s", fcntl.ioctl(s.fileno(), _SIOCGIFFLAGS, request))[1]
                    if flags & _IFF_RUNNING:
                        break
                    if time.monotonic() > deadline:
                        raise RuntimeError(f"interface {name} did not come up within 5 s")
                    time.sleep(0.002)

    def _start_relay(self, program: str, config: str) -> None:
        config_file = STATE_DIR / "relay.conf"
        config_file.write_text(config)
        with (STATE_DIR / "relay.err").open("wb") as err:
            self.relay = subprocess.Popen(
                [program, str(config_file), str(self.stats_file)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=err,
            )
        assert self.relay.stdout is not None
        if self.relay.stdout.readline() != b"ready\n":
            raise RuntimeError(f"the relay did not start: {(STATE_DIR / 'relay.err').read_text().strip()}")

    def files(self, order: dict[str, Any]) -> dict[str, Any]:
        """Write small files, for example a launcher's host file."""
        for name, text in order["files"].items():
            path = STATE_DIR / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            if name in order["programs"]:
                path.chmod(0o755)
        return {}

    def stats(self, _order: dict[str, Any]) -> dict[str, Any]:
        """The relay's statistics as of now."""
        if self.relay is None or self.relay.poll() is not None:
            raise RuntimeError(f"the relay has ended: {(STATE_DIR / 'relay.err').read_text().strip()}")
        self.stats_file.unlink(missing_ok=True)
        self.relay.send_signal(signal.SIGUSR1)
        deadline = time.monotonic() + 5
        while not self.stats_file.exists():
            if time.monotonic() > deadline:
                raise RuntimeError("the relay gave no statistics within 5 s")
            time.sleep(0.002)
        return {"stats": json.loads(self.stats_file.read_text())}

    def cut(self, order: dict[str, Any]) -> dict[str, Any]:
        """Pull a host's cable, or plug it in again."""
        from pyroute2 import IPRoute

        with IPRoute() as root:
            index = socket.if_nametoindex(order["interface"])
            root.link("set", index=index, state="down" if order["is_cut"] else "up")
        return {}

    def others(self) -> list[int]:
        """Processes of runs."""
        keep = {1, os.getpid(), self.relay.pid if self.relay is not None else 1}
        numbers = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
        return [number for number in numbers if number not in keep]

    def settle(self, order: dict[str, Any]) -> dict[str, Any]:
        """Wait until everything that runs has ended, for `patience_s` at most.

        In naps that are counted: where the machine stood still meanwhile, who is to end has had no time for it.
        """
        for _ in range(round(order["patience_s"] / NAP_S)):
            if not self.others():
                break
            time.sleep(NAP_S)
            self.reap()
        return {}

    def sweep(self, _order: dict[str, Any]) -> dict[str, Any]:
        """Kill everything that a run left behind."""
        n = 0
        for number in self.others():
            try:
                os.kill(number, signal.SIGKILL)
                n += 1
            except ProcessLookupError:
                pass
        return {"killed": n}

    def reap(self) -> None:
        """Collect orphans: process 1 is everybody's last parent."""
        keep = self.relay.pid if self.relay is not None else -1
        while True:
            try:
                found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return
            if found is None or found.si_pid == keep:  # the relay's end is seen by its own poll
                return
            os.waitpid(found.si_pid, 0)


def main() -> None:
    """Serve orders until standard input ends."""
    server = Inside()
    with selectors.DefaultSelector() as selector:
        selector.register(sys.stdin.buffer.fileno(), selectors.EVENT_READ)
        pending = b""
        while True:
            if not selector.select(timeout=0.5):
                server.reap()
                continue
            data = os.read(sys.stdin.buffer.fileno(), 1 << 20)
            if not data:
                return
            pending += data
            while b"\n" in pending:
                line, pending = pending.split(b"\n", 1)
                order = json.loads(line)
                try:
                    answer = getattr(server, order["do"])(order)
                except Exception as error:  # reported to the caller, who raises it there
                    answer = {"error": f"{type(error).__name__}: {error}"}
                sys.stdout.write(json.dumps(answer) + "\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
