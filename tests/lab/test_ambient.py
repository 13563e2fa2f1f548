"""Ambient traffic on an emulated network: recipes move off a loaded link, and back when it is gone."""

from __future__ import annotations

import json
import subprocess
import threading
from pathlib import Path

import pytest

from eco import jobs, paths, plans
from eco.lab import Lab, Streams, load

pytestmark = [pytest.mark.lab, pytest.mark.mpi]

PROGRAM = Path(__file__).parents[1] / "mpi" / "programs" / "ambient_phases.c"
#: What follows the traffic is several times what it took in any of our runs to see that it was gone (docs/ambient.md).
QUIET_S, LOADED_S, AFTER_S = 5.0, 13.0, 25.0
#: From the root's subnet to the second one, and from there to the third.
CHAIN = {"broadcast": [(1 << 20, "broadcast/subnets segment=8192 window=2 between=chain inside=chain")]}
#: Out of the second subnet: what the chain passes on shares its uplink with two streams.
STREAMS = Streams((("h4", "h7"), ("h5", "h8")), on_s=100.0, off_s=0.1, window_bytes=64 << 10)


@pytest.mark.parametrize("library", ["openmpi", "mpich"])
def test_a_broadcast_moves_off_a_loaded_uplink_and_back(library: str, tmp_path: Path) -> None:
    program = tmp_path / "ambient_phases"
    compiler = paths.library_dir(library) / "bin" / "mpicc"
    subprocess.run([compiler, "-O1", PROGRAM, "-o", program], check=True)
    plan, report = tmp_path / "plan.json", tmp_path / "report.json"
    plan.write_text(plans.by_hand(8, CHAIN))
    settings = {"ECO_AMBIENT": "auto", "ECO_PLAN": str(plan), "ECO_REPORT": str(report)}
    with Lab(load("three-subnets"), library=library) as lab:
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
    said = ended[0].output + ended[0].errors
    assert "right" in said, said
    told = json.loads(report.read_text())["ambient"]
    assert told["moves"] >= 1, (told, said)
    assert told["moves_back"] >= 1, (told, said)
    # After the last look nothing is loaded, and all that says so is in the account.
    looks = [line for line in told["account"] if " a look of " in line]
    assert len(looks) == told["looks"]
    assert any(not line.endswith("found quiet") for line in looks), told
    assert looks[-1].endswith("found quiet"), told
    assert any(line.endswith(", serves") for line in told["account"]), told
