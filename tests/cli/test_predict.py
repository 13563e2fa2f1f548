"""`eco predict` on synthetic networks: no ranks, no launcher."""

import io
import json
import signal
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from rich.console import Console
from typer.testing import CliRunner

from eco import _core
from eco.cli import explain
from eco.cli import predict as command
from eco.cli.main import app
from eco.errors import EcoError, InvalidArgument
from eco.report import decision_map, gantt
from eco.report.decision_map import Choice
from eco.report.gantt import Interval, Timeline

UNEQUAL = "hosts=3+3+2 rate_mbit=191 uplink_mbit=9.56+19.1+38.2 latency_us=60 between_us=200 overhead_us=15"


@pytest.fixture
def network(tmp_path: Path) -> Path:
    path = tmp_path / "network.json"
    path.write_text(_core.synthetic_network(UNEQUAL), encoding="utf-8")
    return path


@pytest.fixture
def group(network: Path) -> explain.Group:
    return explain.make_group(network, "block", None)


def test_a_recipe_has_the_same_prediction_alone_and_among_the_candidates(group: explain.Group) -> None:
    best = explain.candidates(group, "broadcast", 16384, 0)[0]
    alone = command.one_recipe(group, best.recipe, "broadcast", 16384, 0)
    assert alone.predicted_s == best.predicted_s
    assert alone.busiest == best.busiest
    with pytest.raises(InvalidArgument, match="does not join"):
        command.one_recipe(group, "broadcast/subnets tree=0,0,0", "broadcast", 16384, 0)
    with pytest.raises(InvalidArgument, match=r"is no broadcast; its algorithms are .*broadcast/chain"):
        command.one_recipe(group, "nonsense", "broadcast", 16384, 0)


def test_native_parts_are_guessed_and_drawn_as_guessed(group: explain.Group) -> None:
    native = "broadcast/levels segment=5728 parts=broadcast/chain,native"
    guess = native.replace("native", "broadcast/binomial")
    found = command.one_recipe(group, native, "broadcast", 100_000, 0)
    as_guessed = command.one_recipe(group, guess, "broadcast", 100_000, 0)
    assert found.guesses_native and not as_guessed.guesses_native
    assert found.predicted_s == as_guessed.predicted_s
    timeline = json.loads(
        _core.timeline(group.network, list(group.host_of_rank), native, "broadcast", 100_000, 0)
    )
    assert timeline["seconds"] == pytest.approx(found.predicted_s)


def test_pruning_keeps_the_best(group: explain.Group) -> None:
    every = explain.candidates(group, "allreduce", 16384, 0)
    pruned = explain.candidates(group, "allreduce", 16384, 0, prune=True)
    assert pruned[0].recipe == every[0].recipe
    assert any(candidate.given_up for candidate in pruned)
    assert not any(candidate.given_up for candidate in every)


def test_search_finds_what_is_no_candidate(group: explain.Group) -> None:
    fixed = explain.candidates(group, "allreduce", 16384, 0, prune=True)
    found = command.found_by_search(group, "allreduce", 16384, 0, 100)
    assert found == command.found_by_search(group, "allreduce", 16384, 0, 100)
    assert found[0].predicted_s is not None and fixed[0].predicted_s is not None
    assert found[0].predicted_s < 0.9 * fixed[0].predicted_s
    assert found[0].recipe not in [candidate.recipe for candidate in fixed]


def test_a_timeline_ends_when_the_prediction_does(group: explain.Group) -> None:
    recipe = "broadcast/subnets segment=2832 between=chain inside=chain"
    timeline = command.predicted_timeline(group, recipe, "broadcast", 16384, 0)
    predicted = command.one_recipe(group, recipe, "broadcast", 16384, 0).predicted_s
    assert timeline.seconds == predicted
    assert max(interval.end_s for interval in timeline.intervals) < timeline.seconds
    used = [timeline.resources[resource] for resource in timeline.used()]
    assert "uplink 0 out" in used
    assert "uplink 0 in" not in used
    # Each of seven ranks gets every byte once, through its own port.
    into_ports = [i for i in timeline.intervals if timeline.resources[i.resource].startswith("host ")
                  and timeline.resources[i.resource].endswith(" in")]  # fmt: skip
    assert sum(interval.bytes for interval in into_ports) == 7 * 16384
    with pytest.raises(InvalidArgument, match="too much to draw"):
        command.predicted_timeline(group, "broadcast/flat segment=1392", "broadcast", 64 << 20, 0)


def test_charts_are_drawn(tmp_path: Path) -> None:
    timeline = Timeline(
        "a < b",
        0.002,
        ("host 0 out", "never used", "host 1 in"),
        (Interval(0, 0, 1, 1000, 0.0, 0.001), Interval(2, 0, 1, 1000, 0.0005, 0.0015)),
    )
    picture = tmp_path / "chart.svg"
    gantt.write(timeline, picture)
    root = ElementTree.parse(picture).getroot()
    name = "{http://www.w3.org/2000/svg}"
    bars = [bar for bar in root.iter(f"{name}rect") if bar.get("stroke")]
    assert len(bars) == 2
    # The second begins a quarter of the way to the end, and is as long as the first.
    assert float(bars[1].get("x", "")) == pytest.approx(float(bars[0].get("x", "")) + 760 / 4)
    assert bars[0].get("width") == bars[1].get("width")
    texts = [text.text for text in root.iter(f"{name}text")]
    assert "host 1 in" in texts
    assert "never used" not in texts
    page = tmp_path / "chart.html"
    gantt.write(timeline, page)
    assert "host 1 in" in page.read_text(encoding="utf-8")
    with pytest.raises(InvalidArgument, match=r"\.html or \.svg"):
        gantt.write(timeline, tmp_path / "chart.png")


def test_a_map_shows_every_cell(tmp_path: Path) -> None:
    cells = [
        Choice(8, 2, "broadcast/flat segment=0", 1e-4),
        Choice(1024, 4, "broadcast/chain segment=0", 2e-4),
    ]
    chart = decision_map.figure(cells, "broadcast")
    assert [list(row) for row in chart.data[0].z] == [[0, None], [None, 1]]
    assert list(chart.data[0].colorbar.ticktext) == ["broadcast/flat", "broadcast/chain"]
    assert [list(row) for row in chart.data[0].text] == [["flat<br>100 us", None], [None, "chain<br>200 us"]]
    assert list(chart.data[0].x) == ["8 B", "1 KiB"]
    assert list(chart.data[0].y) == ["2", "4"]
    colours = [colour for _, colour in chart.data[0].colorscale]
    assert len(set(colours)) == 2
    with pytest.raises(InvalidArgument):
        decision_map.write(cells, "broadcast", tmp_path / "map.svg")


def test_a_map_of_many_algorithms_has_a_colour_for_each() -> None:
    cells = [Choice(8, ranks, f"allgather/number{ranks} segment=0", 1e-4) for ranks in range(2, 26)]
    chart = decision_map.figure(cells, "allgather")
    assert len({colour for _, colour in chart.data[0].colorscale}) == len(cells)


def test_a_map_without_cells_says_so(tmp_path: Path) -> None:
    decision_map.write([], "broadcast", tmp_path / "map.html")
    assert "no algorithm serves" in (tmp_path / "map.html").read_text(encoding="utf-8")


def test_choices_go_up_to_all_ranks(group: explain.Group) -> None:
    assert command.counts_of_ranks(2) == [2]
    assert command.counts_of_ranks(8) == [2, 4, 8]
    assert command.counts_of_ranks(9) == [2, 4, 8, 9]
    found = command.choices(group, "broadcast", 5, (8, 16384))
    assert [(choice.ranks, choice.bytes) for choice in found] == [
        (ranks, size) for ranks in (2, 4, 8) for size in (8, 16384)
    ]
    barriers = command.choices(group, "barrier", 0)
    assert [(choice.ranks, choice.bytes) for choice in barriers] == [(2, 0), (4, 0), (8, 0)]
    assert list(decision_map.figure(barriers, "barrier").data[0].x) == ["nothing"]
    best = explain.candidates(group, "broadcast", 16384, 5, prune=True)[0]
    assert (found[-1].recipe, found[-1].seconds) == (best.recipe, best.predicted_s)


def test_the_command_prints_and_writes(network: Path, tmp_path: Path) -> None:
    file, chart, page = tmp_path / "p.json", tmp_path / "p.svg", tmp_path / "map.html"
    arguments = ["predict", "--network", str(network), "--op", "broadcast", "--size", "16KiB", "--top", "3"]
    result = CliRunner().invoke(
        app, [*arguments, "--json", str(file), "--gantt", str(chart), "--map", str(page)]
    )
    assert result.exit_code == 0, result.output
    assert "slower ones not shown" in result.output
    document = json.loads(file.read_text(encoding="utf-8"))
    assert (document["schema"], document["bytes"]) == ("eco.predict", 16384)
    seconds = [candidate["predicted_s"] for candidate in document["candidates"]]
    assert len(seconds) > 3 and seconds == sorted(seconds)
    assert chart.read_text(encoding="utf-8").startswith("<svg")
    assert "broadcast, block: cheapest predicted" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("width", [80, 200])
def test_recipes_are_whole_on_any_terminal(group: explain.Group, width: int) -> None:
    found = explain.candidates(group, "reduce_scatter", 16384, 0)[:3]
    console = Console(width=width, file=io.StringIO())
    console.print(command.table(found, "reduce_scatter", width))
    assert isinstance(console.file, io.StringIO)
    printed = " ".join(console.file.getvalue().split())
    for candidate in found:
        assert candidate.recipe.split()[0] in printed
        assert candidate.recipe.split()[-1] in printed


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--op", "bcast"], InvalidArgument),
        (["--size", "much"], InvalidArgument),
        (["--root", "8"], InvalidArgument),
        (["--recipe", "broadcast/none"], InvalidArgument),
        (["--recipe", "allreduce/ring"], InvalidArgument),
        (["--gantt", "chart.png", "--size", "8"], InvalidArgument),
        (["--ranks", "1"], InvalidArgument),
        (["--size", "0"], InvalidArgument),
    ],
)
def test_bad_questions_are_refused(network: Path, arguments: list[str], error: type[EcoError]) -> None:
    result = CliRunner().invoke(app, ["predict", "--network", str(network), *arguments])
    assert isinstance(result.exception, error), result.output
    assert str(result.exception)


def test_an_interrupt_ends_what_computes_for_long(network: Path) -> None:
    words = [
        "predict",
        "--network",
        str(network),
        "--op",
        "allreduce",
        "--size",
        "64MiB",
        "--search",
        "10000000",
    ]
    code = (
        "import signal; from eco.cli import main, predict; from eco import _core; search = _core.search\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "_core.search = lambda *a: (print('begun', flush=True), search(*a))[1]\n"
        "main.main()"
    )
    with subprocess.Popen([sys.executable, "-c", code, *words], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == b"begun\n"
        try:
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=300) == 128 + signal.SIGINT
        finally:
            process.kill()


@pytest.mark.parametrize(("option", "name"), [("--gantt", "chart.pdf"), ("--map", "map.svg")])
def test_a_picture_of_another_kind_is_refused_before_the_work(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, option: str, name: str
) -> None:
    def never(*_: object) -> None:
        raise AssertionError("predicted for a picture that nobody can draw")

    monkeypatch.setattr("eco.cli.predict.make_group", never)
    done = CliRunner().invoke(app, ["predict", option, str(tmp_path / name)])
    assert isinstance(done.exception, InvalidArgument), done.output
    assert "is written as .html" in str(done.exception)
