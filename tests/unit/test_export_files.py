"""The files of eco export.

The readers of the libraries are restated here, as their sources have them: a file is right if they take from it what
was decided.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from eco.errors import Unsupported
from eco.export import coordinates, mpich, openmpi, tables, ucc
from eco.export.decide import Rule
from eco.export.files import Export
from eco.export.measure import SearchOptions
from eco.export.record import EXPORTED
from eco.export.run import without_rules, write
from eco.export.tables import Target

from .test_export import MPICH, OPENMPI, candidates, flat_is_good, measured, record_of

#: The shape of MPICH's own tree, with a test of the group below which one of ours must not find it again.
TREE = {
    "collective=bcast": {
        "comm_type=intra": {
            "comm_size<8": {"algorithm=MPIR_Bcast_intra_binomial": {}},
            "comm_size=pow2": {
                "avg_msg_size<=12288": {"algorithm=MPIR_Bcast_intra_binomial": {}},
                "avg_msg_size=any": {"algorithm=MPIR_Bcast_intra_scatter_recursive_doubling_allgather": {}},
            },
            "comm_size=any": {"algorithm=MPIR_Bcast_intra_scatter_ring_allgather": {}},
        },
        "comm_type=inter": {"algorithm=MPIR_Bcast_inter_remote_send_local_bcast": {}},
    },
    "collective=allreduce": {"comm_type=intra": {"algorithm=MPIR_Allreduce_intra_recursive_doubling": {}}},
    "collective=alltoall": {
        "comm_type=intra": {
            "is_sendbuf_inplace=yes": {"algorithm=MPIR_Alltoall_intra_pairwise_sendrecv_replace": {}},
            "is_sendbuf_inplace=no": {"algorithm=MPIR_Alltoall_intra_scattered": {}},
        }
    },
    "collective=exscan": {"algorithm=MPIR_Exscan_intra_recursive_doubling": {}},
}


def read_classic(text: str) -> dict[int, list[tuple[int, list[tuple[int, ...]]]]]:
    """As Open MPI 5.0's reader takes it: whole numbers, # to the end of the line is passed over."""
    numbers = iter([int(word) for line in text.splitlines() for word in line.partition("#")[0].split()])
    out: dict[int, list[tuple[int, list[tuple[int, ...]]]]] = {}
    for _ in range(next(numbers)):
        operation = next(numbers)
        out[operation] = []
        for _ in range(next(numbers)):
            key = next(numbers)
            rules = [tuple(itertools.islice(numbers, 4)) for _ in range(next(numbers))]
            assert rules[0][0] == 0, "else the whole file is dropped"
            assert [rule[0] for rule in rules] == sorted(rule[0] for rule in rules)
            out[operation].append((key, rules))
    assert next(numbers, None) is None
    return out


def look_up(
    of_operation: list[tuple[int, list[tuple[int, ...]]]], n_ranks: int, size: int
) -> tuple[int, ...]:
    """The largest keys that are not above."""
    rules = [rules for key, rules in of_operation if key <= n_ranks][-1]
    return [rule for rule in rules if rule[0] <= size][-1][1:]


def test_classic_rules_are_for_this_number_of_ranks_alone() -> None:
    chain = candidates(OPENMPI, "broadcast")["chain fanout=4 segment=8192"]
    rules = {"broadcast": [Rule(0, 4095, chain), Rule(4096, None, None)], "barrier": [
        Rule(0, None, candidates(OPENMPI, "barrier")["tree"])]}  # fmt: skip
    target = tables.target_of("openmpi", OPENMPI)
    text = openmpi.classic(rules, target, 8, ["eco of 2026-11-21, 8 ranks # and so on"], "")
    read = read_classic(text)
    assert look_up(read[7], 8, 8) == (2, 4, 8192)
    assert look_up(read[7], 8, 4095) == (2, 4, 8192)
    assert look_up(read[7], 8, 4096) == (0, 0, 0)
    assert look_up(read[7], 7, 8) == look_up(read[7], 2, 8) == look_up(read[7], 9, 8) == (0, 0, 0)
    assert look_up(read[6], 8, 0) == (6, 0, 0)
    assert text.startswith("# eco of 2026-11-21")


def test_json_rules_have_the_names_that_the_reader_wants() -> None:
    target = tables.target_of("openmpi", "Open MPI 6.0.0")
    segmented = candidates(OPENMPI, "broadcast")["pipeline segment=65536"]
    found = candidates(OPENMPI, "reduce_scatter")["ring"]
    text = openmpi.as_json(
        {"broadcast": [Rule(0, 99, None), Rule(100, None, segmented)], "reduce_scatter": [Rule(0, None, found)]},
        target, 8, [], "",
    )  # fmt: skip
    document = json.loads(text)
    assert (document["rule_file_version"], document["module"]) == (3, "tuned")
    assert document["collectives"] == {
        "bcast": [{"comm_size_min": 8, "comm_size_max": 8, "rules": [
            {"msg_size_min": 100, "msg_size_max": "inf", "alg": 3, "seg_size": 65536, "faninout": 0}]}],
        "reduce_scatter": [{"comm_size_min": 8, "comm_size_max": 8, "rules": [
            {"msg_size_min": 0, "msg_size_max": "inf", "alg": 3, "seg_size": 0, "faninout": 0}]}],
    }  # fmt: skip


@pytest.fixture
def library_file(tmp_path: Path) -> str:
    """A library with trees of devices and the general one in it."""
    device = b'{"collective=bcast":{"composition=MPIDI_Bcast_intra_composition_alpha":{}}}\0'
    path = tmp_path / "libmpi.so.12"
    path.write_bytes(b"\x7fELF..." + device + json.dumps(TREE).replace(" ", "").encode() + b"\0more")
    return str(path)


def selected(tree: dict[str, Any], collective: str, n_ranks: int, **call: Any) -> tuple[str, dict[str, Any]]:
    """What MPICH 5.0's search finds. Tests of the group are decided first, as far down as they reach without another;
    below that `comm_size<N` holds for N too."""
    below: dict[str, Any] = tree[f"collective={collective}"]
    once = True
    while True:
        for key, value in below.items():
            if key.startswith("algorithm="):
                return key.partition("=")[2], value
            holds, of_group = _holds(key, n_ranks, once, call)
            once = once and of_group
            if holds:
                below = value
                break
        else:
            raise AssertionError(f"nothing holds: {list(below)}")


def _holds(key: str, n_ranks: int, once: bool, call: Mapping[str, Any]) -> tuple[bool, bool]:
    if key.endswith("=any"):
        return True, True
    if key.startswith("comm_type="):
        return key == "comm_type=intra", True
    if key == "comm_size=pow2":
        return n_ranks & (n_ranks - 1) == 0, True
    match = re.fullmatch(r"(comm_size|avg_msg_size|total_msg_size|count)<(=?)(.+)", key)
    if match is None:
        name, _, value = key.partition("=")
        return call[name] == value, False
    name, equal, bound = match.groups()
    if name == "comm_size":
        return n_ranks < int(bound) or (n_ranks == int(bound) and (equal == "=" or not once)), True
    limit = n_ranks if bound == "pow2" else int(bound)
    return call[name] < limit or (call[name] == limit and equal == "="), False


def test_mpich_keeps_its_tree_for_everybody_else(library_file: str) -> None:
    flat = candidates(MPICH, "broadcast")["MPIR_Bcast_intra_tree tree_type=kary k=7 is_non_blocking=1"]
    target = tables.target_of("mpich", MPICH)
    rules = {"broadcast": [Rule(0, 999, flat), Rule(1000, None, None)]}
    tree = json.loads(mpich.as_json(rules, target, 8, ["where", "when"], library_file))
    assert list(tree) == list(TREE), "an operation without a branch ends the program"
    name, params = selected(tree, "bcast", 8, avg_msg_size=999)
    assert name == "MPIR_Bcast_intra_tree"
    assert {"tree_type=kary", "k=7", "is_non_blocking=1", "eco: where; when"} == set(params)
    # From 1000 B on as the library has it for 8 ranks, not as its `comm_size<8` reads there.
    for size in (1000, 12288, 12289):
        assert selected(tree, "bcast", 8, avg_msg_size=size) == selected(TREE, "bcast", 8, avg_msg_size=size)
    for ranks, size in itertools.product((2, 7, 9, 16), (8, 999, 1 << 20)):
        assert selected(tree, "bcast", ranks, avg_msg_size=size) == selected(
            TREE, "bcast", ranks, avg_msg_size=size
        )
    assert tree["collective=bcast"]["comm_type=inter"] == TREE["collective=bcast"]["comm_type=inter"]


def test_mpich_needs_are_tests(library_file: str) -> None:
    target = tables.target_of("mpich", MPICH)
    ring = candidates(MPICH, "allreduce")["MPIR_Allreduce_intra_ring"]
    halves = candidates(MPICH, "allreduce")["MPIR_Allreduce_intra_reduce_scatter_allgather"]
    rules = {"allreduce": [Rule(0, 99, halves), Rule(100, None, ring)]}
    tree = json.loads(mpich.as_json(rules, target, 8, [], library_file))

    def chosen(size: int, count: int, commutes: str, built_in: str) -> str:
        return selected(tree, "allreduce", 8, avg_msg_size=size, count=count, is_commutative=commutes,
                        is_op_built_in=built_in)[0].removeprefix("MPIR_Allreduce_intra_")  # fmt: skip

    assert chosen(99, 8, "yes", "yes") == "reduce_scatter_allgather"
    assert chosen(99, 7, "yes", "yes") == "recursive_doubling", "fewer elements than ranks"
    assert chosen(99, 8, "yes", "no") == "recursive_doubling"
    assert chosen(100, 1, "yes", "no") == "ring"
    assert chosen(100, 1, "no", "no") == "recursive_doubling"


def test_mpich_asks_no_size_of_calls_in_place(library_file: str) -> None:
    target = tables.target_of("mpich", MPICH)
    pairwise = candidates(MPICH, "alltoall")["MPIR_Alltoall_intra_pairwise"]
    rules = {"alltoall": [Rule(0, 8000, pairwise), Rule(8001, None, None)]}
    tree = json.loads(mpich.as_json(rules, target, 8, [], library_file))
    out_of_place = {"is_sendbuf_inplace": "no"}
    assert selected(tree, "alltoall", 8, is_sendbuf_inplace="yes")[0].endswith("pairwise_sendrecv_replace")
    # ECO counts a rank's whole buffer, MPICH what goes to one other rank.
    assert selected(tree, "alltoall", 8, avg_msg_size=1000, **out_of_place)[0].endswith("pairwise")
    assert selected(tree, "alltoall", 8, avg_msg_size=1001, **out_of_place)[0].endswith("scattered")


def test_mpich_without_a_tree_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Unsupported, match="cannot be read here"):
        mpich.built_in(str(tmp_path / "none"))
    (tmp_path / "lib").write_bytes(b"nothing of the kind\0")
    with pytest.raises(Unsupported, match="no selection tree"):
        mpich.built_in(str(tmp_path / "lib"))


def test_ucc_tokens() -> None:
    operation = next(t for t in tables.targets() if t.to == "ucc").operations["allreduce"]
    target = Target("ucc", "", "UCC", "ucc-tune", {}, {"allreduce": operation}, None)
    found = {c.name: c for c in operation.candidates(8, "1.3.0")}
    rules = [Rule(0, 4096, found["knomial"]), Rule(4097, 9999, None), Rule(10000, None, found["ring"])]
    text = ucc.tokens({"allreduce": rules}, target, 8, [], "")
    assert text == "allreduce:0-4096:[8-8]:@knomial:inf#allreduce:10000-inf:[8-8]:@ring:inf"


def test_coordinates_are_three_integers_below_one_line() -> None:
    text = coordinates.text(["a", "b", "a", "c"], [0, 1, 0, 1], ["net", "today"])
    lines = text.splitlines()
    assert lines[0].startswith("#")
    assert "net" in lines[0]
    assert lines[1:] == ["0: 0 0 0", "1: 1 1 0", "2: 0 0 0", "3: 1 1 1"]


def test_an_export_says_where_it_is_from_and_how_to_use_it(tmp_path: Path) -> None:
    record = record_of()
    measured(record, flat_is_good, SearchOptions())
    written = write(record, tmp_path, any_operation=True)
    assert written.environment == tmp_path / "env.sh"
    text = written.environment.read_text()
    for said in (
        "8 ranks",
        "network net",
        "measured 2026-11-21",
        OPENMPI,
        "basic_linear",
        "in fresh launches",
    ):
        assert said in text
    assert f"export OMPI_MCA_coll_tuned_dynamic_rules_filename={tmp_path}/openmpi.rules" in text
    rules = (tmp_path / "openmpi.rules").read_text()
    assert OPENMPI in rules
    assert look_up(read_classic(rules)[7], 8, 8) == (1, 0, 0)
    # The same folder, when it turns out that nothing gains: no stale rules are left.
    record.launches = [launch for launch in record.launches if launch.phase == "search"]
    measured(record, lambda op, size, way: 0.002, SearchOptions())
    empty = write(record, tmp_path, any_operation=True)
    assert empty.environment is None
    assert "broadcast" in without_rules(empty)
    assert list(tmp_path.iterdir()) == []


def test_a_tree_over_the_partition_is_chosen_by_settings(tmp_path: Path, library_file: str) -> None:
    record = record_of(MPICH)
    record.library_file = library_file
    way = "tree over the partition"
    measured(record, lambda op, size, w: 0.001 if w in (way, EXPORTED) else 0.002, SearchOptions())
    written = write(record, tmp_path, any_operation=True)
    assert written.environment is not None
    text = written.environment.read_text()
    assert "export MPIR_CVAR_BCAST_TREE_TYPE=topology_aware" in text
    assert f"export MPIR_CVAR_COORDINATES_FILE={tmp_path}/mpich.coordinates" in text
    assert (tmp_path / "mpich.coordinates").read_text().splitlines()[2] == "1: 1 1 0"
    assert json.loads((tmp_path / "mpich.json").read_text()) == TREE
    record.subnets = [0] * 8  # one subnet: there is nothing to follow
    assert way not in record.candidates("broadcast")


def test_exports_set_what_makes_the_library_look(tmp_path: Path) -> None:
    target = tables.target_of("openmpi", OPENMPI)
    rules = {"broadcast": [Rule(0, None, candidates(OPENMPI, "broadcast")["knomial"])]}
    settings = Export(target, rules, [], "", ["h"] * 8, None).write(tmp_path)
    assert settings["OMPI_MCA_coll_tuned_use_dynamic_rules"] == "1"
    assert not any("MPIR" in name for name in settings)
    assert set(target.operations["broadcast"].settings) <= set(settings)
    assert not set(target.operations["barrier"].settings) & set(settings)
