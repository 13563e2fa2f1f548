"""Rules for MPICH: its selection tree, as JSON, with the branches of some operations replaced for groups of P ranks.

The file replaces all that the library has built in, and an operation without a branch ends the program. So the tree
that is built in is read out of the library itself, whatever its version. Reading it again:

  - objects are tried in their order, and tests of the group are decided once, when a communicator is made. Deeper than
    a test of the call they are not, and `comm_size<8` then holds for 8 ranks too: so what the library would choose for
    P ranks is worked out here where it stands below one of our tests.
  - an algorithm's restrictions are not looked at when it comes from a file. Its needs are written as tests.
  - names of parameters that it does not know are passed over: there is the place for notes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from eco.errors import Unsupported
from eco.export.decide import Rule
from eco.export.tables import Candidate, Operation, Target

Tree = dict[str, Any]

#: How MPICH writes that a tree begins; the one of the general algorithms has this in it, those of devices have not.
BEGINS = b'{"collective='
GENERAL = b"algorithm=MPIR_Bcast_intra_binomial"
#: Where and when, in every leaf; the numbers of each size stand in env.sh.
NOTES = 3
#: Sizes are read by atoi.
LARGEST = 2**31 - 1


def built_in(library_file: str) -> Tree:
    """The tree inside the library; throws Unsupported where there is none."""
    try:
        data = Path(library_file).read_bytes()
    except OSError as error:
        raise Unsupported(
            f"{library_file or 'the MPI library of rank 0'} cannot be read here ({error.strerror}), and an export "
            "starts from the tree inside it; start eco export on a host that has it"
        ) from error
    for match in re.finditer(re.escape(BEGINS), data):
        text = data[match.start() : data.index(b"\0", match.start())]
        if GENERAL in text:
            try:
                return dict(json.loads(text))
            except ValueError as error:
                raise Unsupported(
                    f"{library_file}: its selection tree is not as expected: {error}"
                ) from error
    raise Unsupported(f"{library_file}: no selection tree is found in it, so none can be written for it")


def as_json(
    rules: Mapping[str, Sequence[Rule]], target: Target, n_ranks: int, notes: Sequence[str], library_file: str
) -> str:
    tree = built_in(library_file)
    for op, of_op in rules.items():
        known = target.operations[op]
        branch = tree[f"collective={known.name}"]
        intra = branch["comm_type=intra"]
        ours = _needs_met(of_op, known, pruned(intra, n_ranks), n_ranks, "; ".join(notes[:NOTES]))
        branch["comm_type=intra"] = {
            f"comm_size<={n_ranks - 1}": intra,
            f"comm_size<={n_ranks}": ours,
            "comm_size=any": intra,
        }
    return json.dumps(tree, indent=1) + "\n"


def pruned(tree: Tree, n_ranks: int) -> Tree:
    """The tree without tests of the number of ranks: what is left of it for this one."""
    kept: Tree = {}
    for key, below in tree.items():
        holds = _holds(key, n_ranks)
        if holds is None:
            kept[key] = below if _is_leaf(key) else pruned(below, n_ranks)
        elif holds and not kept:
            return pruned(below, n_ranks)
        elif holds:
            kept["comm_size=any"] = pruned(below, n_ranks)
            return kept
    return kept


def _holds(key: str, n_ranks: int) -> bool | None:
    """A test of the number of ranks; nothing for other keys."""
    key = key.replace(" ", "")
    if key == "comm_size=any":
        return True
    if key == "comm_size=pow2":
        return n_ranks & (n_ranks - 1) == 0
    match = re.fullmatch(r"comm_size<(=?)(\d+)", key)
    if match is None:
        return None
    return n_ranks <= int(match.group(2)) if match.group(1) else n_ranks < int(match.group(2))


def _is_leaf(key: str) -> bool:
    return key.startswith(("algorithm=", "composition="))


def _needs_met(rules: Sequence[Rule], known: Operation, otherwise: Tree, n_ranks: int, note: str) -> Tree:
    """The rules by size, below the tests that must come before a size may be asked for."""
    if any(rule.candidate and "not_in_place" in rule.candidate.needs for rule in rules):
        # In place the size of a call is not known to the library's test of it.
        return {
            "is_sendbuf_inplace=yes": otherwise,
            "is_sendbuf_inplace=no": _by_size(rules, known, _not_in_place(otherwise), n_ranks, note),
        }
    return _by_size(rules, known, otherwise, n_ranks, note)


def _not_in_place(tree: Tree) -> Tree:
    return dict(tree.get("is_sendbuf_inplace=no", tree))


def _by_size(rules: Sequence[Rule], known: Operation, otherwise: Tree, n_ranks: int, note: str) -> Tree:
    branches = [_leaf(rule.candidate, otherwise, note) if rule.candidate else otherwise for rule in rules]
    if not known.size or len(rules) == 1:
        return branches[0]
    out: Tree = {}
    for rule, branch in zip(rules, branches, strict=True):
        out[_size_test(rule, known, n_ranks)] = branch
    return out


def _size_test(rule: Rule, known: Operation, n_ranks: int) -> str:
    if rule.last is None:
        return f"{known.size}=any"
    last = rule.last // n_ranks if known.size_over_ranks else rule.last
    return f"{known.size}<={min(last, LARGEST)}"


def _leaf(candidate: Candidate, otherwise: Tree, note: str) -> Tree:
    params: Tree = {f"{name}={value}": {} for name, value in candidate.params}
    leaf: Tree = {f"algorithm={candidate.name}": {**params, f"eco: {note}": {}}}
    for test in _tests(candidate):
        leaf = {key: leaf if wanted else otherwise for key, wanted in test}
    return leaf


def _tests(candidate: Candidate) -> Iterator[list[tuple[str, bool]]]:
    """From the innermost outwards, the tests around a leaf: key, and whether it leads to the leaf."""
    if "commutes" in candidate.needs:
        yield [("is_commutative=yes", True), ("is_commutative=no", False)]
    if "built_in" in candidate.needs:
        yield [("count<pow2", False), ("count=any", True)]
        yield [("is_op_built_in=yes", True), ("is_op_built_in=no", False)]
