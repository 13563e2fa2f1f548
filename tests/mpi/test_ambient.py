"""ECO_AMBIENT: recipes that follow ambient traffic change on all ranks in the same call, and results stay right."""

from pathlib import Path
from typing import Any

import pytest

from .conftest import Library

pytestmark = pytest.mark.mpi


@pytest.mark.parametrize("late", ["off", "mended"])
@pytest.mark.parametrize("ranks", [2, 5, 8])
def test_recipes_that_change_all_the_time(library: Library, ranks: int, late: str, tmp_path: Path) -> None:
    settings = {"ECO_AMBIENT": "always", "ECO_LATE": late, "ECO_REPORT": str(tmp_path / "report.json")}
    ended = library.run_served(ranks, [library.compile("ambient"), "120"], settings, timeout_s=240)
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
    report: Any = ended.report
    ambient = report["ambient"]
    assert ambient["follows"]
    assert ambient["moves"] > 2 < ambient["moves_back"], ended.stderr
    assert f"; looked for ambient traffic {ambient['looks']} times" in ended.stderr


def test_threads_on_communicators_of_their_own(library: Library) -> None:
    program = library.compile("threads")
    ended = library.run_served(4, [program], {"ECO_AMBIENT": "always"}, timeout_s=240)
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr


def test_calls_are_compared_with_what_serves_them(library: Library) -> None:
    settings = {"ECO_AMBIENT": "always", "ECO_CHECK": "communication"}
    ended = library.run_served(4, [library.compile("ambient"), "40"], settings, timeout_s=240)
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr


def test_a_quiet_host_is_hardly_looked_at(library: Library, tmp_path: Path) -> None:
    settings = {"ECO_AMBIENT": "auto", "ECO_REPORT": str(tmp_path / "report.json")}
    ended = library.run_served(4, [library.compile("ambient"), "100"], settings, timeout_s=120)
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
    report: Any = ended.report
    assert report["ambient"]["looks"] < 20, ended.stderr
