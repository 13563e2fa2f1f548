"""eco compare: ratios, and plain words about them."""

from __future__ import annotations

import io
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from eco import rank
from eco.cli.compare import Comparison, ProgramLaunch, show
from eco.errors import CorruptFile


def comparison(stock: float, eco_s: float, inside: tuple[float, float] | None, pairs: int = 6) -> Comparison:
    launches = []
    for i in range(pairs):
        jitter = 1 + 0.01 * (i % 3)
        for mode, wall, part in (("stock", stock, 0), ("eco", eco_s, 1)):
            launches.append(
                ProgramLaunch(mode, len(launches), wall * jitter, inside[part] if inside else None, 0.0)
            )
    return Comparison(("mpirun", "./app"), tuple(launches), 3.0)


def measuring(compared: Comparison, seconds: float) -> Comparison:
    """The same, with so much of its second launch spent on measuring."""
    launches = list(compared.launches)
    launches[1] = replace(launches[1], measuring_s=seconds)
    return replace(compared, launches=tuple(launches))


def test_launches_that_still_measured_are_said_to() -> None:
    slower = measuring(comparison(4.0, 5.0, (3.0, 1.0)), 2.5)
    assert "up to 2.5 s of ECO's launches went into measuring" in slower.verdict()
    assert "please report this" not in slower.verdict()
    assert "please report this" in measuring(comparison(4.0, 5.0, (3.0, 1.0)), 0.01).verdict()
    assert "measuring" not in measuring(comparison(4.0, 2.0, (3.0, 1.0)), 0.01).verdict()


@pytest.mark.parametrize(
    ("compared", "said"),
    [
        (comparison(4.0, 2.0, (3.0, 1.0)), "2.00 times as fast with ECO"),
        (comparison(4.0, 2.0, (3.0, 1.0), pairs=2), "few launches"),
        (comparison(2.0, 4.0, (1.0, 3.0)), "2.00 times as long with ECO"),
        (comparison(4.0, 4.0, (0.1, 0.05)), "only 2.5% of its time in collectives"),
        (
            comparison(4.0, 4.0, (0.3, 0.15)),
            "its collectives are 2.00 times as fast, too small a part to show",
        ),
        (
            comparison(4.0, 4.0, (3.0, 1.5)),
            "its collectives are 2.00 times as fast, which more launches may show",
        ),
        (comparison(4.0, 4.0, (1.0, 1.0)), "no gain"),
        (comparison(4.0, 4.0, None), "no gain"),
        (
            comparison(2.0, 4.0, None),
            "2.00 times as long with ECO; but whether ECO served anything is not known",
        ),
        (comparison(4.0, 4.01, (1.0, 1.0)), "no gain"),
    ],
)
def test_the_verdict(compared: Comparison, said: str) -> None:
    assert said in compared.verdict()
    console = Console(file=io.StringIO(), width=200)
    show(compared, console)
    assert said in console.file.getvalue()  # type: ignore[attr-defined]


PROGRAM = """#!{python} -IS
import json, os, time
stock = os.environ.get("ECO") == "observe"
time.sleep(1.5 if stock else 0.1)
tally = {{"seconds": 1.6 if stock else 0.4}}
json.dump({{"schema": "eco.report", "version": 1, "mode": "x", "ranks": 8, "wall_s": 1, "arming_s": 0,
           "estimated_gain_s": 0, "collectives": {{"broadcast": tally}}, "totals": {{"broadcast": tally}}}},
          open(os.environ["ECO_REPORT"], "w"))
"""


def test_the_whole_command(fakes: Any, eco: Any) -> None:
    program = fakes.script("app", PROGRAM.format(python=sys.executable))
    ended = eco("compare", "-n", "2", "--json", "c.json", "--", "mpirun", "-n", "8", program)
    assert ended.returncode == 0, ended.stderr
    document = json.loads(Path("c.json").read_text())
    assert (document["schema"], document["version"]) == ("eco.compare", 1)
    assert [one["mode"] for one in document["launches"]] == ["stock", "eco", "eco", "stock"]
    assert document["collective"]["stock_median_s"] == pytest.approx(0.2)
    assert document["collective"]["ratio"]["ratio"] == pytest.approx(4.0)
    assert document["wall"]["ratio"]["ratio"] > 1.2
    assert "times as fast with ECO" in ended.stdout


def test_what_cannot_be_compared(fakes: Any, eco: Any) -> None:
    failing = fakes.script("failing", "#!/bin/sh\necho lost my way >&2\nexit 3\n")
    ended = eco("compare", "-n", "1", "--", "mpirun", failing)
    assert ended.returncode == 1
    assert "exit code 3" in ended.stderr
    assert "lost my way" in ended.stderr
    ended = eco("compare", "--network", "absent.json", "--", "mpirun", failing)
    assert (ended.returncode, "absent.json" in ended.stderr) == (2, True)


def test_whose_failure_it_is(fakes: Any, eco: Any) -> None:
    ended = eco("compare", "-n", "1", "--", "mpirun", "-n", "2", "./missing")
    assert ended.returncode == 1
    assert "stock launch of mpirun -n 2 ./missing ended with exit code 127; " in ended.stderr
    assert f"there is no executable ./missing in {Path.cwd()} on this host" in ended.stderr
    failing = fakes.script("failing", '#!/bin/sh\n[ -z "$ECO_REPORT" ] || exit 3\n')
    ended = eco("compare", "-n", "1", "--", "mpirun", failing)
    assert ended.returncode == 1
    assert "it failed with ECO and not without, please report this: eco launch of" in ended.stderr
    assert "exit code 3" in ended.stderr


def test_unknown_options_are_told_where_ranks_are_quiet(fakes: Any, eco: Any) -> None:
    for command in ("compare", "profile"):
        ended = eco(command, "--set", "ECO_BUGDET=1", "--", "mpirun", "false")
        assert "ECO_BUGDET is no option of ECO's" in ended.stderr
        assert "did you mean ECO_BUDGET?" in ended.stderr


def test_reports_are_refused_with_reason(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text(json.dumps({"schema": "eco.report", "version": 1, "ranks": 2}))
    with pytest.raises(CorruptFile, match="another version"):
        rank.read_report(path)
    rank0 = {"broadcast": {"seconds": 2.0}, "allreduce": {"seconds": 1.0}}
    head = {"schema": "eco.report", "version": 1, "mode": "on", "ranks": 4, "wall_s": 9, "arming_s": 1,
            "estimated_gain_s": 0.5}  # fmt: skip
    path.write_text(json.dumps({**head, "collectives": rank0}))
    assert rank.read_report(path).collective_s == 3.0
    path.write_text(json.dumps({**head, "collectives": rank0, "totals": {"broadcast": {"seconds": 8.0}}}))
    assert rank.read_report(path).collective_s == 2.0
