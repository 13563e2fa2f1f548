"""A call as predicted and as traced, one above the other on one time axis, and where they differ most.

write(run, Path("trace.html"))      # interactive; .svg for documents
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import plotly.graph_objects as go
from plotly.subplots import make_subplots
from rich import box
from rich.table import Table

from eco.report import trace_drawing
from eco.report.picture import write_page
from eco.report.records import check_ending, seconds_text, write_text
from eco.report.trace_bars import bars, colour, lane, lanes_of, which_run, words
from eco.trace import RankSteps, TracedRun

COLUMNS = ("rank", "end predicted", "traced", "later by", "busy predicted", "traced", "waiting predicted",
           "traced")  # fmt: skip
MARGIN_PX, LANE_PX, ROW_PX, TABLE_HEAD_PX = 190, 16, 26, 60


def _add_chart(page: go.Figure, row: int, ranks: Sequence[RankSteps], others: Sequence[RankSteps]) -> None:
    groups: dict[str, dict[str, list[object]]] = {}
    colours: dict[str, str] = {}
    for rank, (steps, other) in enumerate(zip(ranks, others, strict=True)):
        for position, ((step, begins_s), twin) in enumerate(zip(bars(steps), other.operations, strict=True)):
            tint, name = colour(rank, step)
            colours[name] = tint
            group = groups.setdefault(name, {"x": [], "base": [], "y": [], "hovertext": []})
            group["y"].append(lane(rank, step.kind))
            group["base"].append(begins_s * 1e3)
            group["x"].append((step.end_s - begins_s) * 1e3)
            group["hovertext"].append(words(rank, position, step, twin))
    for name in sorted(groups, key=lambda name: (not name.startswith("sent"), len(name), name)):
        page.add_bar(
            **groups[name], orientation="h", name=name, legendgroup=name, showlegend=row == 1, hoverinfo="text",
            marker={"color": colours[name], "opacity": 0.85, "line": {"width": 0.5, "color": "white"}},
            row=row, col=1,
        )  # fmt: skip


def rows(run: TracedRun) -> list[tuple[str, ...]]:
    """The table of differences, the worst predicted rank first; COLUMNS are its columns."""
    found: list[tuple[str, ...]] = []
    for one in run.differences():
        sign = "-" if one.later_s < 0 else "+"
        found.append(
            (
                str(one.rank),
                seconds_text(one.predicted.end_s),
                seconds_text(one.traced.end_s),
                f"{sign}{seconds_text(abs(one.later_s))}",
                seconds_text(one.predicted.busy_s),
                seconds_text(one.traced.busy_s),
                seconds_text(one.predicted.waiting_s),
                seconds_text(one.traced.waiting_s),
            )
        )
    return found


def figure(run: TracedRun) -> go.Figure:
    """Predicted above, traced below, the table under both; zooming one chart zooms the other."""
    lanes = lanes_of(run)
    chart_px = max(80, LANE_PX * len(lanes))
    table_px = TABLE_HEAD_PX + ROW_PX * len(run.traced)
    height = 2 * chart_px + table_px + 3 * MARGIN_PX
    page = make_subplots(
        rows=3, cols=1, row_heights=[chart_px, chart_px, table_px], specs=[[{}], [{}], [{"type": "table"}]],
        vertical_spacing=80 / height,
        subplot_titles=[
            f"predicted: {seconds_text(run.predicted_s)}",
            f"traced: {seconds_text(run.traced_s)}, {which_run(run)}",
            "where they differ, rank by rank, the worst first",
        ],
    )  # fmt: skip
    _add_chart(page, 1, run.predicted, run.traced)
    _add_chart(page, 2, run.traced, run.predicted)
    last_ms = 1e3 * max(run.predicted_s, run.traced_s)
    for row in (1, 2):
        page.update_xaxes(
            title_text="ms since the common start" if run.one_clock else "ms since each rank's own start",
            range=[0, 1.02 * last_ms or 1.0], matches="x", row=row, col=1,
        )  # fmt: skip
        page.update_yaxes(
            type="category", categoryorder="array", categoryarray=lanes[::-1], range=[-0.5, len(lanes) - 0.5],
            title_text="rank", tickfont={"size": 10}, row=row, col=1,
        )  # fmt: skip
    table = rows(run)
    page.add_table(
        header={"values": list(COLUMNS), "align": "right"},
        cells={"values": [list(column) for column in zip(*table, strict=True)], "align": "right",
               "height": ROW_PX},
        row=3, col=1,
    )  # fmt: skip
    clock = "" if run.one_clock else "; clocks of several machines, so ranks are not aligned"
    page.update_layout(
        title=f"{run.title()}<br><sub>{run.library}, {run.placement}{clock}. Busy: posting, combining, copying; "
        "receiving is part of waiting</sub>",
        barmode="overlay", template="plotly_white", height=height, bargap=0.15,
    )  # fmt: skip
    return page


def table(run: TracedRun, most: int = 16) -> Table:
    """The same differences for a terminal."""
    out = Table(
        title=run.title(), title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), caption_justify="left"
    )  # fmt: skip
    for name in COLUMNS:
        out.add_column(name, justify="right", no_wrap=True)
    found = rows(run)
    for row in found[:most]:
        out.add_row(*row)
    if len(found) > most:
        out.caption = f"and {len(found) - most} ranks whose end was predicted better"
    return out


def write(run: TracedRun, path: Path) -> None:
    """By the file's ending: .html, which needs no network to look at, or .svg, the charts without the table."""
    check_ending(path)
    if path.suffix == ".svg":
        write_text(path, trace_drawing.svg(run))
    else:
        write_page(figure(run), path)
