"""Which host each rank runs on.

- block: hosts in order, each filled with `ranks_per_host` ranks.
- round-robin: ranks dealt over the segments in turn, within a segment over its hosts in turn.
- shuffled:SEED: the block placement in an order drawn from the seed.
- anything else names a file: one host name per line, line i for rank i.
"""

from __future__ import annotations

import random
from pathlib import Path

from eco.errors import CorruptFile, InvalidArgument
from eco.lab.description import Description
from eco.report.records import read_text


def place(description: Description, placement: str = "block", n_ranks: int | None = None) -> tuple[str, ...]:
    """The host of every rank. More ranks than slots wrap around; fewer take the first of them."""
    slots = [h for h in description.hosts for _ in range(description.ranks_per_host)]
    if n_ranks is None:
        n_ranks = len(slots)
    if n_ranks < 1:
        raise InvalidArgument(f"ranks: {n_ranks}; at least one rank is needed")
    kind, _, rest = placement.partition(":")
    if kind == "round-robin" and not rest:
        slots = _dealt(description)
    elif kind == "shuffled":
        try:
            seed = int(rest or "1")
        except ValueError:
            raise InvalidArgument(
                f"placement {placement!r}: the seed is no whole number; write shuffled:1"
            ) from None
        random.Random(seed).shuffle(slots)
    elif placement != "block":
        return _from_file(description, placement, n_ranks)
    return tuple(slots[i % len(slots)] for i in range(n_ranks))


def _dealt(description: Description) -> list[str]:
    # Each segment deals its hosts in turn, ranks_per_host times round.
    decks = [list(s.hosts) * description.ranks_per_host for s in description.segments if s.rail == 0]
    seen = {h for deck in decks for h in deck}
    decks.append([h for h in description.hosts if h not in seen] * description.ranks_per_host)
    slots: list[str] = []
    while any(decks):
        slots += [deck.pop(0) for deck in decks if deck]
    return slots


def _from_file(description: Description, name: str, n_ranks: int) -> tuple[str, ...]:
    try:
        lines = read_text(Path(name)).split()
    except CorruptFile as error:
        raise InvalidArgument(
            f"placement {name!r}: none of block, round-robin, shuffled:SEED, and no readable file ({error})"
        ) from error
    for number, host in enumerate(lines, start=1):
        if host not in description.hosts:
            raise InvalidArgument(
                f"{name}: host {number} is {host!r}, which is not in {description.name}; "
                f"its hosts are {', '.join(description.hosts)}"
            )
    if len(lines) < n_ranks:
        raise InvalidArgument(f"{name}: {len(lines)} hosts for {n_ranks} ranks; give one line per rank")
    return tuple(lines[:n_ranks])
