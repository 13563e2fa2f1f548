"""`eco explain` on synthetic networks: no ranks, no launcher."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from eco import _core
from eco.cli import explain as command
from eco.cli.main import app
from eco.collectives import COLLECTIVES
from eco.errors import CorruptFile, EcoError, InvalidArgument
from eco.lab import load
from eco.lab.placement import place as in_lab

THREE_SUBNETS = "hosts=3+3+2 rate_mbit=191 uplink_mbit=38.2 latency_us=60 between_us=200 overhead_us=15"


@pytest.fixture
def network(tmp_path: Path) -> Path:
    path = tmp_path / "network.json"
    path.write_text(_core.synthetic_network(THREE_SUBNETS), encoding="utf-8")
    return path


def test_candidates_are_cheapest_first_and_their_terms_add_up(network: Path) -> None:
    group = command.make_group(network, "block", None)
    found = command.candidates(group, "broadcast", 16384, 0)
    assert len(found) > 10
    seconds = [candidate.predicted_s for candidate in found if candidate.predicted_s is not None]
    assert seconds == sorted(seconds)
    best = found[0]
    assert best.predicted_s == pytest.approx(
        best.transfer_s + best.latency_s + best.overhead_s + best.combine_s, rel=1e-6
    )
    assert best.busiest == "uplink 0 out"
    hosts = list(group.host_of_rank)
    again = _core.predict(group.network, hosts, best.recipe, "broadcast", 16384, 0)
    assert again == pytest.approx(best.predicted_s)


def test_a_plan_of_another_network_or_placement_is_told(network: Path) -> None:
    group = command.make_group(network, "block", None)
    own = {"network": _core.network_fingerprint(group.network), "host_of_rank": list(group.host_of_rank)}
    for plan, said in (
        (own, ""),
        ({**own, "network": ""}, ""),
        ({**own, "network": "0123456789abcdef"}, "note: p.json is of another network"),
        ({**own, "host_of_rank": own["host_of_rank"][::-1]}, "note: p.json is of another placement"),
    ):
        told = command.note_of_another(Path("p.json"), json.dumps(plan), group)
        assert told.startswith(said) if said else told == ""


@pytest.mark.parametrize("placement", ["block", "shuffled:3", "round-robin"])
def test_fewer_ranks_than_hosts_are_where_the_lab_has_them(placement: str) -> None:
    description = load("one-switch")
    hosts = list(description.hosts)
    in_the_lab = [hosts.index(host) for host in in_lab(description, placement, 3)]
    assert list(command.place(placement, len(hosts), 3)) == in_the_lab


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_every_operation_is_explained(network: Path, collective: str) -> None:
    group = command.make_group(network, "round-robin", 8)
    text = command.explanation(group, collective, 16384, 5, {})
    assert "cheapest; busiest" in text
    assert "a guess at the native collective" in text
    assert ("rank 5 over" in text) == (collective in ("broadcast", "reduce", "scatter", "gather"))


def test_one_rank_has_nothing_to_explain(network: Path, tmp_path: Path) -> None:
    alone = tmp_path / "alone.json"
    alone.write_text(_core.synthetic_network(THREE_SUBNETS.replace("3+3+2", "1")), encoding="utf-8")
    with pytest.raises(InvalidArgument, match=r"alone.json has one host.*try --ranks 8"):
        command.make_group(alone, "block", None)
    with pytest.raises(InvalidArgument, match="has 8 hosts"):
        command.make_group(network, "3", None)
    assert command.make_group(alone, "0,0,0", None).host_of_rank == (0, 0, 0)
    assert command.make_group(alone, "block", 2).host_of_rank == (0, 0)


def test_placements() -> None:
    assert command.place("block", 3, 3) == (0, 1, 2)
    assert command.place("block", 2, 4) == (0, 0, 1, 1)
    assert command.place("round-robin", 2, 4) == (0, 1, 0, 1)
    shuffled = command.place("shuffled:1", 8, 8)
    assert sorted(shuffled) == list(range(8))
    assert shuffled != tuple(range(8))
    assert shuffled == command.place("shuffled:1", 8, 8)
    assert command.place("1,0,1", 2, 9) == (1, 0, 1)
    for bad in ("shuffled:x", "spread", "0,2", ""):
        with pytest.raises(InvalidArgument):
            command.place(bad, 2, 2)


def test_a_plan_is_shown_with_its_times(network: Path, tmp_path: Path) -> None:
    group = command.make_group(network, "block", None)
    plan = _core.estimate_plan(group.network, list(group.host_of_rank), [16384])
    folder = tmp_path / "cache"
    (folder / "plans").mkdir(parents=True)
    (folder / "plans" / "bad.json").write_text("{", encoding="utf-8")
    (folder / "plans" / "good.json").write_text(plan, encoding="utf-8")
    plans = command.remembered_plans(folder, group)
    assert list(plans.values()) == [plan]
    text = command.explanation(group, "broadcast", 16384, 0, plans)
    assert "the table says: broadcast/subnets" in text
    other = command.make_group(network, "shuffled:1", None)
    assert command.remembered_plans(folder, other) == {}


def test_the_command_prints_and_draws(network: Path, tmp_path: Path) -> None:
    dot = tmp_path / "tree.dot"
    arguments = ["explain", "--network", str(network), "--bytes", "16KiB", "--text", "--dot", str(dot)]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert "broadcast of 16 KiB from rank 0 over 8 ranks" in result.output
    assert "cheapest; busiest: uplink 0 out" in result.output
    assert "rank 7 of 8" in result.output
    assert dot.read_text(encoding="utf-8").startswith("digraph")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--collective", "bcast"], InvalidArgument),
        (["--root", "8"], InvalidArgument),
        (["--placement", "9,9"], InvalidArgument),
        (["--bytes", "much"], InvalidArgument),
        (["--dot", "tree.dot", "--recipe", "broadcast/none"], InvalidArgument),
        (["--recipe", "broadcast/chain"], InvalidArgument),
        (["--bytes", "8", "--dot", "/dev/null/tree.dot"], InvalidArgument),
    ],
)
def test_bad_questions_are_refused(network: Path, arguments: list[str], error: type[EcoError]) -> None:
    result = CliRunner().invoke(app, ["explain", "--network", str(network), *arguments])
    assert isinstance(result.exception, error), result.output
    assert str(result.exception)


def test_bad_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bad = tmp_path / "network.json"
    bad.write_text("{", encoding="utf-8")
    with pytest.raises(CorruptFile):
        command.make_group(bad, "block", None)
    with pytest.raises(CorruptFile):
        _core.check_plan("{}")
    monkeypatch.setenv("ECO_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("ECO_SITE_DIR", "none")
    with pytest.raises(EcoError, match="no network is remembered"):
        command.latest_network()
