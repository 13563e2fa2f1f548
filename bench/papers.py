"""Tables 3 to 7 of ECO's papers in the lab, beside the papers' figures: ECO, trees, star, ring and butterfly by hand,
and two MPI libraries as they are.

    python bench/papers.py --memory DIR --prepare                     networks measured, plans made; minutes
    python bench/papers.py --memory DIR --tables T4 --json F.json     a part, added to what F.json has
    python bench/papers.py --show --json F.json                       only the tables of a file
    python bench/papers.py --quick                                    everything once and short

Brings up emulated networks. A round launches every row of a table once, the next round in the opposite order. Ways by
hand run under ECO too, with one recipe for each operation (bench/paper_tables.py). Table 3's figure is the median call
of a launch; the others' are the seconds that a rank of examples/moldyn spends in collectives, mean over the ranks,
after its first step; what setting up takes, with all that ECO does once, is told beside it. Exit code 1 where a
program's results differ. Run it alone.
"""

import argparse
import contextlib
import functools
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from eco import jobs, plans
from eco.lab import Lab, load
from eco.pairs import BenchOptions, lateness_us, one_launch
from eco.provenance import provenance
from eco.report.progress import launch_progress
from eco.report.records import read_json, seconds_text, write_json
from eco.tune import Part, TuneOptions, tune_place

sys.path.insert(0, str(Path(__file__).parent))
from compiled import compiled
from paper_tables import (
    ATOMS,
    BROADCAST_BYTES,
    BY_HAND,
    CELLS,
    ECO,
    LIBRARIES,
    SPEEDS,
    STOCK,
    TABLES,
    Outcome,
    PaperTable,
    differing,
    outcome_of,
    row_name,
    rows_by_hand,
)

SCHEMA, VERSION = "eco.bench.papers", 1
SOURCE = Path(__file__).parents[1] / "examples" / "moldyn.c"
TIMEOUT_S = 300.0


def parts_of(table: PaperTable, ranks: int) -> list[Part]:
    """What the table's program calls: each operation at its own sizes."""
    if table.steps == 0:
        return [Part(["--ops", "broadcast", "--sizes", str(BROADCAST_BYTES)])]
    of_all = 24 * ATOMS
    sizes = {
        "broadcast": f"{of_all}",
        "allgather": f"{24 * -(-ATOMS // ranks) * ranks}",
        "allreduce": f"16,{of_all}",
    }
    return [Part(["--ops", name, "--sizes", size]) for name, size in sizes.items()]


def prepare(place: jobs.LabPlace, table: PaperTable, options: argparse.Namespace, console: Console) -> None:
    """Network and plan of a place into the memory, unless they are there: notes say what was made.

    At last one launch whose time nobody takes: it learns the rest of what the program calls, as first jobs do.
    """
    folder = Path(os.environ["ECO_CACHE_DIR"])

    def once(words: list[str], make: Callable[[], object]) -> None:
        name = "-".join([place.library, place.network, place.placement, *words])
        note = folder / re.sub(r"[^\w.-]", "_", name)
        if not note.exists():
            make()
            note.touch()

    how = TuneOptions(budget_s=options.tuning, timeout_s=TIMEOUT_S)
    for part in parts_of(table, place.ranks):
        once(
            ["tuned", *part.words[1::2]],
            functools.partial(tune_place, place, [part], console, how),
        )
    if table.steps:
        with jobs.scratch("papers") as scratch:
            once(["launched", table.name], lambda: of_program(place, table, ECO, scratch, options))


def started(place: jobs.LabPlace, way: str, words: list[str], folder: Path) -> list[str]:
    """The command of a launch: stock, with ECO as it is, or with ECO and a plan by hand."""
    if way == STOCK:
        return place.stock(words)
    return place.with_eco(words, settings_of(way, place.ranks, folder))


def settings_of(way: str, ranks: int, folder: Path) -> dict[str, str]:
    quiet = {"ECO_QUIET": "1", "ECO_REPORT": str(folder / "report.json")}
    if way == ECO:
        return quiet
    plan = folder / "plan.json"
    plan.write_text(plans.by_hand(ranks, rows_by_hand(way, ranks)))
    # The ring of the load balancer stays in the program's order too, and what is by hand needs no look at the network.
    by_hand = {"ECO_PLAN": str(plan), "ECO_ARM_AFTER": "0", "ECO_DISABLE": "topology", "ECO_SENTINELS": "0"}
    return quiet | by_hand


def of_broadcast(place: jobs.LabPlace, way: str, folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    settings = {} if way == STOCK else settings_of(way, place.ranks, folder)
    bench = BenchOptions(
        ["broadcast"], [BROADCAST_BYTES], min_reps=5, max_seconds=0.5 if options.quick else 3.0,
        timeout_s=TIMEOUT_S, settings=settings,
    )  # fmt: skip
    cell = one_launch(place, "stock" if way == STOCK else "eco", bench).cells[0]
    return {"seconds": list(cell.seconds), "algorithm": cell.algorithm}


def of_program(
    place: jobs.LabPlace, table: PaperTable, way: str, folder: Path, options: argparse.Namespace
) -> dict[str, Any]:
    steps = table.quick_steps if options.quick else table.steps
    program = compiled(place.library, SOURCE, "-lm")
    words = [str(program), str(CELLS), str(steps), str(table.balance_every), SPEEDS]
    ended = place.start(started(place, way, words, folder), TIMEOUT_S)
    jobs.check(ended, f"{row_name(way, place.library)} of {table.name}", "start it by hand to see more")
    results, (communication_s, balancing_s, whole_s, set_up_s) = read_output(ended.output)
    report = folder / "report.json"
    document = read_json(report, "eco.report", 1) if report.exists() else {}
    served = {
        name: [row["calls_served"], row["calls_passed"]]
        for name, row in document.get("collectives", {}).items()
        if row["calls_served"] + row["calls_passed"] > 0
    }
    left = [name for name in BY_HAND.get(way, ()) if served.get(name, [1, 0])[1]]
    if left:
        why = document.get("communicators_native", {})
        raise jobs.JobError(
            f"{row_name(way, place.library)} of {table.name} left {left} to the library: {why}"
        )
    return {
        "steps": steps,
        "results": results,
        "seconds": [communication_s],
        "balancing": [balancing_s] if table.balance_every else [],
        "whole_s": whole_s,
        "set_up_s": set_up_s,
        "arming_s": document.get("arming_s"),
        "served": served,
    }


def read_output(output: str) -> tuple[list[float], list[float]]:
    """What moldyn prints: energy and mean square way; seconds of communication, balancing, all steps, setting up."""
    results = re.search(r"energy of an atom (\S+), .* mean square way (\S+)", output)
    times = re.search(r"communication (\S+) s, balancing (\S+) s, of (\S+) s; set up in (\S+) s", output)
    if results is None or times is None:
        raise jobs.JobError(f"moldyn ended without its results: {output[-400:]!r}")
    return [float(x) for x in results.groups()], [float(x) for x in times.groups()]


def measure(
    lab: Lab, table: PaperTable, way: str, library: str, launch: int, options: argparse.Namespace
) -> dict[str, Any]:
    """One launch of one row."""
    if lab.library != library:
        lab.use(library=library)
    place = jobs.LabPlace(lab)
    around: contextlib.AbstractContextManager[list[float]] = contextlib.nullcontext([])
    if table.streams:
        around = lab.streams(table.streams, seed=launch)
    before, began = lab.stats(), time.monotonic()
    with jobs.scratch("papers") as folder, around as carried:
        found = (
            of_program(place, table, way, folder, options)
            if table.steps
            else of_broadcast(place, way, folder, options)
        )
    return {
        "table": table.name, "way": way, "library": library, "placement": lab.placement, "launch": launch, **found,
        "wall_s": time.monotonic() - began, "streams_bit_s": list(carried),
        "relay_late_us": lateness_us(before, lab.stats()),
    }  # fmt: skip


def measure_table(
    table: PaperTable, options: argparse.Namespace, console: Console
) -> Iterator[dict[str, Any]]:
    """Rounds of launches, after what ECO wants to know is known."""
    libraries = options.library.split(",")
    with Lab(load(table.network), library=libraries[0], placement=options.placement) as lab:
        skipped = options.skip.split(";")
        rows = [row for row in table.rows() if row[1] in libraries and row_name(*row) not in skipped]
        for library in dict.fromkeys(library for way, library in rows if way != STOCK):
            lab.use(library=library)
            prepare(jobs.LabPlace(lab), table, options, console)
        if options.prepare:
            return
        first = options.first[table.name]
        with launch_progress(console, options.launches * len(rows)) as step:
            for launch in range(first, first + options.launches):
                for way, library in rows if launch % 2 == 0 else rows[::-1]:
                    step(f"{table.name}, round {launch + 1}: {row_name(way, library)}")
                    yield measure(lab, table, way, library, launch, options)


def show(all_records: list[dict[str, Any]], console: Console) -> None:
    """A table for each placement, and one more where there is a ring."""
    for table in TABLES.values():
        placements = dict.fromkeys(r["placement"] for r in all_records if r["table"] == table.name)
        for placement in placements:
            records = [r for r in all_records if r["placement"] == placement]
            where = f"{table.network}, {placement}"
            outcome = outcome_of(table, records)
            show_rows(outcome, f"{table.name}: {table.title}, {where}", console, table.paper)
            for verdict in outcome.verdicts:
                word = "met" if verdict.is_met else "SHORT"
                console.print(
                    f"  {verdict.what}: {verdict.measured:.2f} times ECO, wanted {verdict.wanted:g}: {word}",
                    highlight=False,
                )
            ring = outcome_of(table, records, "balancing")
            if ring.rows:
                show_rows(ring, f"{table.name}: the load balancer's ring, {where}", console, {})


def show_rows(outcome: Outcome, title: str, console: Console, paper: dict[str, float]) -> None:
    launches = max(len(row.launches) for row in outcome.rows.values())
    out = Table(title=f"{title}, {launches} rounds", title_justify="left")
    titles = ("way", "median", "lowest", "highest", "set up", "/ ECO of the same library", "paper")
    for name in (*titles, "paper's / ECO"):
        out.add_column(name, no_wrap=True, justify="left" if name == "way" else "right")
    for name, row in outcome.rows.items():
        ratio, theirs = row.over_eco, paper.get(row.way)
        out.add_row(
            name, *(seconds_text(x) for x in (row.median_s, min(row.launches), max(row.launches))),
            seconds_text(row.set_up_s) if row.set_up_s else "",
            f"{ratio.ratio:.2f} ({ratio.low:.2f} to {ratio.high:.2f})" if ratio else "",
            f"{theirs:g} {outcome.table.unit}" if theirs else "",
            f"{theirs / paper[ECO]:.2f}" if theirs and ECO in paper else "",
        )  # fmt: skip
    console.print(out)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--launches", type=int, default=3, help="rounds")
    parser.add_argument("--placement", default="shuffled:1")
    parser.add_argument("--library", default=",".join(LIBRARIES))
    parser.add_argument("--skip", default="", help='rows to leave out: "ECO, mpich;star, openmpi"')
    parser.add_argument("--memory", type=Path, help="a folder that keeps what is measured and planned")
    parser.add_argument("--tuning", type=float, help="seconds that the plan of one operation may take")
    parser.add_argument("--prepare", action="store_true", help="only measure the networks and make the plans")
    parser.add_argument("--quick", action="store_true", help="one round of few steps")
    parser.add_argument("--json", type=Path, help="every launch, beside those that the file has")
    parser.add_argument("--show", action="store_true", help="only the tables of the file")
    return parser.parse_args()


def main() -> int:
    options, console = parse(), Console(width=130)
    records: list[dict[str, Any]] = []
    if options.json and options.json.exists():
        records = read_json(options.json, SCHEMA, VERSION)["records"]
    if not options.show:
        measure_all(records, options, console)
    show(records, console)
    wrong = differing(records)
    for line in wrong:
        console.print(f"DIFFERENT: {line}", style="bold red", highlight=False)
    return 1 if wrong else 0


def measure_all(records: list[dict[str, Any]], options: argparse.Namespace, console: Console) -> None:
    if options.quick:
        options.launches = 1
    options.first = {
        name: 1 + max((r["launch"] for r in records if r["table"] == name), default=-1) for name in TABLES
    }
    with tempfile.TemporaryDirectory(prefix="eco-papers-") as only_now:
        memory = (options.memory or Path(only_now)).absolute()
        memory.mkdir(parents=True, exist_ok=True)
        os.environ["ECO_CACHE_DIR"] = str(memory)
        here = provenance()
        for name in options.tables.split(","):
            for record in measure_table(TABLES[name], options, console):
                records.append(record | {"provenance": here})
                # After each, so that an interrupt keeps what there is.
                if options.json:
                    write_json(options.json, {"schema": SCHEMA, "version": VERSION, "records": records})


if __name__ == "__main__":
    sys.exit(main())
