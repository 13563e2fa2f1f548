"""The commands on emulated hosts, under both libraries: what works, and how it fails."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from eco import jobs, paths, topology
from eco import network as networks
from eco.bench import CLOCK_UNCERTAINTY_S, RATE_UNCERTAINTY, bench_lab
from eco.characterize import characterize_place
from eco.errors import EcoError
from eco.lab import Lab, load
from eco.pairs import BenchOptions
from eco.report import trace_view
from eco.report.records import Record
from eco.trace import Operation, TraceOptions, trace_place

pytestmark = [pytest.mark.lab, pytest.mark.mpi]

#: Against hangs only: a busy machine may take its time.
LIMIT_S = 300.0
PROGRAM = """
from mpi4py import MPI
import numpy as np
comm = MPI.COMM_WORLD
value = np.full(4096, float(comm.rank))
for _ in range(8):
    comm.Bcast(value, root=0)
    total = np.ones(1)
    comm.Allreduce(MPI.IN_PLACE, total)
if comm.rank == 0:
    print("sum", int(total[0]), "value", value[7], flush=True)
"""


def quiet() -> Console:
    return Console(file=io.StringIO(), width=120)


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ECO_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "program.py").write_text(PROGRAM)


@pytest.fixture(params=["openmpi", "mpich"])
def lab(request: pytest.FixtureRequest, _own_folder: None) -> Lab:
    """The smallest network: two hosts on a switch, two on a bus; a cache of its own."""
    return Lab(load("tiny"), library=request.param)


@pytest.fixture(scope="module")
def networks_of_tiny(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A file with the network as this library's ranks measure it, once: it is the same in every lab of that network."""
    made: dict[str, Path] = {}

    def get(library: str) -> Path:
        if library not in made:
            folder = tmp_path_factory.mktemp(library)
            with pytest.MonkeyPatch.context() as patch, Lab(load("tiny"), library=library) as lab:
                patch.setenv("ECO_CACHE_DIR", str(folder / "cache"))
                characterize_place(jobs.LabPlace(lab), folder / "network.json", None, LIMIT_S, None)
            made[library] = folder / "network.json"
        return made[library]

    return get


def program(lab: Lab, *words: str) -> list[str]:
    """`eco run` in the lab."""
    python = str(paths.library_dir(lab.library) / "bin" / "python")
    eco = [sys.executable, "-m", "eco.cli.main", "run", *words, "--"]
    return [*eco, "mpirun", "-n", "4", python, "program.py"]


def test_run_measures_and_remembers(lab: Lab) -> None:
    # What is served of it depends on what was measured; tests/mpi, with plans given by hand, sees to serving.
    with lab:
        first = lab.run(program(lab, "--budget", "10", "--report", "r1.json"), timeout=LIMIT_S, capture=True)
        again = lab.run(program(lab, "--budget", "10", "--report", "r2.json"), timeout=LIMIT_S, capture=True)
    reports = [json.loads(Path(name).read_text()) for name in ("r1.json", "r2.json")]
    for ended, report in zip((first, again), reports, strict=True):
        assert ended.returncode == 0, ended.stderr
        assert "sum 4 value 0.0" in ended.stdout
        assert report["schema"] == "eco.report"
        assert report["communicators_armed"] == 1
    assert reports[0]["measuring_s"] > 0
    assert ", remembered" in reports[1]["network"]
    networks_kept = list(Path("cache").rglob("networks/*.json"))
    assert len(networks_kept) == 1
    assert len(networks.load(networks_kept[0]).hosts) == 4


BAD = {"missing": None, "truncated": 0.5, "foreign": '{"schema": "x", "version": 1}', "version": 99}


@pytest.mark.parametrize(
    ("lab", "what"), [*zip(["openmpi", "mpich"] * 2, BAD, strict=True)], indirect=["lab"]
)
def test_a_bad_network_file_never_stops_the_program(lab: Lab, what: str) -> None:
    good = json.loads((paths.networks_dir() / "recorded" / "three-subnets.json").read_text())
    text = {"truncated": json.dumps(good)[: len(json.dumps(good)) // 2], "foreign": BAD["foreign"],
            "version": json.dumps(good | {"version": 99})}.get(what)  # fmt: skip
    if text is not None:
        Path("n.json").write_text(str(text))
    with lab:
        ended = lab.run(program(lab, "--network", "n.json"), timeout=LIMIT_S, capture=True)
    assert ended.returncode == 0, ended.stderr
    assert "sum 4" in ended.stdout
    assert "n.json" in ended.stderr
    assert "without ECO" in ended.stderr
    if text is not None:
        assert Path("n.json").read_text() == text


def test_a_network_of_other_hosts_leaves_the_program_native(lab: Lab) -> None:
    shutil.copyfile(paths.networks_dir() / "recorded" / "one-switch.json", "n.json")
    good = json.loads(Path("n.json").read_text())
    for i, host in enumerate(good["hosts"]):
        host["name"] = f"elsewhere{i}"
    Path("n.json").write_text(json.dumps(good))
    with lab:
        ended = lab.run(program(lab, "--network", "n.json"), timeout=LIMIT_S, capture=True)
    assert ended.returncode == 0, ended.stderr
    assert "sum 4" in ended.stdout
    assert "eco: served 0 of" in ended.stderr
    assert "h1" in ended.stderr


def test_characterize_finds_two_subnets(lab: Lab, networks_of_tiny: Callable[[str], Path]) -> None:
    found = networks.load(networks_of_tiny(lab.library))
    assert [len(subnet.hosts) for subnet in found.subnets] == [2, 2]


def test_characterize_and_a_rank_that_dies(lab: Lab) -> None:
    out = Path("network.json")
    out.write_text(before := "as it was before")
    with lab:
        killed = threading.Thread(target=kill_a_rank)
        killed.start()
        began = time.monotonic()
        with pytest.raises(EcoError) as error:
            characterize_place(jobs.LabPlace(lab), out, None, LIMIT_S, None)
        killed.join()
    assert time.monotonic() - began < LIMIT_S  # ended by the launcher, not by the time limit
    assert "characterization ended with" in str(error.value)
    assert out.read_text() == before
    assert not list(Path().glob(".eco-*"))


def kill_a_rank(patience_s: float = LIMIT_S / 2) -> None:
    """Ends one process of eco-rank that is a while into its work; only those of this test's own folder."""
    here, deadline = str(Path().absolute()), time.monotonic() + patience_s
    while time.monotonic() < deadline:
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            is_rank = Path(os.fsdecode(words[0])).name.startswith("eco-rank-") and b"characterize" in words
            if is_rank and any(os.fsdecode(word).startswith(here) for word in words):
                time.sleep(0.5)
                os.kill(int(entry.name), signal.SIGKILL)
                return
        time.sleep(0.05)


def test_a_host_without_eco_stops_the_job_with_a_message(lab: Lab, tmp_path: Path) -> None:
    """eco-exec alone, as on a node where the installation is incomplete."""
    bare = tmp_path / "bare"
    bare.mkdir()
    shutil.copy(paths.native_file("eco-exec"), bare / "eco-exec")
    script = tmp_path / "start.sh"
    whole = paths.native_file("eco-exec")
    script.write_text(
        f'#!/bin/sh\ncase $(hostname) in h2) exec {bare}/eco-exec "$@";; *) exec {whole} "$@";; esac\n'
    )
    script.chmod(0o755)
    python = str(paths.library_dir(lab.library) / "bin" / "python")
    with lab:
        ended = lab.run(
            ["mpirun", "-n", "4", str(script), python, "program.py"], timeout=LIMIT_S, capture=True
        )
    assert ended.returncode != 0
    assert "eco-exec on host h2" in ended.stderr
    assert "libeco-preload.so" in ended.stderr


def test_bench_in_the_lab() -> None:
    options = BenchOptions(["broadcast", "barrier"], [8, 16384], launches=2, min_reps=2, max_seconds=0.1)
    outcome = bench_lab(load("tiny"), ["openmpi", "mpich"], ["shuffled:1"], options, False, quiet())
    assert outcome.violations == []
    document = outcome.results.to_dict()
    assert [list(record) for record in document["records"]] == [list(Record.__dataclass_fields__)] * 6
    for record in outcome.results.records:
        assert record.bound_s is not None
        uncertain_s = RATE_UNCERTAINTY * record.bound_s + CLOCK_UNCERTAINTY_S
        assert record.bound_s - uncertain_s <= min(record.eco_min_s, record.stock_min_s)
        assert (record.ranks, record.network, record.launches) == (4, "tiny", 2)
    assert {record.placement for record in outcome.results.records} == {"shuffled:1"}
    assert len({record.library for record in outcome.results.records}) == 2
    assert document["lab"]["network"] == "tiny"
    assert len(document["samples"]) == 6 * 2 * 2
    assert len(document["launches"]) == 2 * 2 * 2
    assert all(launched["relay_late_us"]["packets"] > 0 for launched in document["launches"])


PLAN_ROWS = {"broadcast": "broadcast/subnets segment=8192", "allreduce": "allreduce/subnets segment=8192"}


def test_the_report_counts_what_crosses_between_subnets(lab: Lab) -> None:
    """Two subnets; a broadcast crosses once, an allreduce of one segment once each way."""
    entries = [
        {"collective": name, "root_subnet": 0,
         "rows": [{"up_to_bytes": 1 << 20, "recipe": recipe, "predicted_s": 0.0, "measured_s": 0.0, "native_s": 0.0,
                   "reason": "by hand"}]}
        for name, recipe in PLAN_ROWS.items()
    ]  # fmt: skip
    plan = {"schema": "eco.plan", "version": 1, "network": "", "library": "", "host_of_rank": [0, 1, 2, 3],
            "entries": entries}  # fmt: skip
    Path("plan.json").write_text(json.dumps(plan))
    with lab:
        ended = lab.run(
            program(lab, "--plan", "plan.json", "--report", "r.json"), timeout=LIMIT_S, capture=True
        )
    assert ended.returncode == 0, ended.stderr
    report = json.loads(Path("r.json").read_text())
    totals, of_rank_0 = report["totals"], report["collectives"]
    assert totals["broadcast"]["calls_served"] == 4 * 8
    # 32 KiB in four segments, eight times.
    assert totals["broadcast"]["between_messages"] == 8 * 4
    assert totals["broadcast"]["between_bytes"] == 8 * 32768
    assert of_rank_0["broadcast"]["between_bytes"] == 8 * 32768, "the root sends them"
    assert totals["allreduce"]["between_messages"] == 8 * 2
    assert totals["allreduce"]["between_bytes"] == 8 * 2 * 8


@pytest.mark.parametrize("recipe", [None, "allreduce/ring segment=4096"])
def test_trace_shows_every_operation_of_real_ranks(
    lab: Lab, recipe: str | None, networks_of_tiny: Callable[[str], Path]
) -> None:
    network = networks_of_tiny(lab.library)
    with lab:
        place = jobs.LabPlace(lab)
        run = trace_place(place, network, TraceOptions("allreduce", 65536, recipe=recipe, runs=3))
        with pytest.raises(EcoError, match="allreduce/ring"):
            trace_place(place, network, TraceOptions("broadcast", 65536, recipe="allreduce/ring"))
        with pytest.raises(EcoError, match=r"none\.json"):
            trace_place(place, Path("none.json"), TraceOptions("broadcast", 65536))
    assert run.one_clock
    assert len(run.seconds) == 3
    assert run.traced_s == sorted(run.seconds)[1]
    sent: dict[tuple[int, int, int], list[Operation]] = {}
    received: dict[tuple[int, int, int], list[Operation]] = {}
    for rank, steps in enumerate(run.traced):
        assert 0 < steps.end_s <= run.traced_s
        assert 0 <= steps.busy_s <= steps.end_s
        for step, expected in zip(steps.operations, run.predicted[rank].operations, strict=True):
            assert (step.kind, step.peer, step.channel, step.bytes) == (
                expected.kind, expected.peer, expected.channel, expected.bytes)  # fmt: skip
            assert 0 <= step.start_s <= step.end_s <= steps.end_s
            if step.kind == "send":
                sent.setdefault((rank, step.peer, step.channel), []).append(step)
            elif step.kind == "recv":
                received.setdefault((step.peer, rank, step.channel), []).append(step)
    assert sent.keys() == received.keys()
    for channel, messages in sent.items():
        for message, arrived in zip(messages, received[channel], strict=True):
            assert message.start_s < arrived.end_s, "on one clock nothing arrives before it is sent"
    trace_view.write(run, Path("trace.html"))


def test_eco_run_inserts_what_the_lab_can_start(lab: Lab) -> None:
    with lab:
        env = {**os.environ, **lab.environment}
        version = lab.run(["mpirun", "--version"], timeout=LIMIT_S, capture=True)
    assert version.returncode == 0, (version.stderr, env.get("PATH"))
    from eco import launch

    found = launch.recognise(version.stdout + version.stderr)
    assert found is not None
    assert found.library == lab.library


@pytest.mark.parametrize("library", ["openmpi", "mpich"])
def test_ranks_go_where_eco_map_sends_them(library: str, tmp_path: Path) -> None:
    """Two ranks on each host, in an order that comes back to hosts: what the launcher makes of the file."""
    hosts = ["h3", "h1", "h1", "h2", "h3", "h2"]
    file = tmp_path / "placed"
    if library == "openmpi":
        file.write_text(topology.openmpi_rankfile(hosts))
        option = ["--map-by", f"rankfile:file={file}:OVERSUBSCRIBE"]
    else:
        file.write_text(topology.hydra_machinefile(hosts))
        option = ["-f", str(file)]
    said = "echo ${OMPI_COMM_WORLD_RANK:-$PMI_RANK} $(hostname)"
    with Lab(load("tiny"), library=library) as lab:
        assert set(hosts) <= set(lab.description.hosts)
        ended = lab.run(["mpirun", *option, "-n", "6", "sh", "-c", said], timeout=LIMIT_S, capture=True)
    assert ended.returncode == 0, ended.stderr
    assert sorted(ended.stdout.split("\n")[:-1]) == [f"{rank} {host}" for rank, host in enumerate(hosts)]
