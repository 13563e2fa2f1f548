"""eco export without MPI: what is known of versions, and what follows from measurements."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from eco.errors import CorruptFile, InvalidArgument, Unsupported
from eco.export import tables
from eco.export.decide import BEYOND, Rule, decide, spread
from eco.export.measure import SearchOptions, launches_left, next_launch
from eco.export.record import DEFAULT, EXPORTED, OWN, Launch, Record
from eco.export.tables import Candidate

OPENMPI, MPICH = "Open MPI 5.0.11", "MPICH 5.0.2"


def candidates(library: str, op: str, n_ranks: int = 8) -> dict[str, Candidate]:
    to = "mpich" if library.startswith("MPICH") else "openmpi"
    found = tables.target_of(to, library).operations[op].candidates(n_ranks, tables.version_of(library))
    assert len({c.label for c in found}) == len(found)
    return {c.label: c for c in found}


# ---- versions


@pytest.mark.parametrize(
    ("to", "library", "why"),
    [
        ("openmpi", "Open MPI 7.0.0", "nobody has looked at"),
        ("openmpi", "Open MPI 4.0.7", "nobody has looked at"),
        ("openmpi", "Open MPI main", "nobody has looked at"),
        ("mpich", "MPICH 4.3.2", "nobody has looked at"),
        ("mpich", "MPICH 5.1.0a1", "nobody has looked at"),
        ("mpich", "Intel(R) MPI 2021.19", "these ranks run Intel"),
        ("openmpi", MPICH, "these ranks run MPICH"),
    ],
)
def test_a_version_without_a_row_is_refused(to: str, library: str, why: str) -> None:
    with pytest.raises(Unsupported, match=re.escape(why)):
        tables.target_of(to, library)


def test_versions_have_their_formats() -> None:
    assert tables.target_of("openmpi", "Open MPI 4.1.8").format == "openmpi-classic"
    assert tables.target_of("openmpi", OPENMPI).format == "openmpi-classic"
    assert tables.target_of("openmpi", "Open MPI 6.0.0rc1").format == "openmpi-json"
    assert tables.target_of("mpich", MPICH).format == "mpich-json"
    with pytest.raises(InvalidArgument, match="openmpi, mpich, ucc"):
        tables.target_of("nccl", OPENMPI)


def test_candidates_fit_version_and_group() -> None:
    assert "sparbit" in candidates(OPENMPI, "allgather")
    assert "sparbit" not in candidates("Open MPI 4.1.8", "allgather")
    assert "two_proc" in candidates(OPENMPI, "barrier", 2)
    assert "two_proc" not in candidates(OPENMPI, "barrier", 8)
    assert "recursive_doubling" not in candidates(OPENMPI, "allgather", 6)
    assert "MPIR_Barrier_intra_k_dissemination k=8" in candidates(MPICH, "barrier", 8)
    assert set(candidates(MPICH, "barrier", 3)) == {
        f"MPIR_Barrier_intra_{name}"
        for name in ("k_dissemination k=2", "k_dissemination k=3", "recexch k=2 single_phase_recv=0",
                     "recexch k=3 single_phase_recv=0")
    }  # fmt: skip


def test_ucc_says_its_own_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Unsupported, match="ucc_info -v does not run"):
        tables.library_that_decides("ucc", OPENMPI)
    program = tmp_path / "ucc_info"
    program.write_text("#!/bin/sh\necho '# UCC version=1.3.0 revision 0'\n")
    program.chmod(0o755)
    found = tables.library_that_decides("ucc", OPENMPI)
    assert found == "UCC 1.3.0"
    assert tables.target_of("ucc", found).format == "ucc-tune"
    with pytest.raises(Unsupported, match=r"UCC 2\.0\.0 is a version"):
        tables.target_of("ucc", "UCC 2.0.0")
    assert tables.library_that_decides("mpich", MPICH) == MPICH


# ---- rules from measurements

Timing = Callable[[str, int, str], float]


def record_of(library: str = OPENMPI, ops: tuple[str, ...] = ("broadcast",), n_ranks: int = 8) -> Record:
    to = "mpich" if library.startswith("MPICH") else "openmpi"
    hosts = [f"h{i}" for i in range(n_ranks)]
    return Record(
        to,
        library,
        "",
        "net",
        "block",
        hosts,
        list(ops),
        [8, 1024, 65536],
        subnets=[i % 2 for i in range(n_ranks)],
        provenance={"measured_at": "2026-11-21T18:00:00"},
    )


def measured(record: Record, timing: Timing, options: SearchOptions, noise: float = 0.01) -> list[Launch]:
    """Everything that the search asks for, by a function instead of a library."""
    spread_of = itertools.cycle([1.0, 1 + noise, 1 - noise, 1 + noise / 2])
    while (planned := next_launch(record, options)) is not None:
        assert len(record.launches) < 500
        seconds = {
            (op, size): tuple(timing(op, size, way) * next(spread_of) for _ in range(3))
            for op, way in planned.ways.items()
            for size in planned.sizes[op]
        }
        record.launches.append(Launch(planned.phase, planned.round, planned.ways, seconds))
    return record.launches


def flat_is_good(op: str, size: int, way: str) -> float:
    """Small messages go twice as fast by basic_linear, and so does the exported file; the rest is slow."""
    if size < 1024 and way in ("basic_linear", EXPORTED):
        return 0.001
    return 0.002 if way in (DEFAULT, OWN, EXPORTED) else 0.006


def test_a_rule_stands_where_it_wins_and_nowhere_else() -> None:
    record = record_of()
    launches = measured(record, flat_is_good, SearchOptions())
    (choice,) = decide(record, any_operation=True)
    assert [cell.candidate.label if cell.candidate else None for cell in choice.cells] == [
        "basic_linear",
        None,
        None,
    ]
    assert [round(cell.ratio.ratio, 1) for cell in choice.cells] == [2.0, 1.0, 1.0]
    assert choice.cells[0].checked
    assert choice.rules()[0].last == 90, "halfway to 1 KiB: 8 * sqrt(128)"
    assert choice.rules()[1].candidate is None
    # Round 1 runs every candidate; later ones only what was near: the winner, at the one size where it won.
    later = [launch for launch in launches if launch.phase == "search" and launch.round == 2]
    assert {way for launch in later for way in launch.ways.values()} == {DEFAULT, OWN, "basic_linear"}
    assert not [
        launch for launch in later if launch.ways["broadcast"] == "basic_linear" and len(launch.seconds) > 1
    ]
    assert launches_left(record, SearchOptions()) == 0


def test_what_fresh_launches_do_not_confirm_is_dropped() -> None:
    record = record_of()
    measured(
        record,
        lambda op, size, way: 0.002 if way == EXPORTED else flat_is_good(op, size, way),
        SearchOptions(),
    )
    assert decide(record, any_operation=True, checked=False)
    assert decide(record, any_operation=True) == []


def test_noise_is_no_gain() -> None:
    record = record_of()
    measured(
        record, lambda op, size, way: 0.002 if way != "chain" else 0.0019, SearchOptions(checks=0), noise=0.4
    )
    assert decide(record, any_operation=True) == []


def test_an_operation_that_its_settings_slow_down_is_left_alone() -> None:
    """The library must be told to look at the file; if its own choices then are slower, one good size is not enough."""

    def slow_otherwise(op: str, size: int, way: str) -> float:
        return flat_is_good(op, size, way) if way in (DEFAULT, "basic_linear", EXPORTED) else 0.004

    record = record_of()
    measured(record, slow_otherwise, SearchOptions(checks=0))
    assert decide(record, any_operation=True) == []


def test_rules_that_need_commuting_operations_are_asked_for() -> None:
    record = record_of(ops=("reduce",))
    measured(record, lambda op, size, way: 0.001 if way == "rabenseifner" else 0.002, SearchOptions(checks=0))
    assert decide(record, any_operation=True) == []
    (choice,) = decide(record, any_operation=False)
    assert choice.cells[0].candidate is not None
    assert choice.cells[0].candidate.name == "rabenseifner"


def test_mpich_asks_whether_operations_commute() -> None:
    record = record_of(MPICH, ops=("allreduce",))
    ring = "MPIR_Allreduce_intra_ring"
    measured(record, lambda op, size, way: 0.001 if way == ring else 0.002, SearchOptions(checks=0))
    (choice,) = decide(record, any_operation=True)
    assert {cell.candidate.label if cell.candidate else None for cell in choice.cells} == {ring}


@pytest.mark.parametrize(("large_s", "rules"), [(0.0021, 0), (0.0015, 1)])
def test_a_size_that_other_ranks_may_see_differently_has_one_rule(large_s: float, rules: int) -> None:
    """Open MPI asks non-roots of a scatter for arguments that only the root has."""

    def good_when_small(op: str, size: int, way: str) -> float:
        return (0.001 if size < 1024 else large_s) if way == "basic_linear" else 0.002

    record = record_of(ops=("scatter",))
    measured(record, good_when_small, SearchOptions(checks=0), noise=0.001)
    choices = decide(record, any_operation=True)
    assert len(choices) == rules
    assert all([rule.last for rule in choice.rules()] == [None] for choice in choices)


def test_a_search_goes_on_from_its_file(tmp_path: Path) -> None:
    """Interrupted after any launch and read again, it makes the same launches."""
    options = SearchOptions(rounds=2, checks=1)
    whole = record_of(ops=("broadcast", "barrier"))
    measured(whole, flat_is_good, options)
    part = record_of(ops=("broadcast", "barrier"))
    for launch in whole.launches:
        planned = next_launch(part, options)
        assert planned is not None
        assert (planned.phase, planned.round, planned.ways) == (launch.phase, launch.round, launch.ways)
        part.launches.append(launch)
        part.write(tmp_path / "record.json")
        part = Record.read(tmp_path / "record.json")
    assert next_launch(part, options) is None
    assert part == whole


def test_a_record_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    for text in ("{", '{"schema": "eco.bench", "version": 1}', '{"schema": "eco.export", "version": 1}',
                 '{"schema": "eco.export", "version": 1, "launches": [3]}'):  # fmt: skip
        path.write_text(text)
        with pytest.raises(CorruptFile):
            Record.read(path)


def test_a_failed_candidate_is_none() -> None:
    record = record_of()
    record.failed = {"broadcast": {"basic_linear": "wrong results"}}
    launches = measured(record, flat_is_good, SearchOptions())
    assert all(launch.ways["broadcast"] != "basic_linear" for launch in launches)
    assert decide(record, any_operation=True) == []


def test_rules_reach_halfway_and_not_far_beyond() -> None:
    chosen = candidates(OPENMPI, "broadcast")["binomial segment=0"]
    points = [(8, chosen), (1024, chosen), (65536, None), (1 << 20, chosen)]
    assert spread(points) == [
        Rule(0, 8191, chosen),
        Rule(8192, 262143, None),
        Rule(262144, BEYOND << 20, chosen),
        Rule((BEYOND << 20) + 1, None, None),
    ]
    assert spread([(0, chosen)]) == [Rule(0, None, chosen)], "a barrier has no sizes"
