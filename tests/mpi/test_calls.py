"""Every collective call of every library: compared with the library's own, and served where data/calls.json says so.

A call that an mpi.h declares and that data/calls.json does not know fails, and so does one that programs/calls.c has no
arguments for. `RECORD_CALLS=1` writes what was seen into data/calls-tested.json and docs/calls.md; otherwise it must be
what stands there. ECO_TEST_LIBRARIES says of which libraries (HACKING.md); calls in Fortran: test_fortran.py.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from .conftest import KINDS, Ended, Library

pytestmark = pytest.mark.mpi

ROOT = Path(__file__).parents[2]
OURS = json.loads((ROOT / "data" / "calls.json").read_text())
TESTED = ROOT / "data" / "calls-tested.json"
#: What every collective's name has in it, and what else has.
COLLECTIVE = re.compile(r"barrier|bcast|gather|scatter|alltoall|reduce|scan", re.IGNORECASE)
NO_COLLECTIVES = re.compile(r"MPI_Reduce_local(_c)?|MPI_File_\w+")
FORMS = {"blocking": "MPI_{Base}", "nonblocking": "MPI_I{base}", "persistent": "MPI_{Base}_init"}
#: Name in C, base and form of every call that a language may have which chooses between small and large counts itself.
IN_EACH_FORM = [
    (spelling.format(Base=base, base=base[0].lower() + base[1:]), base, form)
    for base in OURS["calls"]
    for form, spelling in FORMS.items()
]
NAME = re.compile(r"MPI_(?P<i>I?)(?P<base>[A-Za-z_]+?)(?P<init>_init)?(?P<large>_c)?")


def form_of(name: str) -> tuple[str, str, str]:
    """("nonblocking", "Bcast", "_c") of MPI_Ibcast_c."""
    match = NAME.fullmatch(name)
    assert match, name
    base = match["base"][0].upper() + match["base"][1:]
    form = "nonblocking" if match["i"] else "persistent" if match["init"] else "blocking"
    return form, base, match["large"] or ""


def declared(library: Library) -> list[str]:
    """The collectives of the library's mpi.h."""
    preprocessed = subprocess.run(
        [*library.compiler, "-E", "-x", "c", "-"], input="#include <mpi.h>\n", text=True, capture_output=True,
        check=True, env=library.environment({}),
    ).stdout  # fmt: skip
    names = sorted(set(re.findall(r"\b(MPI_\w+)\s*\(", preprocessed)))
    return [name for name in names if COLLECTIVE.search(name) and not NO_COLLECTIVES.fullmatch(name)]


def left_out(library: Library, names: Iterable[str]) -> list[str]:
    """Calls that the library fails in by itself."""
    return [name for name in names if re.fullmatch(library.kind.fails, name)]


def made(library: Library) -> list[str]:
    """The others of its collectives."""
    names = declared(library)
    return sorted(set(names) - set(left_out(library, names)))


def stood_in_for(library: Library) -> list[str]:
    """Large-count calls that the library lacks and ECO's preload has."""
    lines = (ROOT / "preload" / "wrappers.def").read_text()
    large = re.findall(r"^ECO_WRAP_LARGE\((\w+),", lines, re.MULTILINE)
    return [name for name in large if name not in declared(library)]


def line(name: str, form: str) -> str:
    """Of calls.inc, in C."""
    _, base, large = form_of(name)
    return f"CALL({form}, {base}, {base[0].lower()}{base[1:]}, {large})\n"


def compiled(library: Library) -> str:
    names = made(library)
    unknown = [name for name in names if form_of(name)[1] not in OURS["calls"]]
    assert not unknown, f"data/calls.json says nothing of {unknown}"
    text = "".join(line(name, form_of(name)[0]) for name in names)
    for name in stood_in_for(library):
        text += line(name, "narrowed_nonblocking" if form_of(name)[0] == "nonblocking" else "narrowed")
    return compiled_of(library, "calls", text)


def compiled_of(library: Library, name: str, lines: str) -> str:
    folder = library.folder / f"{name}-lines"
    folder.mkdir(exist_ok=True)
    (folder / "calls.inc").write_text(lines)
    return library.compile("calls", name, flags=["-I", str(folder), "-ldl"])


def seen(stdout: str) -> dict[str, tuple[int, int]]:
    """Tries and how many of them were served, by call."""
    *lines, last = stdout.splitlines()
    assert last == "right", stdout
    return {name: (int(tries), int(served)) for name, tries, served in map(str.split, lines)}


def why_passed(library: Library, name: str) -> str | None:
    """A reason of data/calls.json; None for a call that is served."""
    if left_out(library, [name]):
        return "own fault"
    form, base, _ = form_of(name)
    reason = OURS["calls"][base][form]
    if reason != "served":
        return str(reason)
    return "no progress to join" if form == "nonblocking" and not library.kind.carries else None


def expected(library: Library, name: str, ranks: int = 3) -> str:
    """Of two ranks' graph ECO has nothing to make."""
    too_few = ranks < 3 and form_of(name)[1].startswith("Neighbor")
    return "passed" if too_few or why_passed(library, name) else "served"


def made_alone(
    library: Library, names: Iterable[str], words_for: Callable[[str], Sequence[str]], ranks: int = 3
) -> dict[str, str]:
    """What the library fails in by itself, each call in a program of its own: which ends as it does without ECO."""

    def fate(ended: Ended) -> tuple[int, str]:
        return ended.returncode, ended.stdout

    outcome = {}
    for name in left_out(library, names):
        words = words_for(name)
        stock, eco = library.run(ranks, words), library.run_served(ranks, words)
        began = stock.stdout.endswith("right\n") or "Abort(" in stock.stderr
        assert began and fate(eco) == fate(stock), f"{name}\n{stock.stderr}\n{eco.stderr}"
        outcome[name] = "passed"
    return outcome


def hold_against_record(language: str, library: Library, calls: dict[str, str]) -> None:
    """What came of each call; of those that are left out the reason."""
    record = (
        json.loads(TESTED.read_text())
        if TESTED.exists()
        else {"schema": "eco.calls-tested", "version": 1, "results": []}
    )
    key = (language, library.kind.title)
    others: list[dict[str, Any]] = [r for r in record["results"] if (r["language"], r["library"]) != key]
    result = {"language": language, "library": library.kind.title, "calls": dict(sorted(calls.items()))}
    of_its_own = ("no progress to join", "own fault")
    reasons = {name: why_passed(library, name) for name in sorted(calls)}
    if own := {name: reason for name, reason in reasons.items() if reason in of_its_own}:
        result["reasons"] = own
    if os.environ.get("RECORD_CALLS"):
        record["results"] = sorted([*others, result], key=lambda r: (r["language"], r["library"]))
        TESTED.write_text(json.dumps(record, indent=1) + "\n")
        subprocess.run([sys.executable, ROOT / "tools" / "calls-doc"], check=True)
    assert result in record["results"], f"RECORD_CALLS=1 pytest {__file__} records what was seen"


def recorded(language: str) -> set[tuple[str, str]]:
    """Languages and libraries that data/calls-tested.json has, of languages that begin so."""
    results = json.loads(TESTED.read_text())["results"]
    return {(r["language"], r["library"]) for r in results if r["language"].startswith(language)}


@pytest.mark.parametrize("language", ["C", "Python (mpi4py)"])
def test_every_library_is_recorded(language: str) -> None:
    """Whether or not it is installed here."""
    assert recorded(language) == {(language, kind.title) for kind in KINDS.values()}, (
        "RECORD_CALLS=1, HACKING.md"
    )


@pytest.mark.parametrize("ranks", [2, 3, pytest.param(5, marks=pytest.mark.long)])
def test_every_call_in_c(library: Library, ranks: int) -> None:
    program = compiled(library)
    turns = 20 if ranks < 3 else 10
    ended = library.run_served(ranks, [program, str(turns), str(ranks)], timeout_s=400)
    assert ended.returncode == 0, ended.stderr
    calls = seen(ended.stdout)
    assert sorted(calls) == sorted([*made(library), *stood_in_for(library)])
    outcome = {name: "served" if served else "passed" for name, (_, served) in calls.items()}
    assert outcome == {name: expected(library, name, ranks) for name in calls}
    if ranks == 3:

        def words_for(name: str) -> list[str]:
            return [compiled_of(library, f"calls-{name}", line(name, form_of(name)[0])), "3", "3"]

        alone = made_alone(library, declared(library), words_for)
        hold_against_record("C", library, outcome | alone)


def test_every_call_without_eco(library: Library) -> None:
    """A difference between the program's two ways would be its own."""
    ended = library.run(4, [compiled(library), "10", "7"], timeout_s=400)
    assert ended.returncode == 0, ended.stderr
    calls = seen(ended.stdout)
    assert sorted(calls) == made(library)
    assert not any(served for _, served in calls.values())


def test_every_call_in_python(library: Library) -> None:
    """mpi4py has what its library has; the results are those of a run without ECO."""
    program = Path(__file__).parent / "programs" / "calls.py"
    has = set(declared(library)) & {name for name, _, _ in IN_EACH_FORM}
    calls = [call for call in IN_EACH_FORM if call[0] in has and not left_out(library, [call[0]])]

    def words_for(calls: Sequence[tuple[str, str, str]]) -> list[str]:
        # A rank that fails ends the others too.
        return [library.python, "-m", "mpi4py", str(program), json.dumps(calls)]

    words = words_for(calls)
    stock, ended = library.run(3, words, timeout_s=400), library.run_served(3, words, timeout_s=400)
    assert (stock.returncode, ended.returncode) == (0, 0), stock.stderr + ended.stderr

    def lines(stdout: str) -> dict[str, list[str]]:
        *calls, last = stdout.splitlines()
        assert last == "right", stdout
        return {name: rest for name, *rest in map(str.split, calls)}

    before, after = lines(stock.stdout), lines(ended.stdout)
    assert {name: rest[0] for name, rest in after.items()} == {name: rest[0] for name, rest in before.items()}
    assert set(after) == {name for name, _, _ in calls}
    outcome = {name: "served" if int(served) else "passed" for name, (_, _, served) in after.items()}
    assert outcome == {name: expected(library, name) for name in outcome}
    alone = made_alone(
        library, has, lambda name: words_for([call for call in IN_EACH_FORM if call[0] == name])
    )
    hold_against_record("Python (mpi4py)", library, outcome | alone)
