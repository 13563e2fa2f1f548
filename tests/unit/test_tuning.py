"""Recorded grids: their file, their recorder, and what searches cost on them. No network, no MPI."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from eco import _core
from eco.errors import CorruptFile, InvalidArgument
from eco.grids import Cell, CellLaunch, Point, RecordedGrid, read_grid, write_grid
from eco.record import Recorder, RecordOptions, make_cell, units_of
from eco.tuning import (
    Bench,
    Space,
    guided_search,
    left_out_s,
    paper_search,
    regret,
    search_cell,
    seconds_to,
    shortlist_search,
)

THREE_SUBNETS = "hosts=3+3+2 rate_mbit=191 uplink_mbit=38.2 latency_us=60 between_us=200 overhead_us=15"


def empty_grid() -> RecordedGrid:
    network = json.loads(_core.synthetic_network(THREE_SUBNETS))
    return RecordedGrid(network, list(range(8)), {"lab": "none"}, 2.0, {})


class Ranks:
    """Times as predicted, and how often anybody asked."""

    def __init__(self, grid: RecordedGrid, most: int = 10**9) -> None:
        self.grid = grid
        self.most = most  # trials in a start
        self.starts: list[int] = []

    def __call__(self, trials: Sequence[dict[str, Any]], left_s: float) -> list[dict[str, Any]]:
        self.starts.append(len(trials))
        timed = []
        for trial in trials[: self.most]:
            cell = self.grid.cell(trial["collective"], trial["bytes"])
            assert cell is not None
            predicted = {point.recipe: point.predicted_s for point in cell.points}
            runs = trial["repetitions"]["rounds"]
            entries = [
                {"recipe": recipe, "seconds": [predicted[recipe]] * runs} for recipe in trial["recipes"]
            ]
            timed.append({"recipes": entries, "native": [1.0] * runs, "took_s": 10.0})
        return timed


OPTIONS = RecordOptions(["broadcast", "scatter"], [1024, 16384], launches=3, least_segment=256)


def recorded(path: Path, options: RecordOptions = OPTIONS) -> RecordedGrid:
    grid = empty_grid()
    assert Recorder(grid, path, options, Ranks(grid)).record(1e9) == []
    return grid


def test_a_recorded_grid_is_complete_and_reads_back_as_written(tmp_path: Path) -> None:
    path = tmp_path / "grid.json.xz"
    grid = recorded(path)
    back = read_grid(path)
    assert [cell.problem for cell in back.cells] == [
        ("broadcast", 1024, 0), ("broadcast", 16384, 0), ("scatter", 1024, 0), ("scatter", 16384, 0),
    ]  # fmt: skip
    for cell, again in zip(grid.cells, back.cells, strict=True):
        assert again.complete(3) and not again.complete(4)
        assert [point.recipe for point in again.points] == [point.recipe for point in cell.points]
        assert all(all(seconds) for launch in again.launches for seconds in launch.seconds)
    assert path.stat().st_size < 50_000


def test_recording_goes_on_where_it_was_interrupted(tmp_path: Path) -> None:
    path = tmp_path / "grid.json.xz"
    grid = empty_grid()
    ranks = Ranks(grid, most=2)
    seconds = iter(range(1000))
    left = Recorder(grid, path, OPTIONS, ranks).record(3.5, lambda: float(next(seconds)))
    assert left
    assert len(ranks.starts) == 3
    # Another process, with what the first one wrote.
    again = read_grid(path)
    more = Ranks(again)
    assert Recorder(again, path, OPTIONS, more).record(1e9) == []
    assert more.starts[0] == len(left)
    assert len(more.starts) == 3
    whole = empty_grid()
    once = Ranks(whole)
    Recorder(whole, tmp_path / "whole.json.xz", OPTIONS, once).record(1e9)
    n_units = sum(once.starts)
    assert 3 * 2 + sum(more.starts) == n_units  # nothing was measured twice
    for cell, other in zip(read_grid(path).cells, read_grid(tmp_path / "whole.json.xz").cells, strict=True):
        assert [launch.seconds for launch in cell.launches] == [launch.seconds for launch in other.launches]


def test_a_complete_grid_starts_no_ranks(tmp_path: Path) -> None:
    grid = recorded(tmp_path / "grid.json.xz")
    ranks = Ranks(grid)
    Recorder(grid, tmp_path / "grid.json.xz", OPTIONS, ranks).record(1e9)
    assert ranks.starts == []


def test_what_is_predicted_to_be_too_slow_is_left_out_and_listed() -> None:
    grid = empty_grid()
    everything = make_cell(grid, "broadcast", 16384, RecordOptions(["broadcast"], [16384], most_times=1e9))
    quick = make_cell(grid, "broadcast", 16384, RecordOptions(["broadcast"], [16384], most_times=2.0))
    assert not everything.left_out
    assert {point.recipe for point in everything.points} == {point.recipe for point in quick.points} | {
        one["recipe"] for one in quick.left_out
    }
    best = min(point.predicted_s for point in quick.points)
    assert all(one["predicted_s"] > 2 * best for one in quick.left_out)
    assert left_out_s(quick, repeats=1, overhead_s=0.0) == pytest.approx(
        2 * sum(one["predicted_s"] for one in quick.left_out)
    )


def test_units_are_of_one_length_and_each_point_is_in_one() -> None:
    cell = make_cell(
        empty_grid(), "broadcast", 1 << 20, RecordOptions(["broadcast"], [1 << 20], least_segment=4096)
    )
    units = units_of(cell, 0)
    assert len(units) > 1
    assert sorted(p for unit in units for p in unit.points) == list(range(len(cell.points)))
    assert units[0].runs >= units[-1].runs


def test_a_damaged_or_newer_grid_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "grid.json.xz"
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(CorruptFile, match="no recorded grid"):
        read_grid(path)
    grid = empty_grid()
    write_grid(path, grid)
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(CorruptFile):
        read_grid(path)
    null = tmp_path / "null"
    null.symlink_to("/dev/null")
    write_grid(null, grid)
    assert null.is_char_device(), "nothing takes a device's place"


def test_two_launches_cannot_be_scored() -> None:
    with pytest.raises(InvalidArgument, match="give 3 or more"):
        RecordOptions(["broadcast"], [8], launches=2)


@pytest.mark.parametrize("option", [{"most_times": 0}, {"most_s": -1}, {"least_segment": 0}])
def test_what_would_leave_nothing_is_refused(option: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument, match="nothing would be left"):
        RecordOptions(["broadcast"], [8], **option)


def cell_of(times: list[list[float]], launches: int = 3) -> Cell:
    """Forms by the seconds of their points, predicted as they are, every launch the same."""
    points = [
        Point(m, 0 if p == 0 else 4096 >> p, f"broadcast/m{m} {p}", seconds)
        for m, curve in enumerate(times)
        for p, seconds in enumerate(curve)
    ]
    cell = Cell("broadcast", 4096, 0, [f"broadcast/m{m}" for m in range(len(times))], points, [], 20.0, 0.0)
    for number in range(launches):
        seconds = [[point.predicted_s] * 3 for point in points]
        # Four runs of each, the first of them untimed, and native's; a tenth of a second more for each run.
        n_runs = 4 * len(points)
        took_s = sum(4 * point.predicted_s for point in points) + 0.1 * n_runs
        cell.launches.append(CellLaunch(number, seconds, [], took_s, n_runs, [True] * len(points)))
    return cell


CURVES = [[9.0, 7.0, 6.0, 7.0, 9.0, 13.0], [8.0, 5.0, 3.0, 2.0, 3.0, 5.0]]


def test_searches_find_the_best_point_and_are_charged_what_measuring_takes() -> None:
    cell = cell_of(CURVES)
    linear = search_cell(cell, 0, paper_search("linear", 3))
    assert cell.points[linear.best].predicted_s == 2.0
    # Three timed runs and the one that checks, each with its share of beginning together.
    assert linear.seconds == pytest.approx(4 * sum(map(sum, CURVES)) + 4 * 0.1 * 12)
    assert (linear.points, linear.runs) == (12, 36)
    for name in ("mgd", "smgd"):
        other = search_cell(cell, 0, paper_search(name, 3))
        assert other.best == linear.best
        assert other.seconds < linear.seconds
    guided = search_cell(cell, 0, guided_search(3))
    assert guided.best == linear.best
    assert guided.seconds < linear.seconds / 4


def test_a_budget_ends_a_search_with_an_answer() -> None:
    cell = cell_of(CURVES)
    searched = search_cell(cell, 0, paper_search("linear", 3), budget_s=60.0)
    assert searched.ended == "no time left"
    assert 0 < searched.points < 12
    assert searched.seconds < 60.0 + 4 * 9.1


def test_points_are_ordered_by_segment_whatever_the_file_says() -> None:
    cell = cell_of([[9.0, 7.0, 6.0]])
    cell.points.reverse()
    segments = [segment for segment, _ in Space.of(cell).forms[0][1]]
    assert segments == [0, 2048, 1024]


def test_a_run_that_failed_is_charged_and_never_chosen() -> None:
    cell = cell_of([[3.0, 1.0]])
    for launch in cell.launches:
        launch.seconds[1] = []
    searched = search_cell(cell, 0, paper_search("linear", 3))
    assert searched.best == 0
    bench = Bench(cell, cell.launches[0], Space.of(cell))
    assert bench([(0, 1)], 3) == [[]]
    assert bench.seconds > 1.0


def test_regret_is_scored_on_launches_that_the_search_has_not_seen() -> None:
    cell = cell_of([[2.0], [3.0]])
    assert regret(cell, 0, searched_in=0) == pytest.approx(0.0)
    assert regret(cell, 1, searched_in=0) == pytest.approx(0.5)
    # The second was lucky in the launch that was searched: that counts for nothing.
    cell.launches[0].seconds[1] = [0.1, 0.1, 0.1]
    chosen = search_cell(cell, 0, paper_search("linear", 3)).best
    assert chosen == 1
    assert regret(cell, chosen, searched_in=0) == pytest.approx(0.5)
    with pytest.raises(ValueError, match="no two launches"):
        regret(cell_of(CURVES, launches=2), 0, searched_in=0)


def test_a_curve_reaches_a_regret_only_where_it_stays_there() -> None:
    curve = [(1.0, 0.3), (2.0, 0.01), (3.0, 0.2), (4.0, 0.02)]
    assert seconds_to(curve, 0.05) == 4.0
    assert seconds_to(curve, 0.25) == 2.0
    assert seconds_to(curve, 0.001) is None


def test_the_model_guided_search_knows_in_the_next_cell_what_it_has_learned() -> None:
    slow = cell_of([[2.0, 1.5, 1.4, 1.5], [1.6, 1.2, 1.0, 1.2], [3.0, 2.5, 2.0, 2.4]])
    slow.points = [
        Point(p.form, p.segment, p.recipe, p.predicted_s / (1.6 if p.form == 0 else 1.0)) for p in slow.points
    ]
    search = guided_search(3)
    first = search_cell(slow, 0, search)
    second = search_cell(slow, 0, search)
    assert slow.points[first.best].form == slow.points[second.best].form == 1
    assert second.seconds < first.seconds


def test_who_trusts_predictions_alone_measures_the_first_few() -> None:
    cell = cell_of(CURVES)
    searched = search_cell(cell, 0, shortlist_search(3, how_many=2))
    assert searched.points == 2
    assert cell.points[searched.best].predicted_s == 2.0


def test_the_benchmark_ends_with_one_json_object(tmp_path: Path) -> None:
    grid = empty_grid()
    grid.cells = [
        cell_of(CURVES),
        replace(cell_of([[3.0, 1.0], [2.0, 4.0]]), collective="scatter", bytes=131072),
    ]
    write_grid(tmp_path / "known.json.xz", grid)
    out = tmp_path / "cost.json"
    script = Path(__file__).parents[2] / "bench" / "tuning_cost.py"
    ended = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "known.json.xz"), "--json", str(out)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    found = json.loads(ended.stdout.splitlines()[-1])["search"]
    assert list(found) == ["linear", "mgd", "smgd", "model_guided"]
    for one in found.values():
        assert one["mean_regret"] == pytest.approx(0.0)
        assert one["seconds"] > 0
    assert (
        found["model_guided"]["measuring_s"] < found["smgd"]["measuring_s"] < found["linear"]["measuring_s"]
    )
    # Measuring the network is charged to whom it serves.
    assert found["model_guided"]["seconds"] >= found["model_guided"]["measuring_s"] + grid.calibration_s
    cases = json.loads(out.read_text())["table_10"]
    assert [(case["collective"], case["bytes"]) for case in cases] == [("scatter", 131072)]


def test_an_oracle_that_answers_too_little_is_an_error() -> None:
    with pytest.raises(InvalidArgument, match="asked for 1 points and answered 0"):
        _core.tune_by("linear", 8, [("broadcast/flat", [(0, 1.0)])], lambda points, times: [])
    with pytest.raises(InvalidArgument, match="none of linear, mgd, smgd"):
        _core.tune_by("best", 8, [("broadcast/flat", [(0, 1.0)])], lambda points, times: [])
