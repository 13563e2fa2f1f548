"""What the charts of a traced call show, whoever draws them: lanes, bars, their colours and words.

for step, begins_s in bars(run.traced[rank]): ... lane(rank, step.kind), colour(rank, step)
"""

from __future__ import annotations

from collections.abc import Iterator

from eco.report.picture import PALETTE
from eco.report.records import seconds_text, size_text
from eco.trace import Operation, RankSteps, TracedRun

#: From top to bottom within a rank: what it gets, what it makes of it, what it sends on.
LANES = {"recv": "receives", "reduce": "combines", "copy": "copies", "send": "sends"}
LOCAL = {"reduce": "#444444", "copy": "#aaaaaa"}


def lane(rank: int, kind: str) -> str:
    return f"{rank} {LANES[kind]}"


def bars(steps: RankSteps) -> Iterator[tuple[Operation, float]]:
    """Each operation, and where its bar begins: a message that was posted early, but behind others of its channel, when
    the one before it was complete."""
    before: dict[tuple[str, int, int], float] = {}
    for step in steps.operations:
        begins_s = step.start_s
        if step.kind in ("send", "recv"):
            channel = (step.kind, step.peer, step.channel)
            begins_s = min(max(begins_s, before.get(channel, 0.0)), step.end_s)
            before[channel] = max(step.end_s, before.get(channel, 0.0))
        yield step, begins_s


def words(rank: int, position: int, step: Operation, other: Operation) -> str:
    """What hovering over a bar says: the operation, and when the other chart has it."""
    what = {"recv": f"receives from {step.peer}", "send": f"sends to {step.peer}", "reduce": "combines",
            "copy": "copies"}[step.kind]  # fmt: skip
    channel = f", channel {step.channel}" if step.channel else ""
    return (
        f"rank {rank} {what}: {size_text(step.bytes)}{channel} (operation {position})"
        f"<br>{step.start_s * 1e3:.3f} to {step.end_s * 1e3:.3f} ms"
        f"<br>in the other chart {other.start_s * 1e3:.3f} to {other.end_s * 1e3:.3f} ms"
    )


def colour(rank: int, step: Operation) -> tuple[str, str]:
    """By who sent it, and the legend's name for that."""
    if step.kind in LOCAL:
        return LOCAL[step.kind], LANES[step.kind]
    sender = rank if step.kind == "send" else step.peer
    return PALETTE[sender % len(PALETTE)], f"sent by {sender}"


def lanes_of(run: TracedRun) -> list[str]:
    """Of both charts: what each rank does at all."""
    used = {lane(rank, step.kind) for rank, steps in enumerate(run.traced) for step in steps.operations}
    return [name for rank in range(len(run.traced)) for kind in LANES if (name := lane(rank, kind)) in used]


def which_run(run: TracedRun) -> str:
    """Of all runs, the one that is shown."""
    if len(run.seconds) == 1:
        return "the only run"
    shortest, longest = seconds_text(min(run.seconds)), seconds_text(max(run.seconds))
    return f"the middle one of {len(run.seconds)} runs ({shortest} to {longest})"
