"""eco run: what becomes of a command line, and what happens where ECO can't be used."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from eco import _core
from eco.cli.run import RunOptions, parse_settings, prepare
from eco.errors import InvalidArgument, Unsupported


def good_network(path: Path) -> Path:
    path.write_text(_core.synthetic_network("hosts=2+2"))
    return path


def test_eco_exec_goes_in_with_the_settings(fakes: Any) -> None:
    network = good_network(Path("network.json"))
    options = RunOptions(network, None, Path("r.json"), "observe", "never", 2.5, {"X": "a b"})
    prepared = prepare(["mpirun", "-n", "2", "./app", "-n", "3"], options)
    assert prepared.warnings == []
    start, middle, end = prepared.command[:4], prepared.command[4:-3], prepared.command[-3:]
    assert start == ["mpirun", "-n", "2", str(fakes.native / "eco-exec")]
    assert end == ["./app", "-n", "3"]
    assert middle[0::2] == ["--set"] * 6
    files = [f"ECO_NETWORK={network.absolute()}", f"ECO_REPORT={Path('r.json').absolute()}"]
    assert middle[1::2] == ["X=a b", *files, "ECO=observe", "ECO_MEASURE=never", "ECO_BUDGET=2.5"]


def test_the_transport_is_a_setting(fakes: Any) -> None:
    for transport in ("tcp", "ucx"):
        command = prepare(["mpirun", "-n", "2", "./app"], RunOptions(transport=transport)).command
        assert f"ECO_TRANSPORT={transport}" in command


def test_off_starts_the_line_as_it_is(fakes: Any) -> None:
    words = ["mpirun", "-n", "2", "./app"]
    assert prepare(words, RunOptions(mode="off")).command == words


BAD = {
    "missing": None,
    "truncated": '{"schema": "eco.network", "vers',
    "foreign": '{"schema": "someone.else", "version": 1}',
    "no object": "[1]",
    "cut out": '{"schema": "eco.network", "version": 1}',
    "of a later version": '{"schema": "eco.network", "version": 2}',
}


@pytest.mark.parametrize("text", BAD.values(), ids=BAD.keys())
def test_a_bad_network_file_leaves_the_program_native(fakes: Any, text: str | None) -> None:
    if text is not None:
        Path("n.json").write_text(text)
    words = ["mpirun", "-n", "2", "./app"]
    prepared = prepare(words, RunOptions(network=Path("n.json")))
    assert prepared.command == words
    assert len(prepared.warnings) == 1
    assert "n.json" in prepared.warnings[0]
    assert prepared.warnings[0].endswith("the program runs without ECO")
    if text is not None:
        assert Path("n.json").read_text() == text


def test_a_pipe_is_not_waited_for(fakes: Any) -> None:
    os.mkfifo("pipe")
    words = ["mpirun", "-n", "2", "./app"]
    for options in (RunOptions(network=Path("pipe")), RunOptions(plan=Path("pipe"))):
        prepared = prepare(words, options)
        assert prepared.command == words
        assert prepared.warnings == ["pipe: no regular file; the program runs without ECO"]


def test_the_exit_code_is_the_programs(fakes: Any, eco: Any) -> None:
    program = fakes.script("app", '#!/bin/sh\necho "ran with $1 and ECO=$ECO"\nexit 7\n')
    ended = eco("run", "--observe", "--", "mpirun", "-n", "2", program, "x")
    assert (ended.returncode, ended.stdout) == (7, "ran with x and ECO=observe\n")
    ended = eco("run", "--network", "absent.json", "--", "mpirun", "-n", "2", program, "y")
    assert (ended.returncode, ended.stdout) == (7, "ran with y and ECO=\n")
    assert "absent.json" in ended.stderr
    ended = eco("run", "--off", "--", "mpirun", program, "z")
    assert (ended.returncode, ended.stdout, ended.stderr) == (7, "ran with z and ECO=\n", "")


def test_dry_run_prints_and_starts_nothing(fakes: Any, eco: Any) -> None:
    ended = eco("run", "--dry-run", "--", "mpirun", "-n", "2", "touch", "made")
    assert ended.stdout == f"mpirun -n 2 {fakes.native}/eco-exec touch made\n"
    assert not Path("made").exists()


def test_a_report_has_a_folder_when_the_program_starts(fakes: Any, eco: Any) -> None:
    program = fakes.script("app", '#!/bin/sh\necho "{}" > "$ECO_REPORT"\n')
    ended = eco("run", "--report", "not/yet/r.json", "--", "mpirun", "-n", "2", program)
    assert (ended.returncode, Path("not/yet/r.json").read_text()) == (0, "{}\n")
    Path("file").touch()
    ended = eco("run", "--report", "file/r.json", "--", "mpirun", "touch", "made")
    assert (ended.returncode, Path("made").exists()) == (0, True), "rank 0 may be on another host"
    assert ended.stderr.startswith("eco: cannot write file/r.json: Not a directory; ")
    assert "rank 0 will write there" in ended.stderr
    ended = eco("run", "--dry-run", "--report", "new/r.json", "--", "mpirun", "true")
    assert (ended.returncode, ended.stderr, Path("new").exists()) == (0, "", False)
    ended = eco("run", "--off", "--report", "new/r.json", "--", "mpirun", "true")
    assert ended.stderr == "eco: --report new/r.json: without ECO there is no report\n"


def test_a_dry_run_says_what_ranks_would_of_unknown_options(fakes: Any, eco: Any) -> None:
    words = ["--set", "ECO_BUGDET=1", "--set", "ECO_BUDGET=1", "--set", "X=1", "--set", "ECO_QQQQQQ=1"]
    ended = eco("run", "--dry-run", *words, "--", "mpirun", "-n", "2", "app")
    says = "is no option of ECO's and is ignored; `eco doctor` lists those there are"
    said = [f"eco: ECO_BUGDET {says}; did you mean ECO_BUDGET?", f"eco: ECO_QQQQQQ {says}"]
    assert (ended.returncode, ended.stderr.splitlines()) == (0, said)
    assert "--set ECO_BUGDET=1" in ended.stdout, "it may be the program's own"


@pytest.mark.parametrize("dashes", [["--"], []])
def test_the_launchers_own_options_are_not_ours(fakes: Any, eco: Any, dashes: list[str]) -> None:
    ended = eco("run", "--dry-run", *dashes, "mpirun", "-n", "2", "app", "--", "--report", "r")
    assert ended.stdout == f"mpirun -n 2 {fakes.native}/eco-exec app -- --report r\n"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["./app"], 2, "not a launcher"),
        (["mpirun", "-n", "2"], 2, "no program"),
        (["mpirun", "--new-option", "2", "./app"], 1, "eco-exec before the program yourself"),
        (["mpiexec.missing", "./app"], 2, "no such launcher"),
    ],
)
def test_lines_that_are_not_understood(fakes: Any, eco: Any, words: list[str], code: int, said: str) -> None:
    ended = eco("run", "--", *words)
    assert ended.returncode == code
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr
    assert ended.stderr.count("\n") == 1


def test_wrong_options(fakes: Any, eco: Any) -> None:
    words = ["mpirun", "-n", "2", "./app"]
    with pytest.raises(InvalidArgument, match="never or auto"):
        prepare(words, RunOptions(measure="sometimes"))
    with pytest.raises(InvalidArgument, match="budget"):
        prepare(words, RunOptions(budget_s=-1))
    with pytest.raises(InvalidArgument, match="--transport pigeon: expected auto, mpi, tcp or ucx"):
        prepare(words, RunOptions(transport="pigeon"))
    with pytest.raises(InvalidArgument, match="NAME=VALUE"):
        parse_settings(["A"])
    assert parse_settings(["A=b=c"]) == {"A": "b=c"}
    ended = eco("run", "--off", "--observe", "--", *words)
    assert ended.returncode == 2
    (fakes.native / "eco-exec").unlink()
    with pytest.raises(Unsupported, match="eco-exec"):
        prepare(words, RunOptions())
