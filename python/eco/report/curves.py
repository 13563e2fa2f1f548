"""Predicted and measured times over the size, one chart per operation: the papers' Figures 2 to 11."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import plotly.graph_objects as go
from plotly.colors import qualitative
from plotly.subplots import make_subplots

from eco import stats
from eco.report.picture import write_page
from eco.validate import NATIVE, Record


def figure(records: Sequence[Record], title: str = "Predicted and measured") -> go.Figure:
    """Lines are predictions, marks are measured medians; one colour for each algorithm."""
    charts = list(dict.fromkeys(record.cell[:4] for record in records))
    page = make_subplots(
        rows=len(charts),
        cols=1,
        subplot_titles=[
            f"{op} on {network}: {library}, {placement}" for network, library, placement, op in charts
        ],
        vertical_spacing=min(0.1, 0.4 / max(1, len(charts))),
    )
    colours = qualitative.Dark24
    for row, chart in enumerate(charts, start=1):
        here = [record for record in records if record.cell[:4] == chart]
        for number, algorithm in enumerate(dict.fromkeys(record.algorithm for record in here)):
            line = [record for record in here if record.algorithm == algorithm]
            colour = "black" if algorithm == NATIVE else colours[number % len(colours)]
            sizes = [record.bytes for record in line]
            page.add_scatter(x=sizes, y=[1e3 * stats.median(record.measured_s) for record in line], mode="markers",
                             name=f"{algorithm} measured", marker={"color": colour}, row=row, col=1)  # fmt: skip
            if algorithm != NATIVE:
                page.add_scatter(x=sizes, y=[1e3 * (record.simulate_s or 0.0) for record in line], mode="lines",
                                 name=f"{algorithm} predicted", line={"color": colour}, row=row, col=1)  # fmt: skip
        page.update_xaxes(type="log", title_text="bytes", row=row, col=1)
        page.update_yaxes(type="log", title_text="ms", row=row, col=1)
    page.update_layout(title=title, template="plotly_white", height=120 + 420 * len(charts))
    return page


def write_html(records: Sequence[Record], path: Path) -> None:
    """One file, no network needed to look at it."""
    write_page(figure(records), path)
