"""What a schedule does when: a Gantt chart of the messages on every resource, as an HTML page or an SVG.

timeline = Timeline("broadcast/subnets ...", 0.0213, resources, intervals)
write(timeline, Path("broadcast.html"))      # interactive; .svg for documents
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import plotly.graph_objects as go

from eco.report.picture import PALETTE, drawing, write_page
from eco.report.records import check_ending, seconds_text, size_text, write_text


@dataclass(frozen=True)
class Interval:
    """One message on one resource."""

    resource: int  # index into Timeline.resources
    source: int  # ranks
    target: int
    bytes: int
    start_s: float
    end_s: float


@dataclass(frozen=True)
class Timeline:
    """All messages of one schedule."""

    title: str
    seconds: float
    resources: tuple[str, ...]
    intervals: tuple[Interval, ...]

    def used(self) -> list[int]:
        """Resources that carry something, in the network's order."""
        return sorted({interval.resource for interval in self.intervals})

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def _words(interval: Interval) -> str:
    return (
        f"{interval.source} to {interval.target}, {size_text(interval.bytes)}, "
        f"{interval.start_s * 1e3:.3f} to {interval.end_s * 1e3:.3f} ms"
    )


def figure(timeline: Timeline) -> go.Figure:
    """A bar for each message, coloured by sender, its resource on the left; hover says from whom to whom."""
    used = timeline.used()
    chart = go.Figure()
    for sender in sorted({interval.source for interval in timeline.intervals}):
        mine = [interval for interval in timeline.intervals if interval.source == sender]
        chart.add_bar(
            y=[timeline.resources[interval.resource] for interval in mine],
            x=[(interval.end_s - interval.start_s) * 1e3 for interval in mine],
            base=[interval.start_s * 1e3 for interval in mine],
            orientation="h",
            name=f"rank {sender}",
            marker={
                "color": PALETTE[sender % len(PALETTE)],
                "line": {"width": 0.5, "color": "white"},
            },
            hovertext=[_words(interval) for interval in mine],
            hoverinfo="text",
        )
    chart.update_yaxes(
        categoryorder="array",
        categoryarray=[timeline.resources[resource] for resource in reversed(used)],
        title_text="",
    )
    chart.update_xaxes(title_text="ms", rangemode="tozero")
    chart.update_layout(
        title=f"{timeline.title}: {seconds_text(timeline.seconds)}",
        barmode="overlay",
        template="plotly_white",
        height=160 + 26 * len(used),
        legend_title_text="sent by",
    )
    return chart


def svg(timeline: Timeline) -> str:
    """The same bars, drawn without a browser; from whom to whom as a title of each bar."""
    left, right, row, top = 130, 760, 20, 40
    used = timeline.used()
    place = {resource: i for i, resource in enumerate(used)}
    end_s = max([timeline.seconds, *(interval.end_s for interval in timeline.intervals)])
    scale = right / end_s if end_s > 0 else 0.0
    height = top + row * len(used) + 30
    parts = [
        f'<text x="10" y="22" font-size="14">{escape(timeline.title)}: {seconds_text(timeline.seconds)}</text>',
    ]
    for resource in used:
        y = top + row * place[resource]
        name = escape(timeline.resources[resource])
        parts.append(f'<text x="{left - 8}" y="{y + 13}" text-anchor="end">{name}</text>')
    for interval in timeline.intervals:
        x = left + interval.start_s * scale
        width = max(0.3, (interval.end_s - interval.start_s) * scale)
        y = top + row * place[interval.resource]
        parts.append(
            f'<rect x="{x:.2f}" y="{y + 2}" width="{width:.2f}" height="{row - 4}" stroke="white" '
            f'stroke-width="0.4" fill="{PALETTE[interval.source % len(PALETTE)]}">'
            f"<title>{escape(_words(interval))}</title></rect>"
        )
    baseline = top + row * len(used) + 16
    parts.append(f'<text x="{left}" y="{baseline}">0</text>')
    parts.append(f'<text x="{left + right}" y="{baseline}" text-anchor="end">{seconds_text(end_s)}</text>')
    return drawing(left + right + 20, height, 11, parts)


def write(timeline: Timeline, path: Path) -> None:
    """By the file's ending: .html, which needs no network to look at, or .svg."""
    check_ending(path)
    if path.suffix == ".svg":
        write_text(path, svg(timeline))
    else:
        write_page(figure(timeline), path)
