"""Recorded grids: every form and segment of some problems, timed in several launches, for the tuner's searches.

    grid = read_grid(Path("bench/grids/three-subnets-openmpi.json.xz"))
    grid.cells[0].points[3].recipe, grid.cells[0].launches[0].seconds[3]

A point is one recipe at one problem. A search asks a grid for times instead of ranks; docs/tuning.md says what for.
"""

from __future__ import annotations

import json
import lzma
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from eco.errors import CorruptFile
from eco.report.records import expect, write_bytes

SCHEMA = "eco.grid"
VERSION = 1


@dataclass(frozen=True)
class Point:
    """A recipe: a form, and a segment size (0: whole messages)."""

    form: int  # index into Cell.forms
    segment: int
    recipe: str
    predicted_s: float


@dataclass
class CellLaunch:
    """All points of a cell, timed in one start of the ranks (slow ones may have been, in another)."""

    number: int
    seconds: list[list[float]]  # of each point; empty where it gave a wrong result
    native: list[float] = field(default_factory=list)
    took_s: float = 0.0  # the trials' wall time
    runs: int = 0  # that it was spent on, those that check results among them
    done: list[bool] = field(default_factory=list)  # which points have had their turn

    def overhead_s(self) -> float:
        """Beyond the calls themselves, of one run: beginning together, clearing buffers, agreeing."""
        calls = sum(sum(one) / len(one) * (1 + len(one)) for one in self.seconds if one)
        return max(0.0, self.took_s - calls) / max(1, self.runs)


@dataclass
class Cell:
    """One problem with its points."""

    collective: str
    bytes: int
    root: int
    forms: list[str]
    points: list[Point]
    left_out: list[dict[str, Any]]  # recipe, predicted_s, why
    most_times: float  # points predicted to take so many times the best's are left out
    predicting_s: float  # processor time of all predictions
    launches: list[CellLaunch] = field(default_factory=list)

    @property
    def problem(self) -> tuple[str, int, int]:
        return (self.collective, self.bytes, self.root)

    def launch(self, number: int) -> CellLaunch:
        """The launch of that number, made where it is not yet there."""
        for launch in self.launches:
            if launch.number == number:
                return launch
        none = len(self.points)
        launch = CellLaunch(number, [[] for _ in range(none)], done=[False] * none)
        self.launches.append(launch)
        return launch

    def complete(self, launches: int) -> bool:
        return len(self.launches) >= launches and all(all(one.done) for one in self.launches)


@dataclass
class RecordedGrid:
    """A file: one network, library and placement."""

    network: dict[str, Any]  # as measured, without its samples
    hosts: list[int]  # of each rank, in the network
    place: dict[str, Any]  # name and digest of the lab's network, library, placement
    calibration_s: float  # what measuring the network took
    provenance: dict[str, Any]
    cells: list[Cell] = field(default_factory=list)

    def network_text(self) -> str:
        return json.dumps(self.network)

    def cell(self, collective: str, size: int, root: int = 0) -> Cell | None:
        return next((cell for cell in self.cells if cell.problem == (collective, size, root)), None)


def write_grid(path: Path, grid: RecordedGrid) -> None:
    """Compressed; atomically, as write_bytes."""
    document = {"schema": SCHEMA, "version": VERSION, **asdict(grid)}
    text = json.dumps(_rounded(document), separators=(",", ":"))
    write_bytes(path, lzma.compress(text.encode()))


def read_grid(path: Path) -> RecordedGrid:
    """Throws CorruptFile."""
    try:
        with lzma.open(path, "rt", encoding="utf-8") as file:
            document = json.load(file)
    except (OSError, EOFError, lzma.LZMAError, ValueError) as error:
        raise CorruptFile(f"{path}: no recorded grid ({error})") from error
    document = expect(path, document, SCHEMA, VERSION)
    try:
        cells = [
            Cell(
                **{
                    **cell,
                    "points": [Point(**point) for point in cell["points"]],
                    "launches": [CellLaunch(**launch) for launch in cell["launches"]],
                }
            )
            for cell in document["cells"]
        ]
        known = ("network", "hosts", "place", "calibration_s", "provenance")
        return RecordedGrid(**{key: document[key] for key in known}, cells=cells)
    except (KeyError, TypeError) as error:
        raise CorruptFile(f"{path}: {error!r} in a grid of another version; record it again") from error


def _rounded(value: Any) -> Any:
    """Times to a tenth of a microsecond, which is more than clocks tell, and less than half the file."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {key: _rounded(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_rounded(one) for one in value]
    return value
