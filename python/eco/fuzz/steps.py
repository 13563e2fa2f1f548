"""Programs of collectives as text, one step per line; preload/fuzz runs them.

    17 comm id=3 of=0 kind=split color=0,1,0,1 key=3,2,1,0     a communicator; kinds: dup split create ring inter
    18 allreduce on=3 type=double op=sum count=100             a call
    19 ibcast-like: bcast on=0 type=int count=7 root=2 form=nonblocking request=4
    20 complete requests=4 way=waitany seed=7                  ways: wait waitall waitany waitsome test testall ...
    21 exchange on=0 count=100                                 messages of the program's own, from anybody (or `named`)
    22 free id=3

Words of calls: `layout` (0: plain; else dice for each rank's datatypes, with `alike` for all), `in_place`, `wild`
(arguments that are not significant are nonsense), `uneven`, `holes`, `turned` (v-variants), `side` (of an
inter-communicator's root), `real` (floating point that rounds), `free` (datatypes and operations right after a
nonblocking call began), `late` (that rank comes late). A step keeps its number and with it its data when others are
taken out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from eco.errors import CorruptFile

#: Steps that are no collective call.
OTHERS = ("comm", "free", "complete", "exchange")


@dataclass(frozen=True)
class Step:
    """One line."""

    id: int
    verb: str
    words: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_call(self) -> bool:
        return self.verb not in OTHERS

    def number(self, name: str, otherwise: int = 0) -> int:
        return int(self.words.get(name, otherwise))

    def numbers(self, name: str) -> list[int]:
        return [int(word) for word in self.words.get(name, "").split(",") if word]

    def text(self) -> str:
        return " ".join([str(self.id), self.verb, *(f"{name}={word}" for name, word in self.words.items())])

    def changed(self, **words: object) -> Step:
        """With other words; None takes one out."""
        all_words = {**self.words, **{name: str(word) for name, word in words.items() if word is not None}}
        gone = {name for name, word in words.items() if word is None}
        return replace(self, words={name: word for name, word in all_words.items() if name not in gone})


Program = tuple[Step, ...]


def parse_step(line: str) -> Step:
    try:
        number, verb, *words = line.split()
        return Step(int(number), verb, dict(word.split("=", 1) for word in words))
    except ValueError as error:
        raise CorruptFile(f"{line!r} is no step: expected NUMBER VERB name=value ...") from error


def text_of(program: Iterable[Step]) -> str:
    return "".join(step.text() + "\n" for step in program)


def members(program: Iterable[Step], ranks: int) -> dict[int, list[tuple[int, ...]]]:
    """The groups of world ranks that each communicator has, in their order; none of those between two sides."""
    found: dict[int, list[tuple[int, ...]]] = {0: [tuple(range(ranks))]}
    for step in program:
        if step.verb == "comm":
            parents = found.get(step.number("of"), [])
            found[step.number("id")] = [group for parent in parents for group in _made(step, parent)]
    return found


def _made(step: Step, parent: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Of one parent's ranks."""
    kind, n = step.words.get("kind", "dup"), len(parent)
    if kind == "inter":
        return []
    if kind == "create":
        return [tuple(parent[rank] for rank in step.numbers("ranks") if rank < n)]
    if kind != "split":
        return [parent]
    colors, keys = (
        of_rank + otherwise[len(of_rank) :]
        for of_rank, otherwise in ((step.numbers("color"), [0] * n), (step.numbers("key"), list(range(n))))
    )
    return [
        tuple(parent[rank] for rank in sorted(range(n), key=lambda r: (keys[r], r)) if colors[rank] == color)
        for color in sorted({color for color in colors[:n] if color >= 0})
    ]


def repaired(program: Sequence[Step]) -> Program:
    """Without the steps whose communicator or request is no longer made: what is left of a program can run."""
    comms, requests = {0}, set[int]()
    kept: list[Step] = []
    for step in program:
        if step.verb == "comm":
            if step.number("of") not in comms:
                continue
            comms.add(step.number("id"))
        elif step.verb == "free":
            if step.number("id") not in comms:
                continue
            comms.discard(step.number("id"))
        elif step.verb == "complete":
            known = [request for request in step.numbers("requests") if request in requests]
            if not known:
                continue
            requests -= set(known)
            step = step.changed(requests=",".join(map(str, known)))
        elif step.number("on") not in comms:
            continue
        elif "request" in step.words:
            requests.add(step.number("request"))
        kept.append(step)
    return tuple(kept)


def calls_in(program: Iterable[Step]) -> int:
    return sum(step.is_call for step in program)
