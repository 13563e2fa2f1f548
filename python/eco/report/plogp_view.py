"""pLogP drawn: tables of L, os(m), or(m), g(m) per class on the terminal, curves as a page or an SVG."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape as escape_xml

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from eco.network import Curve, Network, PLogP
from eco.report.picture import drawing
from eco.report.records import check_ending, seconds_text, size_text, write_text

#: The three curves, by the paper's names, with the colours that pictures give them.
CURVES: tuple[tuple[str, str, Callable[[PLogP], Curve]], ...] = (
    ("os", "#3465a4", lambda measured: measured.send_overhead),
    ("or", "#c17d11", lambda measured: measured.receive_overhead),
    ("g", "#1f7a5c", lambda measured: measured.gap),
)


@dataclass(frozen=True)
class Panel:
    """One class as it is shown: what it is called, and its curves."""

    title: str
    measured: PLogP


def panels(network: Network) -> list[Panel]:
    """Every class over the library's own messages, then over each rail."""
    shown = [Panel(title(network, measured), measured) for measured in network.plogp]
    for of_rail in network.rail_plogp:
        over = f"{of_rail.transport} over {of_rail.rail}"
        shown += [Panel(f"{over}: {title(network, measured)}", measured) for measured in of_rail.classes]
    return shown


def title(network: Network, measured: PLogP) -> str:
    """Which class and direction: "inside subnet 0, a to b"."""
    hosts = network.hosts
    if measured.pairs == "host":
        return f"inside a host, {hosts[measured.from_host].name}"
    pair = f"{hosts[measured.from_host].name} to {hosts[measured.to_host].name}"
    start, end = network.subnet_of(measured.from_host), network.subnet_of(measured.to_host)
    return f"inside subnet {start}, {pair}" if start == end else f"subnet {start} to {end}, {pair}"


def facts(measured: PLogP) -> str:
    """What is one number: L, the eager limit, slow-downs, gamma."""
    parts = [f"L {seconds_text(measured.latency_s)}"]
    if measured.eager_limit is None:
        parts.append(f"all eager up to {size_text(measured.gap.bytes[-1])}")
    else:
        parts.append(f"rendezvous above {size_text(measured.eager_limit)}")
    parts += [f"{slow.pairs} pairs at once {slow.factor:.2f}x" for slow in measured.slow_down]
    if measured.gamma is not None:
        parts.append(f"gamma {measured.gamma:.2f}")
    return ", ".join(parts)


def table(panel: Panel) -> RenderableType:
    """One class: its facts, and the curves at the sizes that were measured."""
    measured = panel.measured
    found = Table(box=None, pad_edge=False)
    found.add_column("m", justify="right")
    columns = []
    for name, _, curve_of in CURVES:
        found.add_column(f"{name}(m)", justify="right")
        curve = curve_of(measured)
        columns.append(dict(zip(curve.bytes, curve.seconds, strict=True)))
    for size in measured.gap.bytes:
        cells = (seconds_text(column[size]) if size in column else "[dim].[/]" for column in columns)
        found.add_row(size_text(size), *cells)
    # Not the table's title: that would be broken to the table's width.
    head = Text.from_markup(f"[bold]{escape(panel.title)}[/]\n{facts(measured)}")
    return Group(head, found)


def tables(network: Network) -> Group:
    """Everything `eco show --plogp` prints."""
    parts: list[RenderableType] = []
    for panel in panels(network):
        parts += [table(panel), Text()]
    return Group(*parts[:-1])


def write_picture(network: Network, path: Path) -> None:
    """The curves of every class, logarithmic both ways: an interactive page (.html) or a drawing (.svg)."""
    writers = {".html": write_html, ".svg": write_svg}
    check_ending(path)
    writers[path.suffix](network, path)


def write_html(network: Network, path: Path) -> None:
    """One self-contained page."""
    from plotly.subplots import make_subplots

    shown = panels(network)
    n = len(shown)
    figure = make_subplots(
        rows=n,
        cols=1,
        subplot_titles=[f"{panel.title}<br>{facts(panel.measured)}" for panel in shown],
        vertical_spacing=min(0.12, 0.4 / n),
    )
    for row, panel in enumerate(shown, start=1):
        measured = panel.measured
        for name, colour, curve_of in CURVES:
            curve = curve_of(measured)
            figure.add_scatter(
                x=curve.bytes,
                y=[1e6 * seconds for seconds in curve.seconds],
                mode="lines+markers",
                name=f"{name}(m)",
                legendgroup=name,
                showlegend=row == 1,
                line={"color": colour},
                row=row,
                col=1,
            )
        if measured.eager_limit:
            figure.add_vline(x=measured.eager_limit, line_dash="dot", row=row, col=1)
        figure.update_xaxes(type="log", title_text="bytes", row=row, col=1)
        figure.update_yaxes(type="log", title_text="us", row=row, col=1)
    figure.update_layout(title=f"pLogP ({network.transport})", template="plotly_white", height=140 + 380 * n)
    write_text(path, str(figure.to_html(include_plotlyjs=True)))


_WIDTH, _HEIGHT = 720, 260  # of one class
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 20, 56, 34


def write_svg(network: Network, path: Path) -> None:
    """One panel a class, the same axes in all, so that classes can be compared."""
    shown = panels(network)
    curves = [curve_of(panel.measured) for panel in shown for _, _, curve_of in CURVES]
    x_range = _decades(size for curve in curves for size in curve.bytes)
    y_range = _decades(1e6 * seconds for curve in curves for seconds in curve.seconds)
    height = _HEIGHT * len(shown) + 20
    parts: list[str] = []
    for index, panel in enumerate(shown):
        parts.append(f'<g transform="translate(0,{index * _HEIGHT})">')
        parts += _panel(panel, x_range, y_range)
        parts.append("</g>")
    write_text(path, drawing(_WIDTH, height, 12, ["\n".join(["", *parts, ""])]))


def _decades(values: Iterable[float]) -> tuple[int, int]:
    """The powers of ten round all positive values."""
    positive = [value for value in values if value > 0]
    if not positive:
        return 0, 1
    low, high = math.floor(math.log10(min(positive))), math.ceil(math.log10(max(positive)))
    return low, max(high, low + 1)


def _panel(panel: Panel, x_range: tuple[int, int], y_range: tuple[int, int]) -> list[str]:
    measured = panel.measured
    width, height = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM

    def x_of(size: float) -> float:
        return _LEFT + width * (math.log10(size) - x_range[0]) / (x_range[1] - x_range[0])

    def y_of(microseconds: float) -> float:
        place = (math.log10(microseconds) - y_range[0]) / (y_range[1] - y_range[0])
        return _TOP + height * (1 - place)

    bottom, right = _TOP + height, _LEFT + width
    parts = [
        f'<text x="{_LEFT}" y="20" font-size="14">{escape_xml(panel.title)}</text>',
        f'<text x="{_LEFT}" y="38">{escape_xml(facts(measured))}</text>',
    ]
    for power in range(x_range[0], x_range[1] + 1):
        x = x_of(10.0**power)
        parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{bottom}" stroke="#ddd"/>')
        parts.append(f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{10**power:g} B</text>')
    for power in range(y_range[0], y_range[1] + 1):
        y = y_of(10.0**power)
        label = seconds_text(10.0 ** (power - 6))
        parts.append(f'<line x1="{_LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{label}</text>')
    if measured.eager_limit:
        x = x_of(measured.eager_limit)
        parts.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{bottom}" stroke="#888" stroke-dasharray="3 3"/>'
        )
    for index, (name, colour, curve_of) in enumerate(CURVES):
        curve = curve_of(measured)
        # A logarithm has no place for 0: a time below the clock's resolution is left out.
        points = [
            (x_of(size), y_of(1e6 * seconds))
            for size, seconds in zip(curve.bytes, curve.seconds, strict=True)
            if seconds > 0
        ]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{colour}"/>' for x, y in points]
        parts.append(f'<text x="{right - 90 + 34 * index}" y="20" fill="{colour}">{name}(m)</text>')
    return parts
