"""Programs by dice and their shrinking, without MPI: what a run sees is made up here."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from eco import _core
from eco.cli.main import app
from eco.errors import CorruptFile, EcoError, InvalidArgument
from eco.fuzz import recipes, runs, shrink
from eco.fuzz.campaign import Campaign, Options, quirks_of
from eco.fuzz.generate import CALLS, OF_NEIGHBOURS, Generator, Quirks
from eco.fuzz.recipes import Layout
from eco.fuzz.runs import Case, Entry, RankSeen, Seen
from eco.fuzz.steps import Program, Step, calls_in, members, parse_step, repaired, text_of

NETWORK = _core.synthetic_network("hosts=1+1")


def program_of(*lines: str) -> Program:
    return tuple(parse_step(line) for line in lines)


def made(seed: int, ranks: int = 5, calls: int = 400) -> Program:
    return Generator(random.Random(seed), ranks, {"bcast": [500, 4096]}).program(calls)


def test_messages_are_from_anybody_where_the_library_can() -> None:
    def exchanges(quirks: Quirks) -> list[int]:
        program = Generator(random.Random(3), 5, quirks=quirks).program(400)
        return [step.number("named") for step in program if step.verb == "exchange"]

    assert set(exchanges(Quirks())) == {0}
    assert set(exchanges(Quirks(anybody=False))) == {1}
    for kind, library, anybody in [
        (runs.InLab, "mpich", False),
        (runs.InLab, "openmpi", True),
        (runs.OneHost, "mpich", True),
    ]:
        place = object.__new__(kind)
        place.library = library
        assert quirks_of(place).anybody is anybody


def case_of(program: Program, ranks: int = 3, plans: tuple[str, ...] = ()) -> Case:
    return Case(
        "mpich", ranks, "tcp", program, Layout(NETWORK, (0, 1, 1)[:ranks]), plans, {"ECO_ARM_AFTER": "0"}
    )


def test_a_seed_makes_a_program_and_its_text_is_the_program() -> None:
    program = made(7)
    assert program == made(7)
    assert program != made(8)
    assert program_of(*text_of(program).splitlines()) == program
    assert calls_in(program) == 400


def test_programs_have_everything_in_them_and_miss_nothing() -> None:
    program = made(3, calls=3000)
    assert {step.verb for step in program} >= {
        *CALLS,
        *OF_NEIGHBOURS,
        "comm",
        "free",
        "complete",
        "exchange",
    }
    assert repaired(program) == program, "no communicator or request is used that is not there"
    words = {name for step in program for name in step.words}
    assert words >= {"layout", "in_place", "real", "uneven", "wild", "late", "free", "request", "side"}


def test_sizes_lie_around_the_edges_of_the_plan() -> None:
    counts = {step.number("count") for step in made(5, calls=3000)
              if step.verb == "bcast" and step.words["type"] in ("byte", "char")}  # fmt: skip
    assert {499, 500, 501, 4095, 4096, 4097} <= counts


def test_members_of_communicators() -> None:
    program = program_of("0 comm id=1 of=0 kind=split color=0,1,0,-1 key=3,2,1,0", "1 comm id=2 of=1 kind=dup",
                         "2 comm id=3 of=0 kind=create ranks=3,1,9", "3 comm id=4 of=0 kind=inter")  # fmt: skip
    assert members(program, 4) == {
        0: [(0, 1, 2, 3)], 1: [(2, 0), (1,)], 2: [(2, 0), (1,)], 3: [(3, 1)], 4: []
    }  # fmt: skip


def test_what_is_left_of_a_program_can_run() -> None:
    program = program_of("0 comm id=1 of=0 kind=dup", "1 bcast on=1 count=1 request=1", "2 bcast on=0 request=2",
                         "3 complete requests=1,2 way=wait", "4 free id=1")  # fmt: skip
    assert repaired(program[1:]) == program_of("2 bcast on=0 request=2", "3 complete requests=2 way=wait")
    with pytest.raises(CorruptFile, match="is no step"):
        parse_step("17")


def seen(program: Program, ranks: int, digest: Callable[[Step, int], int]) -> Seen:
    return Seen(tuple(
        RankSeen(0, False, True, {step.id: Entry(digest(step, rank), 0, False, 0, "scan/chain")
                                  for step in program if step.is_call})
        for rank in range(ranks)
    ))  # fmt: skip


def plainly(step: Step, rank: int) -> int:
    return hash((step.text(), rank))


def test_faults_of_every_kind() -> None:
    program = program_of("0 bcast on=0 count=1", "1 scan on=0 count=1", "2 bcast on=0 count=7")
    case, stock = case_of(program), seen(program, 3, plainly)
    assert runs.compare(case, stock, stock) is None
    other = seen(program, 3, lambda step, rank: plainly(step, rank) + (step.id == 1 and rank == 2))
    found = runs.compare(case, stock, other)
    assert found and (found.kind, found.step, found.rank) == ("differs", 1, 2)

    def with_entry(**changes: object) -> Seen:
        entry = Entry(**{**vars(stock.ranks[0].entries[1]), **changes})  # type: ignore[arg-type]
        ranks = (RankSeen(0, False, True, {**stock.ranks[0].entries, 1: entry}), *stock.ranks[1:])
        return Seen(ranks)

    inexact = runs.compare(case, stock, with_entry(is_wrong=True))
    assert inexact and inexact.kind == "is inexact"
    bits = {"alike": 5}
    unlike = runs.compare(case, stock, Seen((with_entry(**bits).ranks[0], with_entry(alike=6).ranks[0],
                                             stock.ranks[2])))  # fmt: skip
    assert unlike and unlike.kind in ("is unlike on its ranks", "differs")
    hanging = Seen(
        (RankSeen(2, True, False, {}), RankSeen(1, True, False, {}), RankSeen(3, False, True, {})), hung=True
    )
    stands = runs.compare(case, stock, hanging)
    assert stands and (stands.kind, stands.step, stands.rank) == ("hangs", 1, 1)
    assert "rank 0 in 2 bcast" in stands.text and "rank 2 done" in stands.text
    killed = runs.compare(case, stock, Seen(hanging.ranks, "signal 11", code=139))
    assert killed and killed.kind == "ends" and "139" in killed.text


class Ranks:
    """Stands for a place: runs nothing."""

    library, where = "mpich", "tcp"


def fails_with(monkeypatch: pytest.MonkeyPatch, is_wrong: Callable[[Case, Step], bool]) -> list[Case]:
    """Makes runs up: under ECO a step differs on rank 0 where `is_wrong`. The cases that were started."""
    started: list[Case] = []

    def run(case: Case, place: object, served: bool, timeout_s: float) -> Seen:
        started.append(case)

        def digest(step: Step, rank: int) -> int:
            return plainly(step, rank) + (served and rank == 0 and is_wrong(case, step))

        return seen(case.program, case.ranks, digest)

    monkeypatch.setattr(shrink, "run", run)
    return started


def shrunk(case: Case, monkeypatch: pytest.MonkeyPatch, is_wrong: Callable[[Case, Step], bool]) -> Case:
    fails_with(monkeypatch, is_wrong)
    program = case.program
    wrong = next(step for step in program if is_wrong(case, step))
    fault = runs.Fault("differs", wrong.id, 0, "")
    shrinker = shrink.Shrinker(Ranks(), 1.0, time.monotonic() + 600)  # type: ignore[arg-type]
    small, found = shrinker.shrink(case, fault)
    assert found.kind == "differs"
    return small


def test_a_step_that_fails_by_itself_is_all_that_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    case = case_of(made(1, ranks=3))
    small = shrunk(
        case, monkeypatch, lambda case, step: step.verb == "allgather" and step.number("count") > 10
    )
    assert [step.verb for step in small.program if step.verb != "comm"] == ["allgather"]
    call = small.program[-1]
    assert (call.number("count"), small.ranks) == (11, 2)
    assert "layout" not in call.words and call.words["form"] == "blocking"


def test_a_launch_that_fails_by_itself_is_not_taken_for_the_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where a launcher can't start, once in hundreds of times: only what fails in the same way counts."""
    fails_with(monkeypatch, lambda case, step: step.verb == "bcast" and step.number("count") > 50)
    run, launches = shrink.run, 0

    def unlucky(case: Case, place: runs.Place, served: bool, timeout_s: float) -> Seen:
        nonlocal launches
        launches += served
        if served and launches % 7 == 0:
            return Seen(
                tuple(RankSeen(-1, True, False, {}) for _ in range(case.ranks)), "no launch", code=213
            )
        return run(case, place, served, timeout_s)

    monkeypatch.setattr(shrink, "run", unlucky)
    case = case_of(program_of("0 bcast on=0 count=5590 type=int"))
    shrinker = shrink.Shrinker(Ranks(), 1.0, time.monotonic() + 600)  # type: ignore[arg-type]
    small, found = shrinker.shrink(case, runs.Fault("differs", 0, 0, ""))
    assert (found.kind, small.program[-1].number("count")) == ("differs", 51)
    assert shrinker.launches < 120


def test_a_step_that_needs_an_earlier_one_keeps_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def is_wrong(case: Case, step: Step) -> bool:
        earlier = [other for other in case.program if other.id < step.id]
        return (
            step.verb == "scan" and sum(other.verb == "bcast" for other in earlier) >= 2 and case.ranks == 3
        )

    small = shrunk(case_of(made(2, ranks=3)), monkeypatch, is_wrong)
    assert sorted(step.verb for step in small.program if step.verb != "comm") == ["bcast", "bcast", "scan"]
    assert small.ranks == 3


def test_plans_are_made_small_too(monkeypatch: pytest.MonkeyPatch) -> None:
    dice = random.Random(4)
    layout = Layout(NETWORK, (0, 1, 1))
    edges = recipes.throw_edges(dice, 40000)
    plans = tuple(recipes.plans_for(dice, layout, [(0, 1, 2), (1, 2), (2, 1), (0,)], edges, 6))
    assert len(plans) == 2, "one for each different row of hosts; none for one rank"
    case = case_of(program_of("0 reduce on=0 count=3 op=sum type=int"), plans=plans)

    def is_wrong(case: Case, step: Step) -> bool:
        operations = [entry["collective"] for plan in case.plans for entry in json.loads(plan)["entries"]]
        return "reduce" in operations

    small = shrunk(case, monkeypatch, is_wrong)
    (plan,) = small.plans
    (entry,) = json.loads(plan)["entries"]
    assert entry["collective"] == "reduce"
    assert len(entry["rows"]) == 1


def test_what_does_not_fail_again_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    started = fails_with(monkeypatch, lambda case, step: False)
    case = case_of(made(1, ranks=3, calls=20))
    shrinker = shrink.Shrinker(Ranks(), 1.0, time.monotonic() + 600)  # type: ignore[arg-type]
    assert shrinker.shrink(case, runs.Fault("hangs", 3, 0, ""))[0] is case
    assert len(started) == 1 + shrink.TRIES


def test_a_library_that_runs_nothing_ends_the_campaign(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def run(case: Case, place: object, served: bool, timeout_s: float) -> Seen:
        assert not served
        return Seen(tuple(RankSeen(-1, True, False, {}) for _ in range(case.ranks)), "no library", code=1)

    monkeypatch.setattr(runs, "run", run)
    options = Options(calls=100, seed=1, ranks=(2, 3), folder=tmp_path)
    campaign = Campaign(Ranks(), options, lambda dice, ranks: Layout(NETWORK, (0, 1, 1)[:ranks]))  # type: ignore[arg-type]
    with pytest.raises(EcoError, match="do not run without ECO"):
        campaign.run()
    assert len(list(tmp_path.iterdir())) == campaign.outcome.launches == 5


@pytest.mark.parametrize("steady", [True, False])
def test_a_library_that_differs_from_itself_is_no_fault(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, steady: bool
) -> None:
    launches: list[bool] = []

    def run(case: Case, place: object, served: bool, timeout_s: float) -> Seen:
        launches.append(served)
        # Its first step on rank 0 is what it was in the first launch, or now so, now otherwise.
        noise = served if steady else len(launches)
        return seen(case.program, case.ranks, lambda step, rank: plainly(step, rank) + (step.id == 0) * noise)

    for module in (runs, shrink):
        monkeypatch.setattr(module, "run", run)
    options = Options(calls=20, seed=1, ranks=(2,), folder=tmp_path, most_faults=1, shrink_s=0)
    campaign = Campaign(Ranks(), options, lambda dice, ranks: Layout(NETWORK, (0, 1)))  # type: ignore[arg-type]
    outcome = campaign.run()
    assert bool(outcome.faults) == steady
    assert bool(outcome.unsteady) == (not steady)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--over", "udp"], "expected tcp or memory"),
        (["--over", "tcp", "--lab", "tiny"], "give --lab or --over"),
        (["--ranks", "1-3"], "two at least"),
        (["--library", "intel"], "choose openmpi, mpich or all"),
    ],
    ids=str,
)
def test_wrong_questions_are_refused(words: list[str], said: str) -> None:
    result = CliRunner().invoke(app, ["fuzz", *words])
    assert isinstance(result.exception, InvalidArgument), result.output
    assert said in str(result.exception)


def test_a_case_is_stored_and_read(tmp_path: Path) -> None:
    dice = random.Random(4)
    layout = Layout(NETWORK, (0, 1, 1))
    plans = tuple(recipes.plans_for(dice, layout, [(0, 1, 2)], recipes.throw_edges(dice, 1000), 1))
    case = case_of(made(1, ranks=3), plans=plans)
    file = tmp_path / "case.json"
    runs.write_case(file, case, runs.Fault("differs", 1, 2, "text"))
    again = runs.read_case(file)
    assert (again.program, again.ranks, again.settings) == (case.program, 3, case.settings)
    assert [json.loads(plan) for plan in again.plans] == [json.loads(plan) for plan in case.plans]
    file.write_text('{"schema": "eco.fuzz", "version": 1}')
    with pytest.raises(CorruptFile, match="library"):
        runs.read_case(file)


def test_every_recipe_by_dice_is_one_that_a_plan_may_have() -> None:
    for seed in range(30):
        recipe = _core.recipe_by_dice(
            NETWORK, [0, 0, 1], "allreduce", 4096, 0, seed, commutative=seed % 2 == 0
        )
        assert recipe is not None and recipe.startswith("allreduce/")
