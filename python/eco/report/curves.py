"""Predicted and measured times over the size, one chart per operation: the papers' Figures 2 to 11."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from eco import stats
from eco.report.picture import PALETTE, nothing, write_page
from eco.report.records import seconds_text, size_text
from eco.validate import NATIVE, Record

CHART_PX, GAP_PX = 380, 90


def _pattern(record: Record) -> str:
    """The algorithm without its operation: one colour and one entry of the legend over all charts."""
    name = record.algorithm.partition("/")[2] or record.algorithm
    return f"{name} (found)" if record.found else name


def _words(record: Record) -> str:
    measured = stats.median(record.measured_s)
    lines = [f"{record.recipe}, {size_text(record.bytes)}", f"measured {seconds_text(measured)}"]
    for name, model in (("predicted", "simulate"), ("closed form", "closed")):
        seconds = record.predicted_s(model)
        if seconds is not None:
            error = f" ({100 * (seconds / measured - 1):+.0f} %)" if measured > 0 else ""
            lines.append(f"{name} {seconds_text(seconds)}{error}")
    return "<br>".join(lines)


def _line(records: Sequence[Record], model: str) -> tuple[list[Any], list[float]]:
    """Sizes and milliseconds; nothing at zero, which a logarithmic axis has no place for."""
    found = [(record.bytes, record.predicted_s(model)) for record in records]
    points = [(size, 1e3 * seconds) for size, seconds in found if seconds]
    return [size for size, _ in points], [ms for _, ms in points]


def figure(records: Sequence[Record], title: str = "Predicted and measured") -> go.Figure:
    """Marks are measured medians, lines predictions, dashed lines closed forms; a colour for each algorithm."""
    if not records:
        return nothing(title, "nothing was measured")
    charts = list(dict.fromkeys(record.cell[:4] for record in records))
    height = 140 + (CHART_PX + GAP_PX) * len(charts)
    page = make_subplots(
        rows=len(charts),
        cols=1,
        subplot_titles=[
            f"{op} on {network}: {library}, {placement}" for network, library, placement, op in charts
        ],
        vertical_spacing=GAP_PX / height,
    )
    patterns = sorted({_pattern(record) for record in records} - {NATIVE})
    colours = {name: PALETTE[i % len(PALETTE)] for i, name in enumerate(patterns)} | {NATIVE: "black"}
    named: set[str] = set()
    for row, chart in enumerate(charts, start=1):
        here = [record for record in records if record.cell[:4] == chart]
        for name in colours:
            mine = sorted((record for record in here if _pattern(record) == name), key=lambda one: one.bytes)
            if not mine:
                continue
            colour = colours[name]
            page.add_scatter(
                x=[record.bytes for record in mine],
                y=[1e3 * stats.median(record.measured_s) for record in mine],
                mode="markers" if name != NATIVE else "markers+lines", name=name, legendgroup=name,
                showlegend=name not in named, marker={"color": colour, "size": 8},
                line={"color": colour, "width": 1, "dash": "dot"},
                hovertext=[_words(record) for record in mine], hoverinfo="text", row=row, col=1,
            )  # fmt: skip
            named.add(name)
            for model, dash in (("simulate", "solid"), ("closed", "dash")):
                x, y = _line(mine, model)
                if x:
                    page.add_scatter(
                        x=x, y=y, mode="lines", name=f"{name} {model}", legendgroup=name, showlegend=False,
                        line={"color": colour, "dash": dash, "width": 1.5}, hoverinfo="skip", row=row, col=1,
                    )  # fmt: skip
        _axes(page, row, sorted({record.bytes for record in here}))
    page.update_layout(
        title=f"{title}<br><sub>marks: measured medians; lines: predicted; dashed: closed form; black: the "
        "library's own</sub>",
        template="plotly_white", height=height, legend_title_text="algorithm",
    )  # fmt: skip
    return page


def _axes(page: go.Figure, row: int, sizes: Sequence[int]) -> None:
    """Ticks at the sizes that were measured. A barrier has no size: there the axis is not logarithmic."""
    page.update_xaxes(
        type="log" if sizes[0] > 0 else "linear", tickvals=list(sizes), ticktext=[size_text(size) for size in sizes],
        title_text="size", row=row, col=1,
    )  # fmt: skip
    page.update_yaxes(type="log", title_text="ms", row=row, col=1)


def write_html(records: Sequence[Record], path: Path) -> None:
    """One file, no network needed to look at it."""
    write_page(figure(records), path)
