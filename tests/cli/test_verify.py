"""`eco verify`: small scopes, and the whole one that CI proves."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from eco import _core
from eco.cli import verify as command
from eco.cli.main import app
from eco.errors import InvalidArgument


def invoke(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["verify", *words])
    return done.exit_code, done.output


def test_ranks_are_numbers_and_ranges() -> None:
    assert command.parse_ranks("1-3,16") == [1, 2, 3, 16]
    assert command.parse_ranks(" 5 , 2-2 ") == [2, 5]
    assert len(command.parse_ranks(command.ALL_RANKS)) == 20
    for bad in ("", "0", "3-1", "2-", "-3", "x", "1,,2", "2000"):
        with pytest.raises(InvalidArgument):
            command.parse_ranks(bad)


def test_a_small_scope_is_counted(tmp_path: Path) -> None:
    file = tmp_path / "proof.json"
    code, output = invoke("--op", "allreduce", "--ranks", "1,3-4", "--json", str(file))
    assert code == 0, output
    assert "0 faults" in output
    document = json.loads(file.read_text())
    assert (document["schema"], document["version"], document["complete"]) == ("eco.verify", 1, True)
    assert all(name.startswith("allreduce/") for name in document["algorithms"])
    total = document["total"]
    assert total["cases"] == sum(each["cases"] for each in document["algorithms"].values())
    assert total["in_place"] * 2 == total["cases"]
    assert 0 < total["distinct"] < total["cases"]
    assert total["ordered"] > 0


def test_late_ranks_are_played(tmp_path: Path) -> None:
    file = tmp_path / "proof.json"
    code, output = invoke("--op", "late", "--ranks", "2-3,9", "--json", str(file))
    assert code == 0, output
    document = json.loads(file.read_text())
    assert document["algorithms"] == {}
    assert sorted(document["late"]) == sorted(command.late_forms())
    assert {"broadcast/depth_first", "allreduce/mended", "scatter/mended"} < set(document["late"])
    for name, plays in document["late"].items():
        assert plays["faults"] == []
        if (
            name == "broadcast/mended"
        ):  # with nobody trusted, and with some, of whom larger groups have more choices
            assert plays["cases"] > 2 * document["late"]["broadcast/depth_first"]["cases"]
            continue
        # All orders of 2 and of 3 ranks, and random ones of each.
        assert plays["plays"] == plays["cases"] // 3 * (2 * 3 + 6 * 9 + 3 * command.RANDOM_PLAYS)
    broken = command.Outcome(1, 2, [2], 0.0, True, {}, {"reduce/mended": command.Plays(1, 1, ["x"])})
    assert broken.exit_code == 1


def test_the_seed_picks_the_parameters() -> None:
    tasks = _core.proof_tasks([6], [], "broadcast/subnets")
    assert [root for _, _, root in tasks] == list(range(6))
    first, _ = command.prove_all(tasks, 1, 1, 2, lambda _: None)
    again, _ = command.prove_all(tasks, 1, 1, 1, lambda _: None)
    assert first == again
    everything, complete = command.prove_all(tasks, 1, 0, 2, lambda _: None)
    assert complete
    assert everything["broadcast/subnets"].cases > 2 * first["broadcast/subnets"].cases


def test_what_nobody_tried_is_no_proof() -> None:
    count = command.Count(refused=9)
    assert command.Outcome(1, 2, [2], 0.0, True, {"a/b": count}).exit_code == 1
    assert command.Outcome(1, 2, [1], 0.0, True, {"a/b": count}).exit_code == 0
    assert command.Outcome(1, 2, [2], 0.0, True, {"a/b": command.Count(cases=1)}).exit_code == 0
    assert command.Outcome(1, 2, [2], 0.0, False, {"a/b": command.Count(cases=1)}).exit_code == 1
    assert command.Outcome(1, 2, [2], 0.0, True, {"a/b": command.Count(1, faults=["x"])}).exit_code == 1


def test_an_interrupt_keeps_what_was_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = _core.proof_tasks([2], [], "broadcast/chain")
    done: list[str] = []

    def step(text: str) -> None:
        done.append(text)
        raise KeyboardInterrupt

    counts, complete = command.prove_all(tasks, 1, 1, 1, step)
    assert not complete
    assert len(done) == 1
    assert counts["broadcast/chain"].cases > 0


@pytest.mark.parametrize("words", [("--op", "bcast"), ("--algorithm", "broadcast/none"), ("--ranks", "0"),
                                   ("--algorithm", "broadcast/chain", "--op", "scan")])  # fmt: skip
def test_what_does_not_exist_is_refused(words: tuple[str, ...]) -> None:
    done = CliRunner().invoke(app, ["verify", *words])
    assert isinstance(done.exception, InvalidArgument)


@pytest.mark.slow
def test_everything_is_proved_for_up_to_nine_ranks() -> None:
    code, output = invoke()
    assert code == 0, output
