"""eco profile: ranks' counts put together, shown, and the command around them."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from eco import profile
from eco.errors import CorruptFile
from eco.profile import Profile, merge
from eco.report import profile_view
from eco.savings import savings


def call(
    operation: str, ranks: int, up_to: int, calls: int, size: int, seconds: float, fate: str = "served"
) -> dict[str, Any]:
    return {"operation": operation, "communicator_ranks": ranks, "up_to_bytes": up_to, "fate": fate, "calls": calls,
            "bytes": calls * size, "largest_bytes": size, "seconds": seconds}  # fmt: skip


def of_rank(rank: int, calls: list[dict[str, Any]], communicators: list[dict[str, Any]]) -> dict[str, Any]:
    return {"rank": rank, "wall_s": 10.0, "arming_s": 0.5, "communicators": communicators, "calls": calls}


def used(ranks: int, number: int, **native: int) -> dict[str, Any]:
    return {"ranks": ranks, "number": number, "native": native}


def document(*profiles: dict[str, Any], mode: str = "on", ranks: int = 0) -> dict[str, Any]:
    return {"schema": "eco.rank.profile", "version": 1, "library": "MPICH 5.0.2", "mode": mode,
            "ranks": ranks or len(profiles), "profiles": list(profiles)}  # fmt: skip


def two_ranks(mode: str = "on") -> dict[str, Any]:
    zero = [
        call("allreduce", 2, 1024, 3, 1024, 3.0),
        call("allreduce", 2, 1024, 1, 1024, 0.5, "waiting"),
        call("broadcast", 2, 8, 10, 5, 0.25, "plan"),
    ]
    one = [call("allreduce", 2, 1024, 4, 1024, 1.5), call("scan", 1, 8, 6, 8, 0.125, "communicator")]
    return document(
        of_rank(0, zero, [used(2, 1)]),
        of_rank(1, one, [used(1, 1, lonely=1), used(2, 1)]),
        mode=mode,
    )


def shown(found: Profile, top: int = 20) -> str:
    console = Console(file=io.StringIO(), width=150)
    profile_view.show(found, console, top)
    return console.file.getvalue()  # type: ignore[attr-defined,no-any-return]


def test_ranks_are_put_together() -> None:
    found = merge(two_ranks())
    assert [(row.operation, row.communicator_ranks) for row in found.rows] == [
        ("allreduce", 2), ("broadcast", 2), ("scan", 1),
    ]  # fmt: skip
    row = found.rows[0]
    assert (row.calls, row.ranks, row.calls_of_a_rank, row.mean_bytes) == (8, 2, 4, 1024)
    assert (row.seconds, row.mean_s) == (5.0, 2.5)
    assert (row.least_s, row.most_s, row.most_rank) == (1.5, 3.5, 0)
    assert row.fates == {"served": 7, "waiting": 1}
    assert [time.collective_s for time in found.times] == [3.75, 1.625]
    assert (found.wall_s, found.collective_s, found.arming_s) == (10.0, 2.6875, 0.5)
    assert found.share(found.rows) == pytest.approx(0.26875)
    assert [(used.ranks, used.number, used.native) for used in found.communicators] == [
        (1, 1, {"lonely": 1}), (2, 1, {}),
    ]  # fmt: skip


def test_what_is_shown() -> None:
    text = shown(merge(two_ranks()))
    assert "2 ranks under MPICH 5.0.2, with ECO: 10 s from MPI_Init to MPI_Finalize" in text
    assert (
        "in collectives 2.69 s of the mean rank (26.9 %), least 1.62 s on rank 1, most 3.75 s on rank 0"
        in text
    )
    assert "rank 1 may be the one that others wait for" in text
    assert "arming took 500 ms" in text
    assert "communicators of 1 rank: 1 (1 native: lonely)" in text
    assert "communicators of 2 ranks: 1\n" in text
    lines = [line.split() for line in text.splitlines()]
    assert ["allreduce", "4", "2.5", "s", "25.0", "%"] in lines
    wanted = ["2", "1", "KiB", "4", "2.5", "s", "3.5", "s", "(0)", "25.0", "%"]
    assert [*wanted, "3.5", "ECO,", "0.5", "native:", "communicator", "not", "armed", "yet"] in lines
    assert any(line[:3] == ["2", "5", "B"] and line[-3:] == ["the", "plan's", "choice"] for line in lines)


def test_operations_are_in_the_order_of_all_that_they_took() -> None:
    calls = [
        call("scan", 2, 8, 1, 8, 2.0),
        call("reduce", 2, 8, 1, 8, 1.5),
        call("reduce", 2, 16, 1, 16, 1.0),
    ]
    text = shown(merge(document(of_rank(0, calls, [used(2, 1)]))))
    assert 0 < text.index("reduce ") < text.index("scan ")


def test_a_stock_run_does_not_say_who_served() -> None:
    text = shown(merge(two_ranks("observe")))
    assert "MPICH 5.0.2, stock: 10 s" in text
    assert "ECO" not in text
    assert "native" not in text


def test_only_the_longest_rows_are_shown() -> None:
    text = shown(merge(two_ranks()), top=1)
    assert "2 shorter rows, together 1.9 % of the run, are not shown" in text
    assert "the plan's choice" not in text
    assert "broadcast" in text, "what all of an operation took is always shown"


def test_ranks_that_did_not_report_are_told() -> None:
    text = shown(merge(document(of_rank(0, [call("barrier", 4, 0, 2, 0, 1.0)], [used(4, 1)]), ranks=4)))
    assert "of 1 of 4 ranks only" in text


def test_a_program_without_collectives() -> None:
    text = shown(merge(document(of_rank(0, [], []))))
    assert "no collective that ECO knows was called" in text
    assert "0.0 %" in text


@pytest.mark.parametrize(
    ("size", "text"),
    [(0.0, "0 B"), (1024.0, "1 KiB"), (1000.0, "1000 B"), (1500.5, "1.47 KiB"), (0.5, "0.5 B")],
)
def test_sizes_are_exact_where_they_are_one(size: float, text: str) -> None:
    assert profile_view.about(size) == text


def test_bad_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "raw.json"
    stray = {**of_rank(0, [], []), "arrivals": {"groups": [[0]], "calls": [[1, 0, "scan", 8, 1, 1]]}}
    for bad in (
        document(),
        {**two_ranks(), "profiles": [{"rank": 0}]},
        {**document(stray), "one_clock": True},
    ):
        path.write_text(json.dumps(bad))
        with pytest.raises(CorruptFile, match="another version"):
            profile.read(path)
    path.write_text(json.dumps({**two_ranks(), "schema": "eco.profile"}))
    with pytest.raises(CorruptFile, match=r"raw\.json"):
        profile.read(path)


PROGRAM = """#!{python}
import os, sys
print("mode", os.environ.get("ECO", "on"))
with open(os.environ["ECO_PROFILE"], "w") as file:
    file.write({text!r})
sys.exit(int(sys.argv[1]))
"""


def test_the_whole_command(fakes: Any, eco: Any) -> None:
    text = json.dumps(two_ranks("observe"))
    program = fakes.script("app", PROGRAM.format(python=sys.executable, text=text))
    ended = eco("profile", "--json", "p.json", "--", "mpirun", "-n", "2", program, "7")
    assert ended.returncode == 7, "the program's"
    assert ended.stdout.startswith("mode observe\n2 ranks under MPICH 5.0.2, stock")
    written = json.loads(Path("p.json").read_text())
    assert (written["schema"], written["version"]) == ("eco.profile", 1)
    assert written["collective_s"] == 2.6875
    assert written["rows"][0]["most_rank"] == 0
    ended = eco("profile", "--with-eco", "--", "mpirun", "-n", "2", program, "0")
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("mode on\n")
    assert sorted(path.name for path in Path().iterdir()) == ["app", "p.json"]


def test_a_file_from_a_job_is_shown(fakes: Any, eco: Any) -> None:
    Path("raw.json").write_text(json.dumps(two_ranks()))
    ended = eco("profile", "--read", "raw.json")
    assert ended.returncode == 0, ended.stderr
    assert "with ECO: 10 s" in ended.stdout
    assert eco("profile", "--read", "raw.json", "--json", "written.json").returncode == 0
    again = eco("profile", "--read", "written.json")
    assert again.stdout == ended.stdout, again.stderr


@pytest.mark.parametrize(("code", "said"), [(0, "the program ended well"), (5, "exit code 5")])
def test_a_program_that_brings_no_profile(fakes: Any, eco: Any, code: int, said: str) -> None:
    program = fakes.script("app", f"#!/bin/sh\necho lost\nexit {code}\n")
    ended = eco("profile", "--", "mpirun", program)
    assert ended.returncode == (code or 1)
    assert ended.stdout == "lost\n"
    assert "no profile came back" in ended.stderr
    assert said in ended.stderr


def test_wrong_options(fakes: Any, eco: Any) -> None:
    assert eco("profile").returncode == 2
    assert eco("profile", "--read", "x.json", "--", "mpirun", "./app").returncode == 2
    ended = eco("profile", "--plan", "p.json", "--", "mpirun", "./app")
    assert (ended.returncode, "--with-eco" in ended.stderr) == (2, True)
    ended = eco("profile", "--with-eco", "--plan", "absent.json", "--", "mpirun", "./app")
    assert (ended.returncode, "nothing to profile" in ended.stderr) == (1, True)


def test_sizes_that_are_not_known_are_not_said_to_be_none() -> None:
    calls = [
        call("neighbor_alltoall", 2, 0, 5, 0, 2.0, "communicator"),
        call("neighbor_allgather", 2, 0, 5, 0, 1.0, "empty"),
        call("barrier", 2, 0, 5, 0, 0.5, "communicator"),
    ]
    found = merge(document(of_rank(0, calls, [used(2, 1)]), mode="observe", ranks=2))
    assert [row.mean_bytes for row in found.rows] == [None, 0, 0]
    lines = [line.split() for line in shown(found).splitlines()]
    assert ["2", "?", "5"] in [line[:3] for line in lines]
    plan = {"entries": [{"collective": "neighbor_alltoall", "rows": []}]}
    saved = {saving.operation: (saving.bytes, saving.why) for saving in savings(found, plan)}
    assert saved["neighbor_alltoall"] == (None, "size not known")
