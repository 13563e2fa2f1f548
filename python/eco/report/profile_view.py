"""A profile as tables: operations by their time, below each its sizes and communicators."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table

from eco.lateness import waited_for
from eco.profile import FATES, Profile, Row
from eco.report.records import seconds_text, size_text
from eco.savings import savings
from eco.wisdom import Plan

#: One rank with less than this part of another's time in collectives is pointed at.
FAR_LESS = 0.5


def show(profile: Profile, console: Console, top: int) -> None:
    """All that is known, the `top` longest rows of it."""
    stock = profile.mode == "observe"
    console.print(
        f"{profile.ranks} ranks under {profile.library}, {'stock' if stock else 'with ECO'}: "
        f"{seconds_text(profile.wall_s)} from MPI_Init to MPI_Finalize",
        highlight=False,
        style="bold",
    )
    for line in (*missing(profile), *balance(profile), *communicators(profile, stock)):
        console.print(line, highlight=False)
    if not profile.rows:
        console.print("no collective that ECO knows was called", highlight=False)
        return
    console.print(table(profile, top, stock))
    hidden = profile.rows[top:]
    if hidden:
        console.print(
            f"{len(hidden)} shorter rows, together {100 * profile.share(hidden):.1f} % of the run, are not shown; "
            "--top shows more",
            highlight=False,
        )
    show_late(profile, console, top)


def show_late(profile: Profile, console: Console, top: int) -> None:
    """Who came last, where that can be said."""
    seen = [late for late in profile.late[:top] if late.spread_s > profile.clock_error_s]
    if not seen:
        return
    error = profile.clock_error_s
    waited_s = waited_for(seen, error)
    rank = next(iter(waited_s))
    share = waited_s[rank] / max(sum(waited_s.values()), 1e-9)
    of_clock = f", clocks compared to {seconds_text(error)}" if error > 0 else ""
    console.print(f"rank {rank} is waited for most, {share:.0%} of all waiting{of_clock}:", highlight=False)
    out = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    out.add_column("operation", no_wrap=True)
    for name in (
        "of ranks",
        "up to",
        "last after first",
        "last rank",
        "behind the middle",
        "waits in a call",
    ):
        out.add_column(name, justify="right", no_wrap=True)
    for late in seen:
        out.add_row(
            late.operation,
            str(late.communicator_ranks),
            size_text(late.up_to_bytes),
            seconds_text(late.spread_s),
            f"{late.rank} ({100 * late.share:.0f} %)",
            seconds_text(late.behind_s),
            seconds_text(late.waiting_s),
        )
    console.print(out)


def show_savings(profile: Profile, plan: Plan | None, console: Console, top: int) -> None:
    """What a plan would save, by its own measurements."""
    if profile.mode != "observe":
        return
    if plan is None:
        console.print(
            f"no plan is remembered for {profile.ranks} ranks of {profile.library}: eco tune --profile makes one",
            highlight=False,
        )
        return
    found = savings(profile, plan)
    total_s = sum(saving.seconds for saving in found)
    share = 100 * total_s / profile.wall_s if profile.wall_s > 0 else 0.0
    at_least = "at least " if any(saving.is_least for saving in found) else ""
    console.print(
        f"the remembered plan is predicted to save {at_least}{seconds_text(total_s)} of the mean rank "
        f"({share:.1f} % of the run)",
        highlight=False,
    )
    if not found:
        return
    out = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    out.add_column("operation", no_wrap=True)
    for name in ("mean size", "takes", "saves"):
        out.add_column(name, justify="right", no_wrap=True)
    out.add_column("by", overflow="fold")
    for saving in found[:top]:
        out.add_row(
            saving.operation,
            about(saving.bytes),
            seconds_text(saving.of_s),
            ("≥ " if saving.is_least else "") + seconds_text(saving.seconds),
            saving.recipe or saving.why or "the library's own",
        )
    console.print(out)


def missing(profile: Profile) -> list[str]:
    """Where not every rank reported."""
    if len(profile.times) == profile.ranks:
        return []
    return [
        f"of {len(profile.times)} of {profile.ranks} ranks only: the others had no memory left, or the program did not "
        "end in the MPI_Finalize that ECO sees"
    ]


def balance(profile: Profile) -> list[str]:
    """How much of the run its collectives are, and on which ranks."""
    of_arming = f"; arming took {seconds_text(profile.arming_s)}" if profile.arming_s > 0 else ""
    share = 100 * profile.share(profile.rows)
    text = f"in collectives {seconds_text(profile.collective_s)} of the mean rank ({share:.1f} %)"
    least = min(profile.times, key=lambda time: time.collective_s)
    most = max(profile.times, key=lambda time: time.collective_s)
    if least.rank == most.rank:
        return [text + of_arming]
    lines = [
        f"{text}, least {seconds_text(least.collective_s)} on rank {least.rank}, "
        f"most {seconds_text(most.collective_s)} on rank {most.rank}{of_arming}"
    ]
    if least.collective_s < FAR_LESS * most.collective_s:
        lines.append(f"who comes last waits least: rank {least.rank} may be the one that others wait for")
    return lines


def communicators(profile: Profile, stock: bool) -> list[str]:
    """How many of each size were used, and which of them ECO left alone."""
    lines = []
    for used in profile.communicators:
        why = (
            "" if stock else "; ".join(f"{count} native: {why}" for why, count in used.native.items() if why)
        )
        ranks = f"{used.ranks} rank{'s' if used.ranks > 1 else ''}"
        lines.append(f"communicators of {ranks}: {used.number}{f' ({why})' if why else ''}")
    return lines


def table(profile: Profile, top: int, stock: bool) -> Table:
    """Operations by time, and of each the rows that are among the `top` longest of all."""
    out = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    out.add_column("operation", no_wrap=True)
    for name in ("of ranks", "mean size", "calls", "mean rank", "most", "of the run"):
        out.add_column(name, justify="right", no_wrap=True)
    if not stock:
        out.add_column("served by")
    by_operation: dict[str, list[Row]] = {}
    for row in profile.rows:
        by_operation.setdefault(row.operation, []).append(row)
    for operation, of_all in sorted(by_operation.items(), key=lambda item: -profile.share(item[1])):
        mean_s = sum(row.seconds for row in of_all) / len(profile.times)
        calls = sum(row.calls for row in of_all) / len(profile.times)
        out.add_row(
            operation,
            "",
            "",
            count(calls),
            seconds_text(mean_s),
            "",
            _percent(profile, of_all),
            style="bold",
        )
        for row in profile.rows[:top]:
            if row.operation == operation:
                out.add_row(
                    "",
                    str(row.communicator_ranks),
                    about(row.mean_bytes),
                    count(row.calls_of_a_rank),
                    seconds_text(row.mean_s),
                    f"{seconds_text(row.most_s)} ({row.most_rank})",
                    _percent(profile, [row]),
                    *([] if stock else [served_by(row)]),
                )
    return out


def _percent(profile: Profile, rows: list[Row]) -> str:
    return f"{100 * profile.share(rows):.1f} %"


def count(calls: float) -> str:
    """Calls of a mean rank."""
    return f"{calls:.0f}" if calls == int(calls) else f"{calls:.1f}"


def about(size: float | None) -> str:
    """A mean of sizes: exact where it is one size, else three digits; `?` where it isn't known."""
    if size is None:
        return "?"
    if size == int(size):
        return size_text(int(size))
    for unit, factor in (("GiB", 1024**3), ("MiB", 1024**2), ("KiB", 1024)):
        if size >= factor:
            return f"{size / factor:.3g} {unit}"
    return f"{size:.3g} B"


def served_by(row: Row) -> str:
    """`ECO`, or how many calls were the library's and why."""
    parts = []
    for fate, calls in sorted(row.fates.items(), key=lambda item: -item[1]):
        text = FATES.get(fate, fate)
        some = f"{count(calls / row.ranks)} " if len(row.fates) > 1 else ""
        parts.append(f"{some}{text}" if fate == "served" else f"{some}native: {text}")
    return ", ".join(parts)
