"""Progress of long work: bars on a terminal; in a file or pipe a line on standard error now and then."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from eco import rank

#: What is expected of the time left: steps of a long run take from milliseconds to many seconds.
LOOKS_BACK_S = 120.0
#: Between lines where there is no bar.
SAYS_EVERY_S = 30.0


def make_console() -> Console:
    """For a terminal as wide as it is; where output goes to a file or pipe, wide enough for the tables."""
    console = Console()
    return console if console.is_terminal else Console(width=120)


class _Lines:
    """What a bar would show, for whoever has none. Nothing of what is done sooner than the first line is due."""

    def __init__(self, console: Console) -> None:
        self.has_bar = console.is_terminal
        self.said_s = time.monotonic()

    def say(self, text: str) -> None:
        now_s = time.monotonic()
        if self.has_bar or now_s - self.said_s < SAYS_EVERY_S:
            return
        print(text, file=sys.stderr, flush=True)
        self.said_s = now_s


@contextlib.contextmanager
def rank_progress(console: Console) -> Iterator[Callable[[str], Callable[[str], None]]]:
    """A bar that follows the progress lines of eco-rank, and the time that is left if it goes on like this."""
    with Progress(TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"),
                  TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn(), console=console, transient=True,
                  disable=not console.is_terminal, speed_estimate_period=LOOKS_BACK_S) as progress:  # fmt: skip
        lines = _Lines(console)

        def begin(title: str) -> Callable[[str], None]:
            task = progress.add_task(title, total=1.0)

            def watch(line: str) -> None:
                found = rank.parse_progress(line)
                if found is not None:
                    progress.update(task, completed=found.fraction, description=f"{title}: {found.what}")
                    lines.say(f"{title}: {found.what}, {found.fraction:.0%}")

            return watch

        yield begin


def _counting(console: Console) -> Progress:
    return Progress(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
                    console=console, transient=True, disable=not console.is_terminal)  # fmt: skip


@contextlib.contextmanager
def launch_progress(console: Console, total: int) -> Iterator[Callable[[str], None]]:
    """A bar that is told which launch begins; the one before has then ended."""
    with _counting(console) as progress:
        task = progress.add_task("launches", total=total)
        lines = _Lines(console)
        started = 0

        def step(title: str) -> None:
            nonlocal started
            progress.update(task, description=title, advance=1 if started else 0)
            started += 1
            lines.say(f"{title}, launch {started} of {total}")

        yield step


@contextlib.contextmanager
def task_progress(console: Console, what: str, total: int) -> Iterator[Callable[[str], None]]:
    """A bar that is told which task has ended."""
    with _counting(console) as progress:
        task = progress.add_task(what, total=total)
        lines = _Lines(console)
        done = 0

        def step(title: str) -> None:
            nonlocal done
            progress.update(task, description=f"{what}: {title}", advance=1)
            done += 1
            lines.say(f"{what}: {title}, {done} of {total}")

        yield step


@contextlib.contextmanager
def busy(what: str) -> Iterator[None]:
    """Says so on a terminal while work goes on whose length nobody knows; standard output stays for the result."""
    console = Console(stderr=True)
    status = console.status(what) if console.is_terminal else contextlib.nullcontext()
    with status, _ended_by_interrupts(console):
        yield


@contextlib.contextmanager
def _ended_by_interrupts(console: Console) -> Iterator[None]:
    """Ctrl-C ends the process while the core computes: Python's own handler waits until a call comes back.

    That may take minutes. There is nothing to be tidied up but the terminal.
    """
    is_ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not is_ours or threading.current_thread() is not threading.main_thread():
        yield
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)

    def watch() -> None:
        while got := os.read(reader, 1):
            if got[0] == signal.SIGINT:
                console.show_cursor()
                os._exit(128 + signal.SIGINT)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        os.close(writer)
        watcher.join()
        os.close(reader)
