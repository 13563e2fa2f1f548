"""eco record on an emulated network: a piece, and then the rest."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.console import Console

from eco.errors import InvalidArgument
from eco.grids import read_grid
from eco.lab import load
from eco.record import RecordOptions, describe, record_lab
from eco.tuning import guided_search, paper_search, search_cell

pytestmark = [pytest.mark.lab, pytest.mark.mpi, pytest.mark.slow]


def test_a_grid_is_recorded_in_pieces_and_searched(tmp_path: Path) -> None:
    path = tmp_path / "tiny.json.xz"
    tiny = load("tiny")
    console = Console(quiet=True)
    options = RecordOptions(["broadcast"], [2048], launches=3, least_segment=512)
    _, left = record_lab(tiny, "openmpi", "block", path, options, 0.1, console)
    assert left, "one start of the ranks outlasts such a budget"
    grid, left = record_lab(tiny, "openmpi", "block", path, options, 600.0, console)
    assert left == []
    cell = read_grid(path).cells[0]
    assert cell.complete(3)
    assert grid.calibration_s > 0
    assert all(len(seconds) >= 1 for launch in cell.launches for seconds in launch.seconds)
    assert all(launch.overhead_s() > 0 for launch in cell.launches)
    assert "complete" in describe(grid, left)
    for searcher in (paper_search("linear", 3), guided_search(3)):
        assert search_cell(cell, 0, searcher).seconds > 0
    with pytest.raises(InvalidArgument, match="choose another file"):
        record_lab(tiny, "openmpi", "round-robin", path, options, 600.0, console)
