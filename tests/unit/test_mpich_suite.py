"""tools/mpich-suite: what it reads of MPICH's tests and makes of their runs, without running any."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

LIMIT_S = 60.0
SERVED = "eco: served 3 of 4 collective calls"


@pytest.fixture(name="suite")
def _suite(load_tool: Callable[[str], ModuleType]) -> ModuleType:
    return load_tool("mpich-suite")


TESTLIST = """# a comment
bcast 4
bcast 8 arg=-count=10 arg=-nonblocking env=MPIR_CVAR_X=tree   # another
big 4 mem=20.1 timeLimit=300
@coll_error@ length 3 xfail=ticket1
pt2pt
@rmadir@
gpu 2 hasgpu=any
abort 6 mpiexecarg=-disable-auto-cleanup strict=false resultTest=TestStatus
!../util:libmtest.la
plain
"""


def test_a_testlist_is_read(suite: ModuleType) -> None:
    lines = suite.lines_of(TESTLIST, "coll", {"pt2pt"})
    assert [(line.program, line.ranks) for line in lines] == [
        ("bcast", 4), ("bcast", 8), ("big", 4), ("length", 3), ("gpu", 2), ("abort", 6), ("plain", 2),
    ]  # fmt: skip
    assert lines[1].title == "coll/bcast -count=10 -nonblocking MPIR_CVAR_X=tree"
    assert (lines[2].memory_gib, lines[2].limit_s, lines[0].limit_s) == (20.1, 300.0, None)
    assert lines[5].launching == ("-disable-auto-cleanup",)


def test_lines_that_cannot_run_here_say_why(suite: ModuleType) -> None:
    lines = {line.program: line for line in suite.lines_of(TESTLIST, "coll", {"pt2pt"})}

    def why(name: str, library: str = "mpich") -> str | None:
        found: str | None = lines[name].why_not(library, 6, 4.0)
        return found

    assert why("plain") is None
    assert why("abort") is None
    assert why("abort", "openmpi") == "options of another launcher"
    assert why("bcast") == "more than 6 ranks"
    assert why("big") == "more than 4 GiB"
    assert why("gpu") == "needs a GPU"
    assert why("length") == "wrong programs: ranks whose arguments do not fit"


def test_settings_of_mpich_make_no_other_line_elsewhere(suite: ModuleType) -> None:
    lines = suite.lines_of("a 2\na 2 env=MPIR_CVAR_X=1\na 2 env=MPIR_CVAR_X=2\na 2 env=OTHER=1\n", "coll")
    assert len(suite.of_library(lines, "mpich")) == 4
    assert [line.title for line in suite.of_library(lines, "openmpi")] == ["coll/a", "coll/a OTHER=1"]


def test_a_makefile_says_what_a_program_is_made_of(suite: ModuleType) -> None:
    rules = suite.rules_of(
        "AM_CPPFLAGS = -Ix\n"
        "noinst_PROGRAMS = plain two large\n"
        "two_SOURCES = two.c \\\n  more.c two.h\n"
        "large_SOURCES = plain.c\nlarge_CPPFLAGS = -DLARGE $(AM_CPPFLAGS)\n"
        "maths_LDADD = $(LDADD) -lm\n"
    )
    assert rules == {
        "two": suite.Rule(("two.c", "more.c"), ()),
        "large": suite.Rule(("plain.c",), ("-DLARGE",)),
        "maths": suite.Rule(("maths.c",), ("-lm",)),
    }


def _run(suite: ModuleType, code: int | None = 0, seconds: float = 1.0, **said: str) -> Any:
    return suite.Outcome(code, seconds, **({"output": " No Errors\n", "errors": SERVED} | said))


def _record(suite: ModuleType, stock: Any, eco: Any) -> dict[str, Any]:
    pairs = suite.Pairs.of(lambda: stock, lambda: eco, always_says=False)
    head = {"library": "mpich", "test": "coll/a", "ranks": 2}
    record: dict[str, Any] = head | suite.record_of(pairs, LIMIT_S)
    return record


def test_what_is_another_in_every_run_is_not_compared(suite: ModuleType) -> None:
    stock = _run(suite, 1, output="b 0x7f12\na 1.5\n", errors="[host:1234] failed\n[host:1235] failed\n")
    eco = _run(suite, 1, output="a 2.5\nb 0xab\n", errors=f"eco: a line\n[host:77777] failed\n{SERVED}")
    assert _record(suite, stock, eco)["verdict"] == "same"
    assert _record(suite, stock, eco)["stock"] == "fails"


@pytest.mark.parametrize(
    "eco",
    [{"code": 1}, {"code": None}, {"output": "Found 1 errors\n"}, {"errors": "a complaint\n" + SERVED}],
    ids=["another exit code", "no end", "another output", "another complaint"],
)
def test_what_comes_out_different_is_wrong(suite: ModuleType, eco: dict[str, Any]) -> None:
    record = _record(suite, _run(suite), _run(suite, **eco))
    assert (record["verdict"], record["stock"]) == ("differs", "passes")
    assert record["unlike"]
    assert "mpich coll/a 2" in suite.wrong({("mpich", "coll/a", 2): record})


def test_what_takes_ten_times_as_long_is_wrong(suite: ModuleType) -> None:
    assert _record(suite, _run(suite), _run(suite, seconds=12.0))["verdict"] == "slow"
    assert _record(suite, _run(suite), _run(suite, seconds=9.0))["verdict"] == "same"
    armed = f"{SERVED} (bcast 3); about 1.1 s lost in a job of 11.5 s, armed in 4.5 s\n"
    assert _record(suite, _run(suite), _run(suite, seconds=12.0, errors=armed))["verdict"] == "same"
    assert _record(suite, _run(suite, seconds=0.1), _run(suite, seconds=4.0))["verdict"] == "same"


def test_a_run_without_ecos_line_is_told_and_nothing_served_is_wrong(suite: ModuleType) -> None:
    record = _record(suite, _run(suite), _run(suite, errors=""))
    assert (record["verdict"], record["without_eco"]) == ("same", True)
    records = {("mpich", "coll/a", 2): record}
    assert "no line of ECO" in suite.summary(records)
    assert suite.wrong(records) == ["mpich: ECO SERVED NOTHING"]


def test_what_is_not_built_is_told(suite: ModuleType) -> None:
    record = {"library": "mpich", "test": "coll/a", "ranks": 2, "verdict": "not built", "why": "no MPI_X"}
    text = suite.summary({("mpich", "coll/a", 2): record})
    assert "mpich coll: 1 lines, 0 programs: 1 not built; served 0 of 0" in text
    assert "no MPI_X" in text
