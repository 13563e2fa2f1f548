"""A launcher, eco-exec and eco-rank that are scripts: the command line is tested without MPI or a build."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from eco import launch

LAUNCHER = """#!/bin/sh
# Starts one process, whatever it is told.
if [ "$1" = --version ]; then echo 'mpirun (Open MPI) 5.0.11'; exit 0; fi
while [ "${1#-}" != "$1" ]; do
  case $1 in -n|-np|-H) shift 2 ;; *) shift ;; esac
done
exec "$@"
"""

EXEC = """#!/bin/sh
if [ "$1" = --bare ]; then shift; fi
while [ "$1" = --set ]; do export "$2"; shift 2; done
exec "$@"
"""

# What it does is set by FAKE_* variables, which tests set in the environment.
RANK = r"""#!{python} -IS
import json, os, signal, sys, time
words = sys.argv[1:]
def value(name): return words[words.index(name) + 1] if name in words else None
mode = os.environ.get("FAKE_RANK", "")
with open(os.environ["FAKE_LOG"], "a") as log:
    log.write(json.dumps({{"words": words, "ECO": os.environ.get("ECO", "on")}}) + "\n")
if "--progress" in words:
    for percent in (10, 50, 100):
        print(f"eco-rank: {{percent}} % pairs of hosts", file=sys.stderr, flush=True)
if mode == "forgets":
    print("eco-rank: not remembered: no space", file=sys.stderr, flush=True)
if mode == "outdates":
    print("eco-rank: outdated: 2 plans serve no longer", file=sys.stderr, flush=True)
if mode == "dies":
    print("eco-rank: host b vanished", file=sys.stderr, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
if mode == "hangs":
    if "FAKE_PID" in os.environ:
        with open(os.environ["FAKE_PID"] + ".part", "w") as file:
            file.write(str(os.getpid()))
        os.rename(os.environ["FAKE_PID"] + ".part", os.environ["FAKE_PID"])
    time.sleep(600)
if mode == "dies later" and words[0] == "bench" and len(open(os.environ["FAKE_LOG"]).readlines()) > 6:
    sys.exit("eco-rank: host b vanished")
if "--network-only" in words:
    sys.exit()  # into the cache alone
if words[0] == "characterize":
    text = json.dumps({{"schema": "eco.network", "version": 1, "hosts": [{{}}] * 3,
                       "subnets": [{{"hosts": [0, 1]}}, {{"hosts": [2]}}]}})
    if mode == "truncates":
        text = text[:20]
elif words[0] == "bench":
    eco_s = float(os.environ.get("FAKE_ECO_S", "0.001"))
    stock = os.environ.get("ECO") == "off"
    seconds = 0.004 if stock else eco_s
    rules = os.environ.get("OMPI_MCA_coll_tuned_dynamic_rules_filename")
    if rules and "basic_linear" in open(rules).read():
        seconds = float(os.environ.get("FAKE_LINEAR_S", "0.001"))
    asked = [cell.split(":") for cell in (value("--cells") or "").split(",") if cell]
    asked = asked or [(op, size) for op in value("--ops").split(",") for size in value("--sizes").split(",")]
    cells = [{{"collective": op, "bytes": int(size), "seconds": [seconds, seconds * 1.01, seconds * 1.02],
              "algorithm": "native" if stock else op + "/subnets", "correct": mode != "wrong", "late": 1}}
             for op, size in asked]
    text = json.dumps({{"schema": "eco.rank.bench", "version": 1, "ranks": 8, "hosts": ["h"] * 8,
                       "library": os.environ.get("FAKE_LIBRARY", "Open MPI 5.0.11"), "clock": "CLOCK_MONOTONIC",
                       "preloaded": not stock and mode != "naked", "cells": cells}})
    if mode in ("unarmed", "useless") and not stock:
        armed = 1 if mode == "useless" else 0
        why = {{}} if armed else {{"ranks have different ECO_ options": 1}}
        with open(os.environ["ECO_REPORT"], "w") as file:
            json.dump({{"schema": "eco.report", "version": 1, "mode": "on", "ranks": 8, "wall_s": 1.0, "arming_s": 0.0,
                       "estimated_gain_s": 0.0, "collectives": {{}}, "communicators_armed": armed,
                       "communicators_native": why}}, file)
else:
    rows = [{{"recipe": recipe}} for recipe in ("scan/linear", None, None)]
    text = json.dumps({{"entries": [{{"rows": rows}}]}})
    if mode == "refuses":
        sys.exit("eco-rank: no plan: ranks run different versions of ECO")
    if mode == "useless":
        print("eco-rank: nothing to gain: the library's own collectives are as good", file=sys.stderr)
    if mode == "fails":
        sys.exit("eco-rank: no space in the cache")
with open(value("--out"), "w") as file:
    file.write(text)
"""


@dataclass(frozen=True)
class Fakes:
    """Where the scripts lie and what eco-rank was told."""

    bin: Path
    native: Path
    log: Path

    def script(self, path: Path | str, text: str) -> str:
        """Makes an executable script; its absolute path."""
        return str(_script(Path(path).absolute(), text))

    def told(self) -> list[dict[str, object]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()] if self.log.exists() else []


def _script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.fixture
def fakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fakes:
    """The scripts in place, the working directory an empty one."""
    found = Fakes(tmp_path / "bin", tmp_path / "native", tmp_path / "log")
    _script(found.bin / "mpirun", LAUNCHER)
    _script(found.native / "eco-exec", EXEC)
    _script(found.native / "eco-rank-openmpi", RANK.format(python=sys.executable))
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setenv("PATH", f"{found.bin}:/usr/bin:/bin")
    monkeypatch.setenv("ECO_NATIVE_DIR", str(found.native))
    monkeypatch.setenv("FAKE_LOG", str(found.log))
    launch.detect.cache_clear()
    return found


@pytest.fixture
def eco() -> Callable[..., subprocess.CompletedProcess[str]]:
    """The command as a user types it."""

    def run(*words: str, timeout: float = 300) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "eco.cli.main", *words],
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    return run
