"""`eco trace` on what eco-rank wrote: joining it with the prediction, the charts, and what is refused."""

from __future__ import annotations

import contextlib
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from eco import _core
from eco.cli import trace as trace_command
from eco.cli.main import app
from eco.errors import CorruptFile, EcoError, InvalidArgument
from eco.report import trace_bars, trace_view
from eco.trace import Operation, RankSteps, TracedRun, read_trace

NETWORK = "hosts=2+2 rate_mbit=191 uplink_mbit=20 latency_us=60 between_us=200 overhead_us=15"
RECIPE = "allreduce/subnets segment=4096 head=0 window=0 between=flat inside=chain"
HOSTS = [0, 2, 1, 3]


def as_traced(network: str, slower: float = 1.0) -> dict[str, Any]:
    """What eco-rank would write of ranks that do as predicted, only more slowly, and rank 2 yet 5 ms later."""
    predicted = json.loads(_core.timeline(network, HOSTS, RECIPE, "allreduce", 16384, 0))
    ranks = []
    for number, rank in enumerate(predicted["ranks"]):
        late_ns = 5_000_000 if number == 2 else 0
        operations = [
            [kind, peer, channel, size, round(start * slower * 1e9), round(end * slower * 1e9) + late_ns]
            for kind, peer, channel, size, start, end in rank["operations"]
        ]
        end_ns = max(operation[5] for operation in operations)
        ranks.append({"end_ns": end_ns, "waited_ns": end_ns // 4, "operations": operations})
    return {
        "schema": "eco.rank.trace",
        "version": 1,
        "collective": "allreduce",
        "bytes": 16384,
        "root": 0,
        "recipe": RECIPE,
        "library": "Open MPI 5.0.11",
        "one_clock": True,
        "host_of_rank": HOSTS,
        "seconds": [0.03, 0.02, 0.05],
        "median_s": 0.03,
        "ranks": ranks,
    }


@pytest.fixture
def network() -> str:
    return _core.synthetic_network(NETWORK)


def read(tmp_path: Path, network: str, record: dict[str, Any]) -> TracedRun:
    file = tmp_path / "trace.json"
    file.write_text(json.dumps(record))
    return read_trace(file, network, "as launched")


def test_a_trace_is_joined_with_the_prediction_of_the_same_schedules(tmp_path: Path, network: str) -> None:
    run = read(tmp_path, network, as_traced(network))
    assert run.predicted_s == _core.predict(network, HOSTS, RECIPE, "allreduce", 16384, 0)
    assert (run.traced_s, run.seconds) == (0.03, (0.03, 0.02, 0.05))
    for predicted, traced in zip(run.predicted, run.traced, strict=True):
        assert [step.kind for step in predicted.operations] == [step.kind for step in traced.operations]
        assert traced.busy_s == pytest.approx(0.75 * traced.end_s, rel=1e-6)
        assert predicted.busy_s + predicted.waiting_s == pytest.approx(predicted.end_s)
    # As the schedules say: every rank combines, and what one rank sends another receives.
    kinds = Counter(step.kind for rank in run.traced for step in rank.operations)
    assert kinds["send"] == kinds["recv"] > 0
    assert kinds["reduce"] > 0
    worst = run.differences()[0]
    assert worst.rank == 2
    assert worst.later_s == pytest.approx(0.005, abs=1e-4)


def test_another_schedule_or_version_is_refused(tmp_path: Path, network: str) -> None:
    record = as_traced(network)
    record["ranks"][1]["operations"].pop()
    with pytest.raises(CorruptFile, match="rank 1 ran another schedule"):
        read(tmp_path, network, record)
    with pytest.raises(CorruptFile, match="of another version"):
        read(tmp_path, network, {key: value for key, value in as_traced(network).items() if key != "seconds"})
    with pytest.raises(CorruptFile):
        read(tmp_path, network, {**as_traced(network), "version": 2})


def test_both_charts_show_every_operation_on_one_time_axis(tmp_path: Path, network: str) -> None:
    run = read(tmp_path, network, as_traced(network, slower=1.5))
    page = trace_view.figure(run)
    bars = {"y": [], "y2": []}  # type: dict[str, list[Any]]
    for trace in page.data:
        if trace.type == "bar":
            bars[trace.yaxis] += zip(trace.y, trace.base, trace.x, trace.hovertext, strict=True)
    n_operations = sum(len(rank.operations) for rank in run.traced)
    assert [len(drawn) for drawn in bars.values()] == [n_operations, n_operations]
    lanes = list(page.layout.yaxis.categoryarray)
    assert lanes == list(page.layout.yaxis2.categoryarray)
    assert {bar[0] for bar in bars["y"]} == set(lanes)
    assert "3 combines" in lanes
    # Aligned at the start, and as long as the longer of the two.
    assert page.layout.xaxis.range == page.layout.xaxis2.range
    assert page.layout.xaxis.range[0] == 0
    assert page.layout.xaxis.range[1] >= 1e3 * max(run.predicted_s, run.traced_s)
    assert page.layout.xaxis2.matches == "x"
    for _, base, length, _ in bars["y2"]:
        assert base >= 0
        assert length >= 0
    first = run.traced[0].operations[0]
    words = next(bar[3] for bar in bars["y2"] if "rank 0" in bar[3] and "(operation 0)" in bar[3])
    assert f"{first.end_s * 1e3:.3f} ms" in words
    assert "in the other chart" in words
    # One entry of the legend for each sender, not one for each chart.
    named = Counter(trace.name for trace in page.data if trace.type == "bar" and trace.showlegend)
    assert set(named.values()) == {1}
    table = next(trace for trace in page.data if trace.type == "table")
    assert list(table.cells.values[0]) == [row[0] for row in trace_view.rows(run)]
    assert table.cells.values[0][0] == "2"
    trace_view.write(run, tmp_path / "trace.html")
    assert "middle one of 3 runs" in (tmp_path / "trace.html").read_text()
    with pytest.raises(InvalidArgument, match=r"written as \.html or \.svg"):
        trace_view.write(run, tmp_path / "trace.pdf")
    trace_view.write(run, tmp_path / "trace.svg")
    drawing = ElementTree.parse(tmp_path / "trace.svg").getroot()
    hovers = [title.text or "" for title in drawing.iter("{http://www.w3.org/2000/svg}title")]
    assert len(hovers) == 2 * n_operations
    assert sum(f"{first.end_s * 1e3:.3f} ms" in hover for hover in hovers if "rank 0" in hover) >= 2


def test_messages_behind_others_of_their_channel_begin_when_those_are_done() -> None:
    steps = RankSteps(
        (
            Operation("recv", 1, 0, 8, 0.0, 1.0),
            Operation("recv", 1, 0, 8, 0.0, 3.0),
            Operation("recv", 1, 1, 8, 0.0, 2.0),  # another channel
            Operation("reduce", -1, 0, 8, 3.0, 4.0),
        ),
        4.0,
        1.0,
    )
    assert [begin for _, begin in trace_bars.bars(steps)] == [0.0, 1.0, 0.0, 3.0]


def test_ranks_that_do_nothing_are_drawn_too(tmp_path: Path, network: str) -> None:
    idle = RankSteps((), 0.0, 0.0)
    run = TracedRun(
        "barrier", 0, 0, "barrier/flat", "MPICH", "block", False, (0.0,), 0.0, 0.0, (idle,), (idle,)
    )
    page = trace_view.figure(run)
    assert not [trace for trace in page.data if trace.type == "bar"]
    assert "not aligned" in page.layout.title.text
    assert page.layout.xaxis.range[1] > 0
    trace_view.write(run, tmp_path / "trace.html")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "give either --lab"),
        (["--lab", "tiny", "--", "mpirun", "-n", "2"], "give either --lab"),
        (["--lab", "tiny", "--op", "bcast"], "'bcast' is none of"),
        (["--lab", "tiny", "--size", "much"], "expected a number"),
        (["--lab", "tiny", "--picture", "trace.png"], r"written as \.html"),
        (["--lab", "nowhere"], "nowhere"),
        (
            ["--lab", "tiny", "--recipe", "allreduce/ring"],
            "is no broadcast; its algorithms are .*broadcast/chain",
        ),
        (["--lab", "tiny", "--recipe", "broadcast/chain segment"], "segment"),
    ],
)
def test_bad_questions_are_refused(words: list[str], says: str) -> None:
    result = CliRunner().invoke(app, ["trace", *words])
    assert isinstance(result.exception, EcoError), result.output
    assert re.search(says, str(result.exception))


@pytest.mark.parametrize(("words", "remembered"), [([], "used"), (["--plogp"], "left")])
def test_without_a_file_the_remembered_network_is_taken_but_for_plogp(
    tmp_path: Path, network: str, monkeypatch: pytest.MonkeyPatch, words: list[str], remembered: str
) -> None:
    run = read(tmp_path, network, as_traced(network))
    asked: list[Any] = []

    def characterize_place(*given: Any) -> dict[str, Any]:
        asked.append(given[-1])
        return json.loads(network)  # type: ignore[no-any-return]

    monkeypatch.setattr(trace_command, "place_of", lambda *_: contextlib.nullcontext())
    monkeypatch.setattr(trace_command, "characterize_place", characterize_place)
    monkeypatch.setattr(trace_command, "trace_place", lambda *_: run)
    done = CliRunner().invoke(app, ["trace", *words])
    assert done.exit_code == 0, done.output
    assert asked == [remembered]
    assert "4 hosts in 2 subnets (2+2)" in done.output


def test_a_page_is_written_where_it_is_asked_for(
    tmp_path: Path, network: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = read(tmp_path, network, as_traced(network))
    file, work = tmp_path / "network.json", tmp_path / "work"
    file.write_text(network)
    work.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setattr(trace_command, "place_of", lambda *_: contextlib.nullcontext())
    monkeypatch.setattr(trace_command, "trace_place", lambda *_: run)
    words = ["trace", "--network", str(file)]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert "--picture trace.html draws every operation" in done.output
    assert list(work.iterdir()) == []
    done = CliRunner().invoke(app, [*words, "--picture", "page.svg"])
    assert "written: page.svg" in done.output
    assert [path.name for path in work.iterdir()] == ["page.svg"]
