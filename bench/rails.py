"""One rail against two: what hosts with several NICs gain, on emulated networks, against stock libraries and on paper.

    python bench/rails.py --json F.json                                 every part; half an hour
    python bench/rails.py --parts gain --operations broadcast --sizes 1MiB --json F.json
                                                                        a slice, added to what F.json has
    python bench/rails.py --show --json F.json --picture F.html         only the tables of a file, and the chart

Parts:
  gain        rails-8: ECO's recipes on one rail and on both, over its TCP transport (--carrier), outside MPI
  stock       rails-8: Open MPI and MPICH as they are, told of both NICs in all ways that they offer (rails_cells.py)
  paper       rails-8 and rails-2x8: the multirail paper's ways of broadcasting, its formulas beside (rails_paper.py)
  predicted   the same for 32 nodes with the paper's rates, by ECO's predictor; starts nothing
  unequal     rails-unequal: the part `gain` where one NIC is slower
  cut         rails-8 and rails-unequal: a long allreduce on one rail, on both, and on both with a host's second NIC cut
              in the middle; results are compared whatever their size

Needs ECO's build (`make build`), whose program of bench/rails it builds. A launch starts one rank on each host and
executes all its cells in turn; times are medians over launches of the median call. Beside them stands a bound that no
algorithm can beat on one rail, or on all (eco.lab.bounds). Every record is kept as it comes. Run it alone. The last
line is one JSON object.
"""

import argparse
import contextlib
import json
import math
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from eco import _core, jobs
from eco.errors import EcoError
from eco.lab import Lab, load
from eco.lab.description import Description
from eco.pairs import BenchOptions, lateness_us, one_launch
from eco.provenance import provenance
from eco.report.picture import write_page
from eco.report.records import parse_sizes, read_json, seconds_text, size_text, write_json

sys.path.insert(0, str(Path(__file__).parent))
import rails_paper as paper
from rails_cells import (
    OPERATIONS,
    RECIPES,
    STOCK,
    Row,
    Setting,
    gain_cells,
    is_on_all_rails,
    rates_mbit,
    rows_of,
    shares_of,
    verdict,
)

SCHEMA, VERSION = "eco.bench.rails", 1
ROOT = Path(__file__).parents[1]
BUILD = ROOT / "build" / "python"
PARTS = {
    "gain": ("rails-8",),
    "stock": ("rails-8",),
    "paper": ("rails-8", "rails-2x8"),
    "predicted": (),
    "unequal": ("rails-unequal",),
    "cut": ("rails-unequal", "rails-8"),
}
NETWORKS = tuple(dict.fromkeys(name for names in PARTS.values() for name in names))
SIZES = {
    "gain": "1MiB,4MiB,16MiB",
    "stock": "1MiB,4MiB,16MiB",
    "paper": "16KiB,64KiB,256KiB,1MiB,4MiB",
    "unequal": "4MiB",
    "cut": "64MiB",
}
CUT_HOST, CUT_RAIL = 3, 1
Keep = Callable[[dict[str, Any]], None]


def predictors_words(description: Description) -> str:
    """The network as ECO's predictor should see it: rates of payload, one rail after the other."""
    first, *others = (f"{paper.payload_bytes_per_s(rate) * 8e-6:.4f}" for rate in rates_mbit(description))
    place = paper.lab_place(description)
    words = [word for word in place.words().split() if not word.startswith(("rate_mbit", "rail_mbit"))]
    return " ".join([*words, f"rate_mbit={first}", *(["rail_mbit=" + "+".join(others)] if others else [])])


def launch(
    lab: Lab,
    program: Path,
    cells: Sequence[tuple[int, str]],
    options: argparse.Namespace,
    keep: Keep,
    cut_after_s: float | None = None,
) -> None:
    """One launch over ECO's own transport, perhaps with a NIC cut. What is measured is kept, however it ends."""
    rails = range(lab.description.n_rails)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        network, wanted, found = (folder / f for f in ("network.json", "cells.txt", "records.jsonl"))
        network.write_text(_core.synthetic_network(predictors_words(lab.description)))
        wanted.write_text("".join(f"{size} {recipe}\n" for size, recipe in cells))
        before, started = lab.stats(), []
        for rank, host in enumerate(lab.description.hosts):
            addresses = [n.ip for r in rails for n in lab.fabric.nics if (n.host, n.rail) == (host, r)]
            words = [
                program, network, wanted, found, folder / "store", rank, options.repetitions, options.seconds,
                options.check_bytes, options.carrier, *addresses,
            ]  # fmt: skip
            started.append(lab.start([str(w) for w in words], host))
        codes: list[int | None] = []
        host = lab.description.hosts[CUT_HOST]
        try:
            if cut_after_s is not None:
                time.sleep(cut_after_s)
                lab.cut(host, CUT_RAIL)
            codes = [process.wait(options.timeout) for process in started]
        except subprocess.TimeoutExpired:
            codes = [process.poll() for process in started]
        finally:
            for process in started:
                process.kill()
            if cut_after_s is not None:
                lab.cut(host, CUT_RAIL, is_cut=False)
            late = lateness_us(before, lab.stats())
            lines = found.read_text().splitlines() if found.exists() else []
            for (_, recipe), line in zip(cells, lines, strict=False):
                with contextlib.suppress(json.JSONDecodeError):  # cut off
                    keep({**json.loads(line), "recipe": recipe, "relay_late_us": late})
        if any(code != 0 for code in codes):
            raise EcoError(
                f"{lab.description.name}: ranks ended with {codes}; None: not within {options.timeout:g} s"
            )


def measure_recipes(lab: Lab, program: Path, options: argparse.Namespace, part: str, keep: Keep) -> None:
    """The parts gain and unequal."""
    description = lab.description
    for operation in options.operations:
        cells = gain_cells(description, [operation], sizes_of(part, options))

        def kept(record: dict[str, Any], operation: str = operation) -> None:
            rails = description.n_rails if is_on_all_rails(record["recipe"]) else 1
            keep({"way": record["recipe"], "operation": operation, "rails": rails, **record})

        launch(lab, program, cells, options, kept)


def measure_cut(lab: Lab, program: Path, options: argparse.Namespace, keep: Keep) -> None:
    """One rail, both, and both with one that fails halfway: a launch each, since a lost rail stays lost."""
    one, *_ = RECIPES["allreduce"]
    both = RECIPES["allreduce"][2].format(shares=shares_of(rates_mbit(lab.description)))
    asked = argparse.Namespace(**{**vars(options), "repetitions": 1, "check_bytes": 1 << 40})
    for size in sizes_of("cut", options):
        taken: list[float] = []

        def kept(record: dict[str, Any], way: str, rails: int, taken: list[float] = taken) -> None:
            taken += record["seconds"]
            keep({"way": way, "operation": "allreduce", "rails": rails, **record})

        launch(lab, program, [(size, one)], asked, lambda r: kept(r, "one rail", 1))
        launch(lab, program, [(size, both)], asked, lambda r: kept(r, "both rails", 2))
        # Ranks have met, and warmed up, after about a second.
        launch(
            lab, program, [(size, both)], asked, lambda r: kept(r, "both, one NIC cut halfway", 2),
            cut_after_s=1 + taken[-1] / 2,
        )  # fmt: skip


def measure_paper(lab: Lab, program: Path, options: argparse.Namespace, keep: Keep) -> None:
    """Every way of the paper's, each with the segment that the predictor prefers."""
    place = paper.lab_place(lab.description)
    ways, cells = {}, []
    for size in sizes_of("paper", options):
        for name, way in paper.WAYS.items():
            if not is_wanted(name, options):
                continue
            recipe = paper.predicted(way, place, size)[0]
            ways[size, recipe] = name
            cells.append((size, recipe))

    def kept(record: dict[str, Any]) -> None:
        name = ways[record["bytes"], record["recipe"]]
        keep({"way": name, "operation": "broadcast", "rails": paper.WAYS[name].rails(place), **record})

    launch(lab, program, cells, options, kept)


def measure_stock(lab: Lab, setting: Setting, options: argparse.Namespace, keep: Keep) -> None:
    """One launch of a library under one setting; a setting that the library can't run is told and left out."""
    operations = [o for o in options.operations if setting.operation in ("", o)]
    if not operations:
        return
    if lab.library != setting.library:
        lab.use(library=setting.library)
    place = jobs.LabPlace(lab)
    place.library_settings |= setting.variables
    bench = BenchOptions(
        operations,
        sizes_of("stock", options),
        min_reps=1,
        max_seconds=options.seconds,
        timeout_s=options.timeout,
    )
    before = lab.stats()
    timed = one_launch(place, "stock", bench)
    late = lateness_us(before, lab.stats())
    for cell in timed.cells:
        keep({
            "way": setting.way, "operation": cell.collective, "bytes": cell.bytes, "seconds": list(cell.seconds),
            "rails": lab.description.n_rails if setting.on_all_rails else 1, "variables": dict(setting.variables),
            "library": timed.library, "relay_late_us": late,
        })  # fmt: skip


def is_wanted(name: str, options: argparse.Namespace) -> bool:
    return any(word in name for word in options.only.split(";"))


def sizes_of(part: str, options: argparse.Namespace) -> list[int]:
    return parse_sizes(options.sizes or SIZES[part])


def measure(part: str, network: str, options: argparse.Namespace, keep: Keep, console: Console) -> None:
    """A part on one network, launch after launch."""

    def kept(record: dict[str, Any]) -> None:
        keep({"part": "gain" if part == "unequal" else part, "network": network, **record})

    with Lab(load(network)) as lab:
        for number in range(options.launches):
            console.print(f"{part} on {network}: launch {number + 1} of {options.launches}", highlight=False)
            if part == "stock":
                wanted = [s for s in STOCK if is_wanted(s.way, options)]
                for setting in wanted if number % 2 == 0 else wanted[::-1]:
                    try:
                        measure_stock(lab, setting, options, kept)
                    except EcoError as error:
                        console.print(f"  {setting.way} left out: {error}", highlight=False)
            elif part == "paper":
                measure_paper(lab, options.build / "bench-rails", options, kept)
            elif part == "cut":
                measure_cut(lab, options.build / "bench-rails", options, kept)
            else:
                measure_recipes(lab, options.build / "bench-rails", options, part, kept)


def show_rows(rows: Sequence[Row], title: str, console: Console) -> None:
    """Each way against the bound, the prediction, and the best of the same part on one rail."""
    out = Table(title=title, title_justify="left")
    for name in ("way", "size", "rails", "time", "of bound", "predicted", "against one rail", "relay late"):
        out.add_column(name, justify="left" if name == "way" else "right", overflow="fold")
    for row in rows:
        alone = [r.seconds for r in rows if (r.operation, r.bytes, r.rails) == (row.operation, row.bytes, 1)]
        out.add_row(
            row.way, size_text(row.bytes), str(row.rails), seconds_text(row.seconds),
            f"{row.seconds / row.bound_s:.3f}",
            f"{row.predicted_s / row.seconds - 1:+.1%}" if row.predicted_s else "",
            f"{min(alone) / row.seconds:.2f}" if alone else "", f"{row.late_us:.0f} us",
        )  # fmt: skip
    console.print(out)


def measured_curve(rows: Sequence[Row], description: Description) -> paper.Curve:
    mine = [row for row in rows if (row.part, row.network) == ("paper", description.name)]
    seconds = {name: {row.bytes: row.seconds for row in mine if row.way == name} for name in paper.WAYS}
    return paper.Curve(paper.lab_place(description), seconds, "measured")


def show_curve(curve: paper.Curve, title: str, console: Console) -> None:
    """How many times as long as the rail trees each way takes: here, and by the formulas; and which wins."""
    if not curve.seconds["rail trees"]:
        return
    out = Table(
        title=f"{title}: times as long as the rail trees ({curve.what} / by the formulas)",
        title_justify="left",
    )
    sizes = sorted(curve.seconds["rail trees"])
    for name in ("way", *map(size_text, sizes)):
        out.add_column(name, justify="left" if name == "way" else "right")
    for way in paper.WAYS:
        ratios = curve.over_rail_trees(way)
        formulas = {m: paper.formula_ratio(way, curve.place, m) for m in sizes}
        out.add_row(
            way,
            *(
                (f"{ratios[m]:.2f}" + ("" if math.isnan(formulas[m]) else f" / {formulas[m]:.2f}"))
                if m in ratios
                else ""
                for m in sizes
            ),
        )
    trees = curve.seconds["rail trees"]
    formula = paper.WAYS["rail trees"]
    out.add_row(
        "rail trees take",
        *(f"{seconds_text(trees[m])} / {seconds_text(formula.formula_s(curve.place, m))}" for m in sizes),
    )
    out.add_row("wins", *(curve.winner(m) for m in sizes))
    console.print(out)


def curves_of(document: dict[str, Any], rows: Sequence[Row]) -> dict[str, paper.Curve]:
    """Predicted where that was asked for, and measured, by what the pictures are called."""
    curves = {}
    for name, seconds in document["predicted"].items():
        by_size = {way: {int(m): s for m, s in of.items()} for way, of in seconds.items()}
        curves[f"predicted, 32 nodes in {name}"] = paper.Curve(paper.paper_place(name), by_size, "predicted")
    for network in PARTS["paper"]:
        curve = measured_curve(rows, load(network))
        if curve.seconds["rail trees"]:
            curves[f"measured, {network}"] = curve
    return curves


def show(document: dict[str, Any], console: Console) -> dict[str, Any]:
    """All tables; what the last line says."""
    rows = rows_of(document["records"], {name: load(name) for name in NETWORKS})
    for network in NETWORKS:
        for operation in OPERATIONS:
            for part, title in (("gain", "ECO"), ("stock", "stock"), ("cut", "a NIC cut in the middle")):
                mine = [r for r in rows if (r.part, r.network, r.operation) == (part, network, operation)]
                if mine:
                    show_rows(mine, f"{network}, {operation}, {title}", console)
    curves = curves_of(document, rows)
    for name, curve in curves.items():
        show_curve(curve, name, console)
    return {
        "gain": verdict(rows),
        "paper": {
            name: {way: curve.over_rail_trees(way) for way in paper.WAYS} for name, curve in curves.items()
        },
        "paper_claims": paper.CLAIMS,
    }


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--parts", default=",".join(PARTS), metavar="NAME,...")
    parser.add_argument("--lab", metavar="NETWORK,...", help="only on these")
    parser.add_argument("--operations", default=",".join(OPERATIONS), metavar="NAME,...")
    parser.add_argument("--sizes", metavar="SIZE,...", help="default: those of each part")
    parser.add_argument("--only", default="", metavar="TEXT;...",
                        help="stock and paper: only settings and ways whose name has one of these")  # fmt: skip
    parser.add_argument(
        "--carrier", choices=("tcp", "ucx"), default="tcp", help="of ECO's; keep each in a file of its own"
    )
    parser.add_argument("--launches", type=int, default=3)
    parser.add_argument("--repetitions", type=int, default=5, help="of a cell in a launch, at most")
    parser.add_argument(
        "--seconds", type=float, default=2, help="no further repetition after so many of them"
    )
    parser.add_argument("--check-bytes", type=int, default=4 << 20, metavar="BYTES",
                        help="check the results of cells of up to so many bytes")  # fmt: skip
    parser.add_argument("--timeout", type=float, default=300, metavar="S", help="of a launch")
    parser.add_argument("--build", type=Path, default=BUILD, metavar="FOLDER", help="of the program")
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="every record, beside those that the file has"
    )
    parser.add_argument("--picture", type=Path, metavar="FILE", help="the part paper as a chart (HTML)")
    parser.add_argument("--show", action="store_true", help="measure nothing")
    options = parser.parse_args()
    options.parts, options.operations = options.parts.split(","), options.operations.split(",")
    for given, known in ((options.parts, PARTS), (options.operations, OPERATIONS)):
        unknown = [word for word in given if word not in known]
        if unknown:
            parser.error(f"{', '.join(unknown)}: expected some of {', '.join(known)}")
    return options


def measure_all(document: dict[str, Any], options: argparse.Namespace, console: Console) -> None:
    here = provenance()

    def keep(record: dict[str, Any]) -> None:
        document["records"].append({**record, "provenance": here})
        save()

    def save() -> None:
        if options.json:
            write_json(options.json, document)

    if set(options.parts) - {"predicted", "stock"}:
        words = ["cmake", "--build", str(options.build), "--target", "bench-rails"]
        subprocess.run(words, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
    for part in options.parts:
        for network in PARTS[part]:
            if options.lab is None or network in options.lab.split(","):
                measure(part, network, options, keep, console)
    if "predicted" in options.parts:
        for name in paper.CLAIMS:
            document["predicted"][name] = paper.predict_all(paper.paper_place(name)).seconds
            save()


def main() -> int:
    options, console = parse(), Console(width=150)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # either keeps what is known
    document: dict[str, Any] = {"schema": SCHEMA, "version": VERSION, "predicted": {}, "records": []}
    if options.json and options.json.exists():
        document = read_json(options.json, SCHEMA, VERSION)
    if not options.show:
        measure_all(document, options, console)
    said = show(document, console)
    if options.picture:
        rows = rows_of(document["records"], {name: load(name) for name in NETWORKS})
        write_page(paper.chart(curves_of(document, rows)), options.picture)
    print(json.dumps(said))
    return 0


if __name__ == "__main__":
    sys.exit(main())
