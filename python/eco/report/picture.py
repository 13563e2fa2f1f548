"""Results as a picture: one self-contained HTML page, and an SVG for documents."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

import plotly.graph_objects as go
from plotly.colors import qualitative
from plotly.subplots import make_subplots

from eco.report.records import Record, Results, grouped, seconds_text, size_text, write_text

STOCK = "#9aa3ad"
ECO = "#1f7a5c"
BOUND = "#c0392b"
#: For many things at once: dark enough for white text, none of them twice.
PALETTE = (*qualitative.Dark24, *qualitative.Dark2)


def _label(record: Record) -> str:
    return f"{record.collective} {size_text(record.bytes)}"


def figure(results: Results, title: str = "Stock against ECO") -> go.Figure:
    """Stock and ECO side by side on a logarithmic axis, the bound as a mark; hover shows the interval."""
    groups = grouped(results.records)
    chart = make_subplots(
        rows=len(groups),
        cols=1,
        subplot_titles=[f"{network}: {library}, {placement}" for network, library, placement in groups],
        vertical_spacing=min(0.12, 0.4 / max(1, len(groups))),
    )
    for row, records in enumerate(groups.values(), start=1):
        labels = [_label(record) for record in records]
        first = row == 1
        chart.add_bar(x=labels, y=[r.stock_median_s * 1e3 for r in records], name="stock", marker_color=STOCK,
                      legendgroup="stock", showlegend=first, row=row, col=1)  # fmt: skip
        chart.add_bar(
            x=labels,
            y=[r.eco_median_s * 1e3 for r in records],
            name="ECO",
            marker_color=ECO,
            legendgroup="ECO",
            showlegend=first,
            text=[f"{results.ratio(r).ratio:.2f}x" for r in records],
            textposition="outside",
            hovertext=[
                f"stock / ECO {r.ratio_low:.2f} to {r.ratio_high:.2f}, {r.algorithm}" for r in records
            ],
            row=row,
            col=1,
        )
        if any(r.bound_s for r in records):
            chart.add_scatter(
                x=labels,
                y=[r.bound_s * 1e3 if r.bound_s else None for r in records],
                mode="markers",
                marker={"symbol": "line-ew", "size": 34, "line": {"width": 3, "color": BOUND}},
                name="bound",
                legendgroup="bound",
                showlegend=first,
                row=row,
                col=1,
            )
        chart.update_yaxes(type="log", title_text="ms", row=row, col=1)
    chart.update_layout(title=title, barmode="group", template="plotly_white", height=140 + 300 * len(groups))
    return chart


def write_html(results: Results, path: Path, title: str = "Stock against ECO") -> None:
    """One file, no network needed to look at it."""
    write_page(figure(results, title), path)


def nothing(title: str, why: str) -> go.Figure:
    """A page that says why there is no picture."""
    page = go.Figure()
    page.add_annotation(
        text=why, x=0.5, y=0.5, xref="paper", yref="paper", showarrow=False, font={"size": 16}
    )
    page.update_xaxes(visible=False)
    page.update_yaxes(visible=False)
    page.update_layout(title=title, template="plotly_white", height=240)
    return page


def write_page(page: go.Figure, path: Path) -> None:
    """Any figure as one self-contained page, written whole or not at all."""
    write_text(path, str(page.to_html(include_plotlyjs=True, full_html=True)))


def drawing(width: int, height: int, font_size: int, parts: Iterable[str]) -> str:
    """These elements as an SVG on white."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'font-family="sans-serif" font-size="{font_size}"><rect width="100%" height="100%" fill="white"/>'
        f"{''.join(parts)}</svg>\n"
    )


def write_svg(results: Results, path: Path, title: str = "Stock against ECO") -> None:
    """The same bars for documents, drawn without a browser. Lengths are linear within each group of bars."""
    width, bar, left, right = 860, 15, 250, 520
    parts: list[str] = []
    y = 44

    def text(x: float, baseline: float, words: str, extra: str = "") -> None:
        parts.append(f'<text x="{x:.0f}" y="{baseline:.0f}" {extra}>{escape(words)}</text>')

    for (network, library, placement), records in grouped(results.records).items():
        text(12, y + 12, f"{network}: {library}, {placement}", 'font-weight="bold"')
        y += 24
        for record in records:
            longest = max(record.stock_median_s, record.eco_median_s)
            text(left - 10, y + bar + 4, _label(record), 'text-anchor="end"')
            for seconds, colour, note in _bars(record, results):
                length = right * seconds / longest
                parts.append(
                    f'<rect x="{left}" y="{y}" width="{length:.1f}" height="{bar - 2}" fill="{colour}"/>'
                )
                outside = length < right * 0.8
                at = left + length + 6 if outside else left + length - 6
                text(at, y + bar - 4, note, "" if outside else 'text-anchor="end" fill="white"')
                y += bar
            if record.bound_s:
                x = left + right * record.bound_s / longest
                ends = f'x1="{x:.1f}" x2="{x:.1f}" y1="{y - 2 * bar - 2}" y2="{y}"'
                parts.append(f'<line {ends} stroke="{BOUND}" stroke-width="2"/>')
            y += 8
        y += 10
    legend = (
        f'<text x="12" y="24" font-size="15">{escape(title)} (grey: stock, green: ECO, red: bound)</text>'
    )
    write_text(path, drawing(width, y + 20, 12, [legend, *parts]))


def _bars(record: Record, results: Results) -> Sequence[tuple[float, str, str]]:
    return (
        (record.stock_median_s, STOCK, seconds_text(record.stock_median_s)),
        (
            record.eco_median_s,
            ECO,
            f"{seconds_text(record.eco_median_s)}, {results.ratio(record).ratio:.2f}x",
        ),
    )
