"""Linux namespaces by system call: make one, name it by a bind mount, step in and out.

Only what the lab needs; Python has these calls from 3.12 on.
"""

from __future__ import annotations

import ctypes
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CLONE_NEWUTS = 0x04000000
CLONE_NEWNET = 0x40000000
_MS_BIND = 0x1000

NETNS_DIR = Path("/run/netns")
UTSNS_DIR = Path("/run/utsns")

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def bind_mount(source: str | Path, target: str | Path) -> None:
    """Make `source` visible at `target` too."""
    _check(
        _libc.mount(str(source).encode(), str(target).encode(), None, _MS_BIND, None),
        f"bind mount on {target}",
    )


def mount_tmpfs(target: str | Path, size: str) -> None:
    """Mount an empty memory file system."""
    _check(
        _libc.mount(b"tmpfs", str(target).encode(), b"tmpfs", 0, f"size={size}".encode()),
        f"tmpfs on {target}",
    )


def mount_sysfs(target: str | Path) -> None:
    """Mount a sysfs that shows the interfaces of the current network namespace."""
    _check(_libc.mount(b"sysfs", str(target).encode(), b"sysfs", 0, None), f"sysfs on {target}")


def make_host(name: str) -> int:
    """Make a network and a UTS namespace called `name`; returns a descriptor of the network namespace."""
    NETNS_DIR.mkdir(parents=True, exist_ok=True)
    UTSNS_DIR.mkdir(parents=True, exist_ok=True)
    before = [os.open(f"/proc/self/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC) for kind in ("net", "uts")]
    try:
        _check(_libc.unshare(CLONE_NEWNET | CLONE_NEWUTS), "unshare of network and host name")
        socket.sethostname(name)
        for directory, kind in ((NETNS_DIR, "net"), (UTSNS_DIR, "uts")):
            (directory / name).touch()
            bind_mount(f"/proc/self/ns/{kind}", directory / name)
        return os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        _check(_libc.setns(before[0], CLONE_NEWNET), "return to the network namespace")
        _check(_libc.setns(before[1], CLONE_NEWUTS), "return to the UTS namespace")
        for fd in before:
            os.close(fd)


@contextmanager
def inside(netns_fd: int) -> Iterator[None]:
    """Run the body in a network namespace (this thread only)."""
    before = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        _check(_libc.setns(netns_fd, CLONE_NEWNET), "enter the network namespace")
        yield
    finally:
        _check(_libc.setns(before, CLONE_NEWNET), "return to the network namespace")
        os.close(before)
