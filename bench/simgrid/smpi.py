"""Starts SMPI programs on a platform, and the bench's own programs before and after.

build()
lines = smpi(Platform(path), "bench-simgrid-stock", [cells], folder, ["--cfg=smpi/coll-selector:ompi"])
"""

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from platform_file import Platform

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build" / "python"
PROGRAMS = tuple(f"bench-simgrid-{name}" for name in ("predict", "choose", "execute", "stock", "rails"))
MISSING = "SimGrid is not installed: run `make simgrid` (apt-get install libsimgrid-dev)"
Records = list[dict[str, Any]]


def why_not(folder: Path = BUILD) -> str | None:
    """What is missing here, and what to type."""
    if shutil.which("smpirun") is None:
        return MISSING
    if not (folder / "CMakeCache.txt").is_file():
        return "ECO is not built: run `make build`"
    return None


def build(folder: Path = BUILD) -> None:
    # One at a time: two builds in one folder spoil each other's log.
    with (folder / "bench-simgrid.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        # Configured again: SimGrid may have come after the build was made.
        for words in (["cmake", str(folder)], ["cmake", "--build", str(folder), "--target", *PROGRAMS]):
            subprocess.run(words, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)


def version() -> str:
    asked = subprocess.run(["smpirun", "-version"], check=True, stdout=subprocess.PIPE, text=True)
    return asked.stdout.strip()


def lines(text: str) -> Records:
    return [json.loads(line) for line in text.splitlines()]


def asked(words: Sequence[str | Path], limit_s: float | None = None) -> Records:
    """What a program outside SimGrid prints. Throws subprocess.TimeoutExpired, CalledProcessError."""
    ended = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True, timeout=limit_s)
    return lines(ended.stdout)


def smpi(
    platform: Platform,
    program: Path,
    before: Sequence[str | Path],
    after: Sequence[str] = (),
    *,
    folder: Path,
    how: Sequence[str] = (),
    limit_s: float | None = None,
) -> Records:
    """The records that the program writes into the file named between its words `before` and `after`.

    Throws subprocess.TimeoutExpired and CalledProcessError."""
    hosts, found = folder / "hosts", folder / "found"
    hosts.write_text("\n".join(platform.hosts()) + "\n")
    words: list[str | Path] = ["smpirun", "-np", str(len(platform.hosts())), "-hostfile", hosts]
    words += ["-platform", platform.path, *platform.settings(), *how, "--log=root.thresh:warning"]
    words += [program, *before, found, *after]
    # smpirun puts its copies of the program where mktemp would.
    environment = {**os.environ, "TMPDIR": str(folder)}
    # A shell script, whose simulator must end with it.
    found.unlink(missing_ok=True)
    log = folder / "log"
    with log.open("w") as file:
        process = subprocess.Popen(
            words, stdout=file, stderr=file, cwd=folder, env=environment, start_new_session=True
        )
        try:
            code = process.wait(limit_s)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise
    # One that aborts may end with 0, and has no records then.
    if code != 0 or not found.exists() or not found.read_text():
        print(*log.read_text().splitlines()[:5], sep="\n", file=sys.stderr)
        raise subprocess.CalledProcessError(code, list(map(str, words)))
    return lines(found.read_text())
