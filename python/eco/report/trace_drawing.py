"""The charts of a traced call for documents: predicted above, traced below, drawn without a browser.

svg(run)      # trace_view.write(run, Path("trace.svg")) puts it into a file
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape

from eco.report.picture import drawing
from eco.report.records import seconds_text
from eco.report.trace_bars import bars, colour, lane, lanes_of, which_run, words
from eco.trace import RankSteps, TracedRun

_LEFT, _WIDTH, _LANE, _HEAD, _FOOT = 90, 760, 13, 46, 22


def _panel(
    title: str,
    ranks: Sequence[RankSteps],
    others: Sequence[RankSteps],
    lanes: list[str],
    top: int,
    scale: float,
) -> list[str]:
    """One chart, its first lane at `top`; from whom to whom and when as a title of each bar."""
    place = {name: top + _LANE * i for i, name in enumerate(lanes)}
    parts = [f'<text x="10" y="{top - 8}" font-size="12">{escape(title)}</text>']
    for name, y in place.items():
        parts.append(f'<text x="{_LEFT - 6}" y="{y + _LANE - 3}" text-anchor="end">{name}</text>')
    for rank, (steps, other) in enumerate(zip(ranks, others, strict=True)):
        for position, ((step, begins_s), twin) in enumerate(zip(bars(steps), other.operations, strict=True)):
            width = max(0.3, (step.end_s - begins_s) * scale)
            hover = escape(words(rank, position, step, twin).replace("<br>", "\n"))
            parts.append(
                f'<rect x="{_LEFT + begins_s * scale:.2f}" y="{place[lane(rank, step.kind)] + 1}" '
                f'width="{width:.2f}" height="{_LANE - 2}" fill="{colour(rank, step)[0]}" stroke="white" '
                f'stroke-width="0.3"><title>{hover}</title></rect>'
            )
    return parts


def svg(run: TracedRun) -> str:
    """Both charts on one scale, that of the longer one."""
    lanes = lanes_of(run)
    end_s = max(run.predicted_s, run.traced_s)
    scale = _WIDTH / end_s if end_s > 0 else 0.0
    tops = [_HEAD + 20, _HEAD + 20 + _LANE * len(lanes) + 36]
    bottom = tops[1] + _LANE * len(lanes)
    clock = "ms since the common start" if run.one_clock else "ms since each rank's own start"
    return drawing(
        _LEFT + _WIDTH + 20,
        bottom + _FOOT,
        9,
        [
            f'<text x="10" y="20" font-size="13">{escape(run.title())}</text>',
            f'<text x="10" y="36" font-size="10">{escape(f"{run.library}, {run.placement}")}; '
            "a message in its sender's colour, combining dark, copying grey</text>",
            *_panel(f"predicted: {seconds_text(run.predicted_s)}", run.predicted, run.traced, lanes, tops[0],
                    scale),
            *_panel(f"traced: {seconds_text(run.traced_s)}, {which_run(run)}", run.traced, run.predicted, lanes,
                    tops[1], scale),
            f'<text x="{_LEFT}" y="{bottom + 14}">0 {clock}</text>',
            f'<text x="{_LEFT + _WIDTH}" y="{bottom + 14}" text-anchor="end">{seconds_text(end_s)}</text>',
        ],
    )  # fmt: skip
