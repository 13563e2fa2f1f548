"""Which algorithm is chosen for which size and number of ranks, as an HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import plotly.graph_objects as go

from eco.report.picture import PALETTE, nothing, write_page
from eco.report.records import check_ending, seconds_text, size_text


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

    @property
    def pattern(self) -> str:
        """Without the operation's name, which all choices of a map share."""
        return self.algorithm.partition("/")[2] or self.algorithm

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def figure(choices: Sequence[Choice], title: str) -> go.Figure:
    """Sizes to the right, ranks upwards, each cell named and coloured by its algorithm; hover shows recipe and time."""
    if not choices:
        return nothing(title, "no algorithm serves any of these sizes and ranks")
    sizes = sorted({choice.bytes for choice in choices})
    ranks = sorted({choice.ranks for choice in choices})
    algorithms = list(dict.fromkeys(choice.algorithm for choice in choices))
    cells = {(choice.ranks, choice.bytes): choice for choice in choices}
    n = len(algorithms)
    # A step function of colours: cell value i lies in the middle of the i-th of n equal steps.
    steps: list[tuple[float, str]] = []
    for i in range(n):
        colour = PALETTE[i % len(PALETTE)]
        steps += [(i / n, colour), ((i + 1) / n, colour)]

    def row(of: Any, count: int) -> list[Any]:
        found = (cells.get((count, size)) for size in sizes)
        return [of(choice) if choice else None for choice in found]

    def size_of(size: int) -> str:
        return size_text(size) if size else "nothing"

    def words(choice: Choice) -> str:
        return (
            f"{size_of(choice.bytes)}, {choice.ranks} ranks: {seconds_text(choice.seconds)} predicted"
            f"<br>{choice.recipe}"
        )

    def label(choice: Choice) -> str:
        return f"{choice.pattern}<br>{seconds_text(choice.seconds)}"

    chart = go.Figure(
        go.Heatmap(
            x=[size_of(size) for size in sizes],
            y=[str(count) for count in ranks],
            z=[row(lambda choice: algorithms.index(choice.algorithm), count) for count in ranks],
            text=[row(label, count) for count in ranks],
            texttemplate="%{text}",
            textfont={"color": "white", "size": 11},
            hovertext=[row(words, count) for count in ranks],
            hoverinfo="text",
            hoverongaps=False,
            colorscale=steps,
            zmin=-0.5,
            zmax=n - 0.5,
            xgap=2,
            ygap=2,
            colorbar={"tickvals": list(range(n)), "ticktext": algorithms, "title": "algorithm"},
        )
    )
    chart.update_xaxes(title_text="size of the operation", type="category")
    chart.update_yaxes(title_text="ranks (the first so many)", type="category")
    chart.update_layout(title=title, template="plotly_white", height=max(320, 200 + 60 * len(ranks)))
    return chart


#: Too much of it is read by pointing at it.
ENDINGS = (".html",)


def write(choices: Sequence[Choice], title: str, path: Path) -> None:
    check_ending(path, ENDINGS)
    write_page(figure(choices, title), path)
