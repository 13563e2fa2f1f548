"""Predicted against measured: how far the models are right, and what their choices cost.

    outcome = validate_lab(load("three-subnets"), "openmpi", "block", options, console)
    outcome.scores()["simulate"].median_abs_error

Every algorithm that is not predicted far behind the best (`most_times`) takes part with the parameters that are
predicted best for it, and is timed beside the native collective in several launches of eco-rank time. Recipes that come
to the same schedules, as flat trees on one switch do, are timed once.
docs/benchmarking.md states what the scores mean. Read `validate_place` first.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from eco import _core, jobs, stats
from eco.characterize import characterize_place
from eco.collectives import Grid
from eco.errors import CorruptFile, InvalidArgument
from eco.lab import Description, Lab
from eco.provenance import provenance
from eco.report.progress import launch_progress, rank_progress
from eco.report.records import read_json, write_json

NATIVE = "native"
ESTIMATOR = (
    "a recipe's time: median over launches of the launch's median call; error: |predicted / measured - 1|; "
    "regret: median of the odd launches of the model's choice over that of the oracle, which is chosen on the even ones"
)
#: The models that are scored, by the field of a record that holds their prediction.
MODELS = ("simulate", "closed")
SCHEMA = "eco.validate"
VERSION = 1


@dataclass(frozen=True)
class ValidateOptions(Grid):
    """What is predicted and measured, and how often."""

    launches: int = 4
    rounds: int = 8
    max_seconds: float = 1.0  # of one cell in one launch, beyond one round
    most_predicted_s: float = 8.0  # a recipe predicted to take longer is not run
    search: int = 0  # predictions of the search for patterns beyond the algorithms, in each cell
    most_times: float = (
        4.0  # nor one predicted to take so many times the best's; such take most of the time there is
    )
    timeout_s: float = 900.0

    def __post_init__(self) -> None:
        if self.launches < 2:
            raise InvalidArgument(
                f"--launches {self.launches}: the oracle is chosen on half the launches and scored on the "
                "other half, so give 2 or more"
            )


@dataclass(frozen=True)
class Record:
    """One recipe at one size: predictions, and the median call of each launch. Native has no prediction."""

    network: str
    library: str
    placement: str
    collective: str
    bytes: int
    recipe: str
    simulate_s: float | None
    closed_s: float | None  # None also where an algorithm has no closed form
    measured_s: tuple[float, ...]
    found: bool = False  # by the search: beyond the algorithms' own candidates
    chosen: bool = False  # by the planner, where it may measure nothing
    same: tuple[str, ...] = ()  # other algorithms' recipes that come to the same schedules

    @property
    def algorithm(self) -> str:
        return self.recipe.partition(" ")[0]

    @property
    def cell(self) -> tuple[str, str, str, str, int]:
        return (self.network, self.library, self.placement, self.collective, self.bytes)

    def predicted_s(self, model: str) -> float | None:
        value = getattr(self, f"{model}_s")
        return None if value is None else float(value)

    def to_dict(self) -> dict[str, Any]:
        return {
            **asdict(self),
            "algorithm": self.algorithm,
            "measured_median_s": stats.median(self.measured_s),
        }


@dataclass(frozen=True)
class Scores:
    """Of one model. Errors: |predicted / measured - 1| over records. Regret: over cells, what the model's choice takes
    longer than the oracle's."""

    median_abs_error: float
    p90_abs_error: float
    mean_regret: float
    max_regret: float
    records: int
    cells: int


def cells_of(records: Sequence[Record]) -> list[list[Record]]:
    """Records of one cell together, in the order of the cells."""
    cells: dict[tuple[str, str, str, str, int], list[Record]] = {}
    for record in records:
        cells.setdefault(record.cell, []).append(record)
    return list(cells.values())


def regret(cell: Sequence[Record], model: str) -> float | None:
    """What the model's choice takes longer than the oracle's, as a share: -0.1 is 10 % less.

    The simulation's choice is the planner's, which between equals looks at more than the prediction; the closed forms'
    is what they predict best.

    The oracle, native included, is chosen on the even launches; both are scored on the odd ones, so that an oracle that
    had luck once gains nothing by it. None where the model predicts nothing.
    """
    predicted = [record for record in cell if record.predicted_s(model) is not None]
    if not predicted:
        return None
    cheapest = min(predicted, key=lambda record: record.predicted_s(model) or 0.0)
    planned = (record for record in predicted if record.chosen and model == "simulate")
    choice = next(planned, cheapest)
    oracle = min(cell, key=lambda record: stats.median(record.measured_s[::2]))
    return stats.median(choice.measured_s[1::2]) / stats.median(oracle.measured_s[1::2]) - 1


@dataclass(frozen=True)
class Gain:
    """What the pattern found in a cell wins over the best of the algorithms: shares, 0.1 is 10 % less time.

    Measured over the algorithm that was best on the even launches, both scored on the odd ones.
    """

    cell: tuple[str, str, str, str, int]
    recipe: str
    predicted: float
    measured: float


def gain(cell: Sequence[Record]) -> Gain | None:
    """None where nothing was found."""
    found = next((record for record in cell if record.found), None)
    others = [record for record in cell if not record.found and record.recipe != NATIVE]
    if found is None or found.simulate_s is None or not others:
        return None
    predicted = min(record.simulate_s for record in others if record.simulate_s is not None)
    best = min(others, key=lambda record: stats.median(record.measured_s[::2]))
    ratio = stats.median(found.measured_s[1::2]) / stats.median(best.measured_s[1::2])
    return Gain(found.cell, found.recipe, 1 - found.simulate_s / predicted, 1 - ratio)


def score(records: Sequence[Record], model: str) -> Scores | None:
    """None where the model predicts none of these records."""
    errors = [
        abs(predicted / stats.median(record.measured_s) - 1)
        for record in records
        if (predicted := record.predicted_s(model)) is not None
    ]
    regrets = [value for cell in cells_of(records) if (value := regret(cell, model)) is not None]
    if not errors or not regrets:
        return None
    return Scores(
        float(np.median(errors)),
        float(np.quantile(errors, 0.9)),
        float(np.mean(regrets)),
        float(np.max(regrets)),
        len(errors),
        len(regrets),
    )


@dataclass
class Outcome:
    """All records of a run."""

    records: list[Record]
    provenance: dict[str, Any]
    networks: list[dict[str, Any]] = field(
        default_factory=list
    )  # as measured, one for each library and placement

    def scores(self) -> dict[str, Scores]:
        found = {model: score(self.records, model) for model in MODELS}
        return {model: scores for model, scores in found.items() if scores is not None}

    def write(self, path: Path) -> None:
        write_json(
            path,
            {
                "schema": SCHEMA,
                "version": VERSION,
                "provenance": self.provenance,
                "networks": self.networks,
                **{model: asdict(scores) for model, scores in self.scores().items()},
                "records": [record.to_dict() for record in self.records],
            },
        )


def found_pattern(network: str, hosts: Sequence[int], op: str, size: int, steps: int) -> list[dict[str, Any]]:
    """The best of what the search finds, if it is predicted to beat every candidate; else nothing."""
    if not steps:
        return []
    found = json.loads(_core.search(network, list(hosts), op, size, 0, steps, 1))
    return list(found[:1])


def alike(
    network: str, hosts: Sequence[int], candidates: Sequence[dict[str, Any]], op: str, size: int
) -> list[list[dict[str, Any]]]:
    """Candidates that come to the same schedules together, each group in the order given."""
    by_prediction: dict[float, list[dict[str, Any]]] = {}
    for candidate in candidates:
        by_prediction.setdefault(candidate["predicted_s"], []).append(candidate)
    groups: list[list[dict[str, Any]]] = []
    for equals in by_prediction.values():  # the same schedules take the same time
        if len(equals) == 1:
            groups.append(equals)
            continue
        by_schedules: dict[str, list[dict[str, Any]]] = {}
        for candidate in equals:
            schedules = _core.schedule_text(network, list(hosts), candidate["recipe"], op, size, 0)
            by_schedules.setdefault(schedules, []).append(candidate)
        groups += by_schedules.values()
    return groups


def closed_s(
    network: str, hosts: Sequence[int], same: Sequence[dict[str, Any]], op: str, size: int
) -> float | None:
    """Of recipes that come to the same schedules: of the first that has a closed form."""
    for candidate in same:
        seconds = _core.closed_prediction(network, list(hosts), candidate["recipe"], op, size, 0)
        if seconds is not None:
            return float(seconds)
    return None


def choose_trials(
    network: str, hosts: Sequence[int], options: ValidateOptions, step: Callable[[str, float], None]
) -> list[dict[str, Any]]:
    """For each cell the best recipe of every algorithm and the planner's choice, with its prediction:
    `{"collective", "bytes", "recipes"}`, the last a recipe and what each model predicts of it."""
    cells = options.cells()
    trials = []
    for number, (op, size) in enumerate(cells):
        step(f"predicting {op}", number / len(cells))
        best: dict[str, dict[str, Any]] = {}
        chosen = _core.choice(network, list(hosts), op, size, 0)
        for candidate in json.loads(_core.candidates(network, list(hosts), op, size, 0)):
            seconds = candidate["predicted_s"]
            if seconds is None or seconds > options.most_predicted_s:
                continue
            if best and seconds > options.most_times * next(iter(best.values()))["predicted_s"]:
                continue
            recipe = candidate["recipe"]
            of_algorithm = best.setdefault(recipe.partition(" ")[0], candidate)
            if recipe == chosen and of_algorithm is not candidate:
                best[recipe] = candidate
        found = found_pattern(network, hosts, op, size, options.search)
        planned_first = sorted(best.values(), key=lambda one: one["recipe"] != chosen)
        groups = alike(network, hosts, [*found, *planned_first], op, size)
        recipes = {
            candidate["recipe"]: {
                "simulate": float(candidate["predicted_s"]),
                "closed": closed_s(network, hosts, [candidate, *others], op, size),
                "found": candidate in found,
                "chosen": candidate["recipe"] == chosen,
                "same": [other["recipe"] for other in others],
            }
            for candidate, *others in groups
        }
        trials.append({"collective": op, "bytes": size, "root": 0, "recipes": recipes})
    return trials


def time_trials(
    place: jobs.Place, network: Path, trials: Sequence[dict[str, Any]], words: Sequence[str], timeout_s: float,
    watch: Callable[[str], None] | None = None,
) -> list[dict[str, Any]]:  # fmt: skip
    """One launch of eco-rank time: seconds of every recipe and of native, trial by trial. With --stop-after among the
    words, of the first trials."""
    with jobs.scratch("validate") as folder:
        wanted, out = folder / "trials.json", folder / "times.json"
        listed = [{**trial, "recipes": list(trial["recipes"])} for trial in trials]
        write_json(wanted, {"schema": "eco.rank.trials", "version": 1, "trials": listed})
        program = [
            place.rank_program(), "time", "--network", str(network), "--trials", str(wanted), "--out", str(out),
            "--progress", *words,
        ]  # fmt: skip
        ended = place.start(place.stock(program), timeout_s, watch)
        what = f"a launch of eco-rank time ({place.library}, {place.placement})"
        jobs.check(ended, what, "give fewer --ops or --sizes, or a longer --timeout")
        times = read_json(out, "eco.rank.times", 1)["trials"]
    if len(times) != len(trials) and "--stop-after" not in words:
        raise CorruptFile(f"{what}: {len(times)} of {len(trials)} trials came back")
    return list(times)


def records_of(
    place: jobs.Place, trials: Sequence[dict[str, Any]], launches: Sequence[Sequence[dict[str, Any]]]
) -> list[Record]:
    """Predictions and times joined. What a launch gave no time for is left out; without native's, the cell is."""
    records = []
    for number, trial in enumerate(trials):
        where = (place.network, place.library, place.placement, trial["collective"], trial["bytes"])
        per_launch = [launch[number] for launch in launches]
        seconds = {NATIVE: [entry["native"] for entry in per_launch]}
        for index, recipe in enumerate(trial["recipes"]):
            seconds[recipe] = [entry["recipes"][index]["seconds"] for entry in per_launch]
        if not all(seconds[NATIVE]):
            continue
        for recipe, samples in seconds.items():
            if not all(samples):
                continue
            measured = tuple(stats.median(one) for one in samples)
            predicted = trial["recipes"].get(recipe, {})
            records.append(
                Record(
                    *where,
                    recipe,
                    predicted.get("simulate"),
                    predicted.get("closed"),
                    measured,
                    predicted.get("found", False),
                    predicted.get("chosen", False),
                    tuple(predicted.get("same", ())),
                )
            )
    return records


def validate_place(
    place: jobs.Place, hosts_of_ranks: Sequence[str], network_file: Path | None, options: ValidateOptions,
    console: Console,
) -> tuple[list[Record], dict[str, Any]]:  # fmt: skip
    """Measures the network if none is given, predicts, and times what was predicted; with the network."""
    with jobs.scratch("network") as folder, rank_progress(console) as progress:
        file = network_file or folder / "network.json"
        if network_file is None:
            watch = progress("measuring the network")
            characterize_place(place, file, None, options.timeout_s, watch, plogp=True, remembered="left")
        text = file.read_text(encoding="utf-8")
        hosts = hosts_in_network(text, hosts_of_ranks, file)
        watch = progress("predicting")
        trials = choose_trials(
            text, hosts, options, lambda what, share: watch(f"eco-rank: {100 * share:.0f} % {what}")
        )
        launches = []
        with launch_progress(console, options.launches) as step:
            for number in range(options.launches):
                step(f"{place.library}, {place.placement}: launch {number + 1}")
                words = ["--rounds", str(options.rounds), "--max-seconds", f"{options.max_seconds:g}"]
                launches.append(time_trials(place, file, trials, words, options.timeout_s))
    records = records_of(place, trials, launches)
    timed = {(record.collective, record.bytes) for record in records}
    for trial in trials:
        if (trial["collective"], trial["bytes"]) not in timed:
            console.print(
                f"left out: {trial['collective']} of {trial['bytes']} bytes: a launch has no times of native"
            )
    return records, without_samples(json.loads(text))


def without_samples(network: dict[str, Any]) -> dict[str, Any]:
    """What predictions were made from, without the times that it was derived from."""
    left_out = ("pairs", "concurrent", "rail_plogp", "rail_pairs")
    slim = {key: value for key, value in network.items() if key not in left_out}
    return {**slim, "plogp": [{**curves, "samples": []} for curves in network.get("plogp", [])]}


def hosts_in_network(text: str, names: Sequence[str], file: Path) -> list[int]:
    """The network's host of each rank, by name."""
    known = {host["name"]: index for index, host in enumerate(json.loads(text)["hosts"])}
    missing = sorted({name for name in names if name not in known})
    if missing:
        raise InvalidArgument(f"{file}: no host {', '.join(missing)} in it; it has {', '.join(known)}")
    return [known[name] for name in names]


def validate_lab(
    description: Description,
    libraries: Sequence[str],
    placements: Sequence[str],
    network_file: Path | None,
    options: ValidateOptions,
    console: Console,
) -> Outcome:
    """Every library and placement in the lab, which is brought up once."""
    outcome = Outcome([], {**provenance(), "estimator": ESTIMATOR})
    outcome.provenance["lab"] = {"network": description.name, "digest": description.digest()}
    with Lab(description, library=libraries[0], placement=placements[0]) as lab:
        for library in libraries:
            for placement in placements:
                lab.use(library, placement)
                place = jobs.LabPlace(lab)
                records, network = validate_place(place, lab.hosts_of_ranks, network_file, options, console)
                outcome.records += records
                outcome.networks.append({"library": library, "placement": placement, "network": network})
    return outcome
