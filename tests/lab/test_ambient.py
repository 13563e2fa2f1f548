"""Ambient traffic on an emulated network: recipes move off a loaded link.

And back again: adapting_test.cc, in virtual time.
"""

from __future__ import annotations

import json
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

from eco import jobs, paths, plans
from eco.lab import Lab, Streams, load

pytestmark = [pytest.mark.lab, pytest.mark.mpi]

PROGRAM = Path(__file__).parents[1] / "mpi" / "programs" / "ambient_phases.c"
LIBRARY = "mpich"
QUIET_S, LOADED_S, AFTER_S = 5.0, 13.0, 5.0
#: A look may find a loaded link quiet, and the next one is longer off (docs/ambient.md).
LAUNCHES = 3
#: From the root's subnet to the second one, and from there to the third.
CHAIN = {"broadcast": [(1 << 20, "broadcast/subnets segment=8192 window=2 between=chain inside=chain")]}
#: Out of the second subnet: what the chain passes on shares its uplink with two streams.
STREAMS = Streams((("h4", "h7"), ("h5", "h8")), on_s=100.0, off_s=0.1, window_bytes=64 << 10)


def test_a_broadcast_moves_off_a_loaded_uplink(tmp_path: Path) -> None:
    program = tmp_path / "ambient_phases"
    compiler = paths.library_dir(LIBRARY) / "bin" / "mpicc"
    subprocess.run([compiler, "-O1", PROGRAM, "-o", program], check=True)
    accounts = []
    for _ in range(LAUNCHES):
        told, said = launch(program, tmp_path)
        assert "right" in said, said
        if told["moves"] >= 1:
            return
        accounts.append((told, said))
    raise AssertionError(accounts)


def launch(program: Path, folder: Path) -> tuple[Any, str]:
    """What the report says of ambient traffic, and what the program said."""
    plan, report = folder / "plan.json", folder / "report.json"
    plan.write_text(plans.by_hand(8, CHAIN))
    settings = {"ECO_AMBIENT": "auto", "ECO_PLAN": str(plan), "ECO_REPORT": str(report)}
    with Lab(load("three-subnets"), library=LIBRARY) as lab:
        place = jobs.LabPlace(lab)
        words = [str(program), str(QUIET_S + LOADED_S + AFTER_S)]
        ended: list[jobs.Ended] = []
        run = threading.Thread(
            target=lambda: ended.append(place.start(place.with_eco(words, settings), 120.0))
        )
        run.start()
        run.join(QUIET_S)
        with lab.streams(STREAMS, seed=1):
            run.join(LOADED_S)
        run.join()
    assert ended and ended[0].code == 0, ended
    return json.loads(report.read_text())["ambient"], ended[0].output + ended[0].errors
