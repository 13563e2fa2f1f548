"""Random programs: communicators come and go, calls of every kind around every edge of the plan, several under way.

program = Generator(random.Random(7), ranks=4, edges={"bcast": [500, 4096]}).program(calls=300)
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from eco.fuzz.steps import Program, Step

#: Signatures of data that is moved, and bytes of an element.
SIGNATURES = {"byte": 1, "char": 1, "short": 2, "int": 4, "double": 8, "two": 8, "mixed": 12}
WHOLE = {
    "int": 4, "unsigned": 4, "long": 8, "unsigned_long": 8, "short": 2, "signed_char": 1, "unsigned_char": 1,
    "int8": 1, "int32": 4, "uint16": 2, "uint64": 8,
}  # fmt: skip
BITS = ("band", "bor", "bxor")
ORDERED = ("sum", "prod", "max", "min")
#: Types of elements with their bytes, and the operations that MPI defines for them or the program has of its own.
REDUCTIONS: Sequence[tuple[Mapping[str, int], Sequence[str]]] = (
    (WHOLE, (*ORDERED, *BITS, "land", "lor", "lxor")),
    ({"float": 4, "double": 8, "long_double": 16}, ORDERED),
    ({"aint": 8}, (*ORDERED, *BITS)),
    ({"complex": 16}, ("sum", "prod")),
    ({"bool": 1}, ("land", "lor", "lxor")),
    ({"byte": 1}, BITS),
    ({"2int": 8, "float_int": 8, "double_int": 16, "long_int": 16, "short_int": 8, "long_double_int": 32},
     ("minloc", "maxloc")),
    ({"pair": 8}, ("compose", "least")),
    ({"gapped": 16}, ("compose", "least")),
)  # fmt: skip
#: How often each kind of element is taken.
REDUCTION_WEIGHTS = (4, 4, 1, 1, 1, 1, 2, 3, 1)
#: Calls with the times that each is taken: those that ECO serves more often than those that it passes on.
CALLS = {
    "bcast": 8, "allreduce": 10, "reduce": 8, "gather": 6, "scatter": 6, "allgather": 8, "alltoall": 6,
    "reduce_scatter": 6, "reduce_scatter_block": 6, "scan": 5, "exscan": 5, "allgatherv": 7, "barrier": 3,
    "gatherv": 2, "scatterv": 2, "alltoallv": 2, "alltoallw": 2,
}  # fmt: skip
COMBINING = ("reduce", "allreduce", "reduce_scatter", "reduce_scatter_block", "scan", "exscan")
#: Whose size counts all ranks' blocks.
BLOCKED = (
    "gather", "gatherv", "scatter", "scatterv", "allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw",
    "reduce_scatter", "reduce_scatter_block",
)  # fmt: skip
BETWEEN_SIDES = ("barrier", "bcast", "gather", "scatter", "allgather", "alltoall", "reduce", "allreduce")
OF_NEIGHBOURS = (
    "neighbor_allgather", "neighbor_alltoall", "neighbor_allgatherv", "neighbor_alltoallv", "neighbor_alltoallw"
)  # fmt: skip
FORMS = {"blocking": 10, "nonblocking": 5, "large": 1, "nonblocking_large": 1, "persistent": 1}
WAYS = ("wait", "waitall", "waitany", "waitsome", "test", "testall", "testany", "testsome")
#: Where libraries change how they send, and packets end.
USUAL_EDGES = (1, 8, 64, 512, 1392, 4096, 8192, 65536)
#: Of the ways in which blocks are unequal: those of the first rank are of nothing.
WITH_EMPTY_BLOCKS = 2
MOST_UNDER_WAY = 6
MOST_COMMUNICATORS = 6


@dataclass
class Quirks:
    """What a library alone does wrong, and programs for it leave out."""

    frees_early: bool = True  # datatypes and operations while a nonblocking call of its own is under way
    frees_comm_early: bool = True
    forms: tuple[str, ...] = tuple(FORMS)
    mixes_in_trees: bool = True  # signatures of two types in gather and scatter
    scatters_gaps: bool = True  # reductions of elements with gaps, to blocks
    places_alone: bool = True  # the block of an alltoallw on a communicator of one rank
    empty_in_place: bool = True  # blocks of nothing in an alltoallw in place
    anybody: bool = True  # messages of the program's own received from MPI_ANY_SOURCE
    most_unlike_bytes: int = 1 << 30  # of an allgatherv's block whose datatypes differ between ranks


@dataclass
class Generator:
    """One program for so many ranks. `edges`: bytes at which the plan of an operation changes."""

    dice: random.Random
    ranks: int
    edges: Mapping[str, Sequence[int]] = field(default_factory=dict)
    most_bytes: int = 1 << 17
    quirks: Quirks = field(default_factory=Quirks)
    _steps: list[Step] = field(default_factory=list)
    #: Number, kind and ranks of each communicator that is there; the ranks are the most that a part of it has.
    _comms: dict[int, tuple[str, int]] = field(default_factory=dict)
    _under_way: dict[int, int] = field(default_factory=dict)  # request -> communicator
    _made: int = 0

    def program(self, calls: int) -> Program:
        self._comms = {0: ("world", self.ranks)}
        done = 0
        while done < calls:
            dice = self.dice.random()
            if dice < 0.05:
                self._change_communicators()
            elif dice < 0.08:
                named = {} if self.quirks.anybody else {"named": 1}
                self._add("exchange", on=self.dice.choice(self._plain()), count=self._spread(3000), **named)
            elif self._under_way and dice < 0.08 + 0.08 * len(self._under_way):
                self._complete()
            else:
                self._call()
                done += 1
        return tuple(self._steps)

    def _add(self, verb: str, **words: object) -> None:
        used = {name: str(word) for name, word in words.items() if word is not None and word != 0}
        for name in ("on", "id", "of", "count", "late"):
            if words.get(name) == 0:
                used[name] = "0"
        self._steps.append(Step(len(self._steps), verb, used))

    def _plain(self) -> list[int]:
        return [comm for comm, (kind, _) in self._comms.items() if kind != "inter"]

    def _spread(self, most: int) -> int:
        """Small numbers as often as large ones."""
        return int(most ** self.dice.random())

    def _change_communicators(self) -> None:
        free = [comm for comm in self._comms if comm != 0]
        if not self.quirks.frees_comm_early:
            free = [comm for comm in free if comm not in self._under_way.values()]
        if len(self._comms) >= MOST_COMMUNICATORS or (free and self.dice.random() < 0.4):
            if free:
                gone = self.dice.choice(free)
                del self._comms[gone]
                self._add("free", id=gone)
            return
        of = self.dice.choice([comm for comm in self._plain() if self._comms[comm][1] > 0])
        n = self._comms[of][1]
        kind = self.dice.choices(("dup", "split", "create", "ring", "inter"), (3, 5, 2, 1, 1))[0]
        if kind == "inter" and (n < 2 or of != 0):
            kind = "dup"
        self._made += 1
        words: dict[str, object] = {}
        order = list(range(n))
        if self.dice.random() < 0.7:
            self.dice.shuffle(order)
        if kind == "split":
            n_groups = self.dice.choices((1, 2, 3, n), (5, 5, 1, 1))[0]
            in_blocks = self.dice.random() < 0.5
            colors = [rank * n_groups // n if in_blocks else rank % n_groups for rank in range(n)]
            if self.dice.random() < 0.2:
                colors[-1] = -1
            words = {"color": ",".join(map(str, colors)), "key": ",".join(map(str, order))}
            n = max([colors.count(color) for color in colors if color >= 0], default=0)
        elif kind == "create":
            n = self.dice.randint(1, n)
            words = {"ranks": ",".join(map(str, order[:n]))}
        self._comms[self._made] = (kind, n)
        self._add("comm", id=self._made, of=of, kind=kind, **words)

    def _complete(self) -> None:
        known = list(self._under_way)
        chosen = (
            known if self.dice.random() < 0.5 else self.dice.sample(known, self.dice.randint(1, len(known)))
        )
        for request in chosen:
            del self._under_way[request]
        self._add("complete", requests=",".join(map(str, chosen)), way=self.dice.choice(WAYS),
                  seed=self.dice.randrange(1, 1000))  # fmt: skip

    def _call(self) -> None:
        comm = self.dice.choice(list(self._comms))
        kind, n = self._comms[comm]
        verb = self._verb(kind)
        words: dict[str, object] = {"on": comm, "root": self.dice.randrange(max(n, 1))}
        if verb in COMBINING:
            words |= self._reduction(verb, kind, n)
        elif verb != "barrier":
            words |= self._movement(verb, comm)
        if verb in ("barrier", "allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw") or verb in (
            "allreduce", "reduce_scatter", "reduce_scatter_block", "scan", "exscan", *OF_NEIGHBOURS
        ):  # fmt: skip
            del words["root"]
        if kind == "inter":
            words["side"] = self.dice.randrange(2)
        words |= self._form(verb, kind, comm)
        if self.dice.random() < 0.05:
            words["late"] = self.dice.randrange(self.ranks)
        self._add(verb, **words)

    def _verb(self, kind: str) -> str:
        if kind == "inter":
            return self.dice.choice(BETWEEN_SIDES)
        if kind == "ring" and self.dice.random() < 0.4:
            return self.dice.choice(OF_NEIGHBOURS)
        return self.dice.choices(list(CALLS), list(CALLS.values()))[0]

    def _form(self, verb: str, kind: str, comm: int) -> dict[str, object]:
        known = self.quirks.forms
        if kind == "inter":
            known = tuple(form for form in known if form in ("blocking", "nonblocking"))
        form = self.dice.choices(known, [FORMS[name] for name in known])[0]
        if not form.startswith("nonblocking"):
            return {"form": form}
        if len(self._under_way) >= MOST_UNDER_WAY:
            self._complete()
        request = max(self._under_way, default=0) + 1
        self._under_way[request] = comm
        frees = self.quirks.frees_early and self.dice.random() < 0.4
        return {"form": form, "request": request, "free": 1 if frees else None}

    def _count(self, verb: str, n: int, element_bytes: int) -> int:
        """Elements of a block, around an edge: one less, just as many, one more."""
        if self.dice.random() < 0.06:
            return 0
        edges = (
            [*self.edges.get(verb, ()), *USUAL_EDGES]
            if self.dice.random() < 0.5
            else self.edges.get(verb, ())
        )
        edge = min(self.dice.choice(list(edges) or list(USUAL_EDGES)), self.most_bytes)
        if self.dice.random() < 0.15:
            edge = self._spread(self.most_bytes)
        blocks = max(n, 1) if verb in BLOCKED else 1
        return max(0, edge // (element_bytes * blocks) + self.dice.choice((-1, 0, 0, 1)))

    def _reduction(self, verb: str, kind: str, n: int) -> dict[str, object]:
        types, ops = self.dice.choices(REDUCTIONS, REDUCTION_WEIGHTS)[0]
        name, op = self.dice.choice(list(types)), self.dice.choice(ops)
        if name == "gapped" and verb.startswith("reduce_scatter") and not self.quirks.scatters_gaps:
            name, types = "pair", {"pair": 8}
        rounds = name in ("float", "double") and op == "sum" and kind != "inter"
        return {
            "type": name, "op": op, "count": self._count(verb, n, types[name]),
            "in_place": 1 if self._in_place(kind) else None,
            "real": 1 if rounds and self.dice.random() < 0.4 else None,
            "wild": self.dice.randrange(2) if verb == "reduce" else None,
            "uneven": self._uneven() if verb == "reduce_scatter" else None,
        }  # fmt: skip

    def _movement(self, verb: str, comm: int) -> dict[str, object]:
        kind, n = self._comms[comm]
        name = self.dice.choice(list(SIGNATURES))
        in_trees = kind == "inter" or verb in ("gather", "scatter")
        if name == "mixed" and in_trees and not self.quirks.mixes_in_trees:
            name = "two"
        # Between two sides nothing is served, and MPICH's gather of types that differ does not end.
        differ = kind != "inter" and self.dice.random() < 0.5
        # Only the world is known to have no part of one rank; plain blocks begin at place 0 there.
        if verb == "alltoallw" and comm != 0 and not self.quirks.places_alone:
            differ = False
        count = self._count(verb, n, SIGNATURES[name])
        unlike = verb != "allgatherv" or (count + 1) * SIGNATURES[name] <= self.quirks.most_unlike_bytes
        words: dict[str, object] = {
            "type": name, "count": count,
            "layout": self.dice.randrange(1, 10000) if differ else None,
            "alike": 0 if unlike else 1,
            "in_place": 1 if verb != "bcast" and self._in_place(kind) else None,
            "wild": self.dice.randrange(2) if verb.startswith(("gather", "scatter")) else None,
        }  # fmt: skip
        if verb.endswith(("v", "w")):
            uneven = self._uneven()
            is_risky = verb == "alltoallw" and words["in_place"] and not self.quirks.empty_in_place
            if is_risky and uneven == WITH_EMPTY_BLOCKS:
                uneven = 0
            words |= {
                "uneven": uneven, "holes": self.dice.choice((0, 0, 1, 3)), "turned": self.dice.randrange(2)
            }  # fmt: skip
        return words

    def _in_place(self, kind: str) -> bool:
        return kind != "inter" and self.dice.random() < 0.3

    def _uneven(self) -> int:
        return self.dice.choice((0, 0, 1, 2, 3, 3))
