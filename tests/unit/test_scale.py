"""bench/scale.py: generated platforms, their networks and bounds, records; and one small run where SimGrid is."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

BENCH = Path(__file__).parents[2] / "bench"


def _module(name: str) -> ModuleType:
    for folder in (BENCH, BENCH / "simgrid"):
        if str(folder) not in sys.path:
            sys.path.append(str(folder))
    return importlib.import_module(name)


platforms = _module("platforms")
scale = _module("scale")
bounds = _module("bounds")


def _network(tmp_path: Path, name: str, n_ranks: int, seed: int = 1) -> dict:
    path = tmp_path / "platform.xml"
    path.write_text(platforms.platform_text(name, n_ranks, seed))
    return _module("platform_file").Platform(path).network()


@pytest.mark.parametrize("name", list(platforms.PLATFORMS))
@pytest.mark.parametrize("n_ranks", [64, 250, 1024])
def test_a_platform_has_the_ranks_asked_for(name: str, n_ranks: int) -> None:
    segments = platforms.segments_of(name, n_ranks)
    assert sum(segment.n_hosts for segment in segments) == n_ranks
    assert all(segment.n_hosts > 0 for segment in segments)


def test_a_seed_draws_the_same_campus_and_another_one_another() -> None:
    assert platforms.platform_text("campus", 200, 3) == platforms.platform_text("campus", 200, 3)
    assert platforms.platform_text("campus", 200, 3) != platforms.platform_text("campus", 200, 4)
    assert {segment.bus for segment in platforms.segments_of("campus", 200, 3)} == {True, False}


def test_a_fat_tree_is_oversubscribed_four_times() -> None:
    for segment in platforms.segments_of("fat-tree", 256):
        assert segment.n_hosts * segment.bytes_per_s == 4 * segment.uplink_bytes_per_s


def test_what_cannot_be_generated_is_refused() -> None:
    with pytest.raises(ValueError, match="too few for 40 segments"):
        platforms.platform_text("campus", 39)
    with pytest.raises(ValueError, match="no platform 'moon'"):
        platforms.platform_text("moon", 64)


def test_the_network_has_the_platforms_numbers(tmp_path: Path) -> None:
    network = _network(tmp_path, "four-sites", 64)
    assert [len(subnet["hosts"]) for subnet in network["subnets"]] == [32, 16, 8, 8]
    assert [uplink["bytes_per_s"] for uplink in network["uplinks"]] == [1000e6, 500e6, 250e6, 125e6]
    last = network["between"][-1]
    assert (last["from"], last["to"], last["bytes_per_s"]) == (2, 3, 125e6)
    assert last["latency_s"] == pytest.approx(10e-6 + 2e-3 + 4e-3 + 10e-6)


def test_segments_of_a_campus_are_buses_switches_and_lone_hosts(tmp_path: Path) -> None:
    segments = platforms.segments_of("campus", 64)
    kinds = ["lone" if s.n_hosts == 1 else "bus" if s.bus else "switched" for s in segments]
    assert [subnet["kind"] for subnet in _network(tmp_path, "campus", 64)["subnets"]] == kinds
    assert set(kinds) == {"lone", "bus", "switched"}


def test_a_backbone_that_is_no_bus_is_refused(tmp_path: Path) -> None:
    text = platforms.platform_text("campus", 64).replace(
        'bb_sharing_policy="SHARED"', 'bb_sharing_policy="FATPIPE"'
    )
    path = tmp_path / "platform.xml"
    path.write_text(text)
    with pytest.raises(ValueError, match="a backbone that is no bus"):
        _module("platform_file").Platform(path)


def test_bounds_are_what_links_take(tmp_path: Path) -> None:
    network = _network(tmp_path, "two-sites", 64)
    crossing_s = 5.02e-3
    assert bounds.bound_s(network, "broadcast", 1 << 30) == pytest.approx(crossing_s + (1 << 30) / 125e6)
    assert bounds.bound_s(network, "allgather", 1 << 20) == pytest.approx(crossing_s + 48 * (1 << 20) / 125e6)
    assert bounds.bound_s(network, "alltoall", 1 << 20) == pytest.approx(
        crossing_s + 48 * 16 * (1 << 20) / 125e6
    )
    assert bounds.bound_s(network, "broadcast", 8) == pytest.approx(crossing_s + 2e-6, rel=1e-3)


def test_word_spreads_no_faster_than_doubling_where_sending_takes_all_the_time() -> None:
    assert bounds._told_all_s(16, 0.0, 1.0, 0.0) == 4
    # One sender is not caught up with by those who hear it late.
    assert bounds._told_all_s(4, 100.0, 1.0, 0.0) == 103


def _record(bound_s: float, stock_s: float | None, eco_s: float | None) -> dict:
    return {
        "platform": "two-sites",
        "ranks": 64,
        "operation": "broadcast",
        "bytes": 65536,
        "bound_s": bound_s,
        "stock": {
            "ompi": {"why_not": "not ended after 1 s"},
            "impi": {"seconds": stock_s} if stock_s else {"why_not": "failed (1)"},
        },
        "eco": {"recipe": "broadcast/flat", **({"seconds": eco_s} if eco_s else {"why_not": "failed (1)"})},
    }


@pytest.mark.parametrize(
    ("stock_s", "eco_s", "said"),
    [
        (3.0, 1.5, "met"),  # above 2.5 of the bound, and twice as fast
        (3.0, 1.6, "missed"),
        (2.0, 1.15, "met"),  # near the bound
        (2.0, 1.2, "met"),  # no slower than the selector
        (2.0, 2.1, "missed"),
        (None, 1.0, "not run"),
        (2.0, None, "not run"),
    ],
)
def test_verdicts(stock_s: float | None, eco_s: float | None, said: str) -> None:
    assert scale.verdict(_record(1.0, stock_s, eco_s)) == said


def test_records_are_written_and_read_and_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scale, "version", lambda: "SimGrid 0")
    file = tmp_path / "scale.json"
    records = [_record(1.0, 3.0, 1.5), _record(1.0, 2.0, None)]
    scale.write(file, records, 7)
    assert json.loads(file.read_text())["seed"] == 7
    assert scale.read_records(file) == records
    assert scale.summary(records) == {"cells": 2, "met": 1, "missed": 0, "not_run": 1,
                                      "faster_than_every_selector": 1, "slower_than_the_best": 0}  # fmt: skip
    first, second = scale.rows(records)
    assert first[3] == "64 KiB" and first[5] == "3000.000 (impi)" and first[9] == "2.00"
    assert second[7] == "failed (1)"
    file.write_text("{}")
    with pytest.raises(SystemExit, match=r"no eco\.bench\.scale"):
        scale.read_records(file)


def test_a_whole_is_all_contributions() -> None:
    assert scale.whole_bytes("allgather", 8, 64) == scale.whole_bytes("alltoall", 8, 64) == 512
    assert scale.whole_bytes("broadcast", 8, 64) == 8


@pytest.mark.slow
def test_the_bench_runs_and_goes_on(tmp_path: Path) -> None:
    smpi = _module("smpi")
    if reason := smpi.why_not():
        pytest.skip(reason)
    file = tmp_path / "scale.json"
    words = [sys.executable, str(BENCH / "scale.py"), "--ranks", "16", "--platforms", "two-sites",
             "--operations", "broadcast,allgather", "--sizes", "1024", "--json", str(file)]  # fmt: skip
    ended = subprocess.run(words, check=True, capture_output=True, text=True, timeout=590)
    said = json.loads(ended.stdout.splitlines()[-1])
    assert (said["cells"], said["not_run"]) == (2, 0)
    records = scale.read_records(file)
    for record in records:
        assert set(record["stock"]) == set(scale.SELECTORS)
        for run in (*record["stock"].values(), record["eco"]):
            assert run["seconds"] >= record["bound_s"]
    again = subprocess.run(words, check=True, capture_output=True, text=True, timeout=590)
    assert again.stderr == "", "what is recorded was run again"
    assert scale.read_records(file) == records
