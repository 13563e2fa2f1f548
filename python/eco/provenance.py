"""Where and with what results were measured."""

from __future__ import annotations

import contextlib
import datetime
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

from eco import __version__, paths


def provenance() -> dict[str, Any]:
    """Where and with what the samples were taken."""
    return {
        "eco_version": __version__,
        "commit": _commit(),
        "measured_at": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "machine": {
            "name": platform.node(),
            "kernel": platform.release(),
            "cores": os.cpu_count(),
            "processor": _processor(),
        },
        "estimator": "median over paired launches of (median call stock / median call ECO), "
        "95 % percentile bootstrap",
    }


def _processor() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.machine()


def _commit() -> str | None:
    """The checkout's commit, where there is one."""
    root = paths.checkout()
    if root is None or not (root / ".git").exists():
        return None
    try:
        answer = subprocess.run(["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=12"],
                                capture_output=True, text=True, timeout=10, check=False)  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    return answer.stdout.strip() or None
