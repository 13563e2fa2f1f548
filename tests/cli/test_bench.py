"""eco bench and eco characterize with a launcher and an eco-rank that are scripts."""

from __future__ import annotations

import io
import json
import time
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from eco import bench, jobs, launch, pairs, paths
from eco.bench import bench_launcher
from eco.characterize import describe
from eco.cli.bench import finish
from eco.cli.characterize import characterize_words
from eco.cli.compare import Comparison
from eco.cli.guidelines import guidelines
from eco.errors import EcoError, InvalidArgument, Timeout, Unsupported
from eco.lab.bounds import Bound
from eco.pairs import BenchOptions
from eco.report.records import Record, Results


def quiet() -> Console:
    return Console(file=io.StringIO(), width=150)


def options(**changes: object) -> BenchOptions:
    return BenchOptions(["broadcast", "allreduce"], [8, 1 << 20], **changes)  # type: ignore[arg-type]


def test_the_whole_command(fakes: Any, eco: Any) -> None:
    grid = ["--ops", "broadcast,allreduce", "--sizes", "8,1MiB", "--launches", "3"]
    ended = eco("bench", *grid, "--json", "r.json", "--picture", "r.html", "--", "mpirun", "-n", "8")
    assert ended.returncode == 0, ended.stderr
    document = json.loads(Path("r.json").read_text())
    assert (document["schema"], document["version"]) == ("eco.bench", 1)
    assert [list(record) for record in document["records"]] == [list(Record.__dataclass_fields__)] * 4
    record = document["records"][1]
    assert (record["collective"], record["bytes"], record["ranks"]) == ("broadcast", 1 << 20, 8)
    assert record["stock_median_s"] / record["eco_median_s"] == pytest.approx(4.0)
    assert record["bound_s"] is None
    assert record["launches"] == 3
    assert record["algorithm"] == "broadcast/subnets"
    assert len(document["samples"]) == 2 * 3 * 4
    assert document["libraries"] == {"openmpi": "Open MPI 5.0.11"}
    assert document["machine"]["cores"] >= 1
    assert len(document["tuning"]) == 1
    assert document["complete"] is True
    assert document["suspect_samples"] == []
    assert {sample["late"] for sample in document["samples"]} == {1}
    assert [(one["launch"], one["mode"]) for one in document["launches"]][:3] == [
        (0, "stock"),
        (0, "eco"),
        (1, "eco"),
    ]
    assert document["launches"][0]["relay_late_us"] is None  # no emulated network
    assert "won 4, lost 0, equal 0" in ended.stdout
    assert "took" in ended.stdout  # what tuning cost
    assert "broadcast 1 MiB" in Path("r.html").read_text()
    assert sorted(p.name for p in Path().iterdir()) == ["r.html", "r.json"]


def test_files_do_not_tell_where_the_checkout_lies(fakes: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "without_checkout", lambda word: word.removeprefix(f"{fakes.bin}/"))
    words = [f"{fakes.bin}/mpirun", "-n", "8"]
    outcome = bench_launcher(words, None, options(launches=1, tune=False), False, quiet())
    assert outcome.results.provenance["command"] == ["mpirun", "-n", "8"]
    compared = Comparison((*words, "./app"), (), 0.0)
    assert compared.to_dict()["command"] == ["mpirun", "-n", "8", "./app"]


def test_launches_alternate_and_tuning_comes_first(fakes: Any) -> None:
    outcome = bench_launcher(["mpirun", "-n", "8"], None, options(launches=4), False, quiet())
    told = [(one["words"][0], one["ECO"]) for one in fakes.told()]  # type: ignore[index]
    assert told[:2] == [("tune", "off")] * 2, "the network, then the plan"
    assert [mode for _, mode in told[2:]] == ["off", "on", "on", "off", "off", "on", "on", "off"]
    orders = {(sample.launch, sample.mode): sample.order for sample in outcome.results.samples}
    assert [orders[1, "eco"], orders[1, "stock"]] == [2, 3]
    assert not any("tune" in one["words"] for one in run_without_tuning(fakes))  # type: ignore[operator]


def run_without_tuning(fakes: Any) -> list[dict[str, object]]:
    fakes.log.unlink()
    bench_launcher(["mpirun"], None, options(launches=1, tune=False), False, quiet())
    return fakes.told()


def test_wrong_results_are_an_error(fakes: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_RANK", "wrong")
    with pytest.raises(EcoError, match="wrong results of broadcast 8 B"):
        bench_launcher(["mpirun"], None, options(tune=False), False, quiet())


def test_a_launch_without_the_preload_is_no_eco_launch(fakes: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_RANK", "naked")
    with pytest.raises(EcoError, match="preload was not there"):
        bench_launcher(["mpirun"], None, options(tune=False), False, quiet())


def test_a_time_below_the_bound_fails_the_run(fakes: Any) -> None:
    place = jobs.LauncherPlace(launch.parse_prefix(["mpirun"]))

    def bounds(collective: str, size: int) -> Bound | None:
        if collective == "allreduce":
            return None
        return Bound(0.0013 if size == 8 else 0.001008, "uplink a", "")

    run = bench.Bench(options(tune=False), False, quiet())
    run.measure(place, bounds)
    outcome = run.outcome()
    assert outcome.exit_code == 1
    assert len(outcome.violations) == 1
    assert outcome.violations[0].startswith("broadcast 8 B")
    assert "ECO took 1 ms, the bound is 1.3 ms" in outcome.violations[0]
    assert [record.bound_s for record in outcome.results.records] == [0.0013, 0.001008, None, None]
    console = quiet()
    assert finish(outcome, None, None, console) == 1
    assert "below the bound" in console.file.getvalue()  # type: ignore[attr-defined]


def test_suspects_are_started_again(fakes: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_ECO_S", "0.0044")
    one = BenchOptions(["broadcast"], [8], launches=6, tune=False)
    outcome = bench_launcher(["mpirun"], None, one, True, quiet())
    assert outcome.exit_code == 1
    assert len(outcome.slower) == 1
    assert "12 fresh launches" in outcome.slower[0]
    assert outcome.results.records[0].launches == 12
    assert len(outcome.results.samples) == 24
    assert len(outcome.results.suspect_samples) == 12  # what made it a suspect is kept
    outcome.results.write(Path("r.json"))
    assert len(Results.read(Path("r.json")).suspect_samples) == 12
    assert (
        len([launched for launched in outcome.results.provenance["launches"] if "of_suspects" in launched])
        == 24
    )


def test_few_launches_make_no_suspects(fakes: Any, eco: Any) -> None:
    ended = eco(
        "bench", "--suspects", "--launches", "5", "--ops", "broadcast", "--sizes", "8", "--", "mpirun"
    )
    assert ended.returncode == 2
    assert "fewer than 6 pairs" in ended.stderr
    assert fakes.told() == []


def test_a_suspect_below_the_bound_is_not_forgotten(fakes: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_ECO_S", "0.0044")
    place = jobs.LauncherPlace(launch.parse_prefix(["mpirun"]))
    run = bench.Bench(BenchOptions(["broadcast"], [8], launches=6, tune=False), True, quiet())
    asked: list[str] = []

    def bounds(collective: str, size: int) -> Bound:
        asked.append(collective)
        return Bound(
            0.0045 if len(asked) <= 2 else 0.001, "uplink a", ""
        )  # broken in the first launches only

    run.measure(place, bounds)
    assert len(run.violations) == 2  # stock and ECO of the first launches
    assert run.records[0].launches == 12


def test_an_error_in_the_middle_keeps_what_was_measured(
    fakes: Any, eco: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_RANK", "dies later")  # one tuning and two pairs of launches go well
    words = ["--ops", "broadcast", "--sizes", "8", "--launches", "6", "--json", "r.json", "--", "mpirun"]
    ended = eco("bench", *words)
    assert ended.returncode == 1
    assert "not everything was measured" in ended.stdout
    assert "host b vanished" in ended.stdout
    document = json.loads(Path("r.json").read_text())
    assert document["complete"] is False
    assert [record["launches"] for record in document["records"]] == [2]
    assert len(document["samples"]) == 4


def test_an_interrupt_keeps_what_was_measured(fakes: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    one_launch, seen = pairs.one_launch, [0]

    def interrupted(*words: Any) -> Any:
        seen[0] += 1
        if seen[0] == 4:
            raise KeyboardInterrupt
        return one_launch(*words)

    monkeypatch.setattr(pairs, "one_launch", interrupted)
    outcome = bench_launcher(["mpirun"], None, options(tune=False), False, quiet())
    assert (outcome.exit_code, outcome.ended_early) == (1, "interrupted")
    assert not outcome.results.complete
    assert {record.launches for record in outcome.results.records} == {1}


@pytest.mark.parametrize(
    ("after", "said"), [(1, "nothing was measured to the end"), (4, "not everything was measured")]
)
def test_guidelines_that_were_interrupted_do_not_hold(
    fakes: Any, monkeypatch: pytest.MonkeyPatch, after: int, said: str
) -> None:
    one_launch, seen = pairs.one_launch, [0]

    def interrupted(*words: Any) -> Any:
        seen[0] += 1
        if seen[0] == after:
            raise KeyboardInterrupt
        return one_launch(*words)

    monkeypatch.setattr(pairs, "one_launch", interrupted)
    with pytest.raises(EcoError, match=f"{said}: interrupted"):
        guidelines(["mpirun"], ops="broadcast", sizes="8")


@pytest.mark.parametrize(
    ("mode", "tune", "said"),
    [
        ("refuses", True, "ranks run different versions of ECO"),
        ("fails", True, "no space in the cache"),
        ("unarmed", False, "ranks have different ECO_ options"),
    ],
)
def test_without_eco_there_is_nothing_to_compare(
    fakes: Any, eco: Any, monkeypatch: pytest.MonkeyPatch, mode: str, tune: bool, said: str
) -> None:
    monkeypatch.setenv("FAKE_RANK", mode)
    words = ["--ops", "broadcast", "--sizes", "8", "--json", "r.json", *([] if tune else ["--no-tune"])]
    ended = eco("bench", *words, "--", "mpirun")
    assert ended.returncode == 1
    assert said in ended.stderr
    assert not Path("r.json").exists()


def test_a_library_that_is_as_good_everywhere_is_compared(
    fakes: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_RANK", "useless")
    assert bench_launcher(["mpirun"], None, options(launches=1), False, quiet()).exit_code == 0


def test_lateness_is_that_of_the_launch() -> None:
    before = {"delivered": 100, "late_us": {"average": 4.0, "max": 50.0, "over_1ms": 1}}
    after = {"delivered": 300, "late_us": {"average": 8.0, "max": 50.0, "over_1ms": 3}}
    assert pairs.lateness_us(before, after) == {"average": pytest.approx(10.0), "over_1ms": 2, "packets": 200}
    assert pairs.lateness_us(None, after) is None


def test_bench_arguments(fakes: Any, eco: Any) -> None:
    assert eco("bench").returncode == 2
    assert "brings its own" in eco("bench", "--", "mpirun", "-n", "8", "./app").stderr
    assert "bcast" in eco("bench", "--ops", "bcast", "--", "mpirun").stderr
    with pytest.raises(InvalidArgument):
        options(launches=0)
    (fakes.native / "eco-rank-openmpi").unlink()
    with pytest.raises(Unsupported, match="eco-rank-openmpi"):
        bench_launcher(["mpirun"], None, options(tune=False), False, quiet())


def test_a_launch_that_does_not_end(fakes: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_RANK", "hangs")
    began = time.monotonic()
    with pytest.raises(Timeout, match=r"no end after 0\.5 s"):
        bench_launcher(["mpirun"], None, options(tune=False, timeout_s=0.5), False, quiet())
    assert time.monotonic() - began < 300  # half of what it would sleep


def test_characterize_writes_and_describes(fakes: Any) -> None:
    out = Path("network.json")
    network, kept = characterize_words(["mpirun", "-n", "3"], out, None, 2.0, 60, quiet())
    assert kept == "remembered"
    assert describe(network) == "3 hosts in 2 subnets (2+1)"
    assert json.loads(out.read_text()) == network
    assert list(Path().iterdir()) == [out]
    told = fakes.told()[0]
    assert told["ECO"] == "off"
    assert told["words"][-3:] == ["--progress", "--budget", "2"]  # type: ignore[index]


def test_characterize_says_where_nothing_is_remembered(
    fakes: Any, monkeypatch: pytest.MonkeyPatch, eco: Any
) -> None:
    monkeypatch.setenv("FAKE_RANK", "forgets")
    ended = eco("characterize", "--", "mpirun", "-n", "3")
    assert (ended.returncode, "not remembered: no space" in ended.stdout + ended.stderr) == (0, True)


def test_characterize_says_which_plans_serve_no_longer(
    fakes: Any, monkeypatch: pytest.MonkeyPatch, eco: Any
) -> None:
    monkeypatch.setenv("FAKE_RANK", "outdates")
    ended = eco("characterize", "--", "mpirun", "-n", "3")
    assert "remembered; 2 plans serve no longer" in " ".join((ended.stdout + ended.stderr).split())


def test_characterize_asks_for_plogp(fakes: Any) -> None:
    characterize_words(["mpirun", "-n", "3"], None, None, 2.0, 60, quiet(), plogp=True)
    assert fakes.told()[0]["words"][-5:] == ["--progress", "--budget", "2", "--plogp", "--rail-plogp"]


@pytest.mark.parametrize("what", ["dies", "truncates", "hangs"])
def test_a_failed_characterization_changes_nothing(
    fakes: Any, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    monkeypatch.setenv("FAKE_RANK", what)
    out = Path("network.json")
    out.write_text("precious")
    with pytest.raises(EcoError) as error:
        characterize_words(["mpirun", "-n", "3"], out, None, None, 2, quiet())
    assert out.read_text() == "precious"
    assert list(Path().iterdir()) == [out]
    expected = {"dies": "host b vanished", "truncates": "truncated", "hangs": "no end after 2 s"}[what]
    assert expected in str(error.value)


def test_characterize_errors(fakes: Any, eco: Any) -> None:
    ended = eco("characterize", "-o", "/dev/null/where.json", "--", "mpirun", "-n", "3")
    assert (ended.returncode, "/dev/null/where.json" in ended.stderr) == (2, True)
    ended = eco("characterize", "--", "mpirun", "-n", "3", "./app")
    assert (ended.returncode, "brings its own" in ended.stderr) == (2, True)
    ended = eco("characterize", "--", "mpirun.absent", "-n", "3")
    assert (ended.returncode, "no such launcher" in ended.stderr) == (2, True)
    (fakes.native / "eco-rank-openmpi").unlink()
    ended = eco("characterize", "--", "mpirun", "-n", "3")
    assert (ended.returncode, "eco-rank-openmpi" in ended.stderr) == (1, True)
    assert "Traceback" not in ended.stderr
