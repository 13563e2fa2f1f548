"""Which algorithm is chosen for which size and number of ranks, as an HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import plotly.graph_objects as go

from eco.errors import InvalidArgument
from eco.report.gantt import COLOURS
from eco.report.picture import write_page
from eco.report.records import seconds_text, size_text


@dataclass(frozen=True)
class Choice:
    """The cheapest recipe of one cell."""

    bytes: int
    ranks: int
    recipe: str
    seconds: float

    @property
    def algorithm(self) -> str:
        return self.recipe.split()[0]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def figure(choices: Sequence[Choice], title: str) -> go.Figure:
    """Sizes to the right, ranks upwards, a colour for each algorithm; hover shows recipe and time."""
    sizes = sorted({choice.bytes for choice in choices})
    ranks = sorted({choice.ranks for choice in choices})
    algorithms = list(dict.fromkeys(choice.algorithm for choice in choices))
    cells = {(choice.ranks, choice.bytes): choice for choice in choices}
    n = len(algorithms)
    # A step function of colours: cell value i lies in the middle of the i-th of n equal steps.
    steps: list[tuple[float, str]] = []
    for i in range(n):
        colour = COLOURS[i % len(COLOURS)]
        steps += [(i / n, colour), ((i + 1) / n, colour)]

    def row(of: Any, count: int) -> list[Any]:
        found = (cells.get((count, size)) for size in sizes)
        return [of(choice) if choice else None for choice in found]

    def words(choice: Choice) -> str:
        return (
            f"{size_text(choice.bytes)}, {choice.ranks} ranks: {seconds_text(choice.seconds)}"
            f"<br>{choice.recipe}"
        )

    chart = go.Figure(
        go.Heatmap(
            x=[size_text(size) for size in sizes],
            y=[str(count) for count in ranks],
            z=[row(lambda choice: algorithms.index(choice.algorithm), count) for count in ranks],
            text=[row(words, count) for count in ranks],
            hoverinfo="text",
            colorscale=steps,
            zmin=-0.5,
            zmax=n - 0.5,
            xgap=2,
            ygap=2,
            colorbar={"tickvals": list(range(n)), "ticktext": algorithms},
        )
    )
    chart.update_xaxes(title_text="size", type="category")
    chart.update_yaxes(title_text="ranks", type="category")
    chart.update_layout(title=title, template="plotly_white", height=240 + 40 * len(ranks))
    return chart


def write(choices: Sequence[Choice], title: str, path: Path) -> None:
    if path.suffix != ".html":
        raise InvalidArgument(f"{path}: a decision map is written as .html")
    write_page(figure(choices, title), path)
