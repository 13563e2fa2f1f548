"""Two rails inside SimGrid: do ways to use them rank there as ECO's predictor ranks them?

    python bench/simgrid/rails.py [--json F.json] [--sizes 16KiB,1MiB] [--only TEXT] [--check-bytes 65536]

32 hosts with two NICs of 1 Gbit/s, in one cluster and in two that are 10 ms apart, as the multirail paper has them
(bench/rails_paper.py): broadcasts by each of the paper's ways, with the segment that the predictor prefers, allreduce
and allgather on one rail and on both (bench/rails_cells.py). ECO's own Executor runs them on SimGrid's actors.
Nothing is fitted: platform and network are made from the same numbers. Needs SimGrid (`make simgrid`) and ECO's
build (`make build`), whose programs it builds. Simulated times are the same on every machine. The last line is one
JSON object.
"""

import itertools
import json
import statistics
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from eco import _core
from eco.report.records import seconds_text, size_text

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))
import command
import rails_paper as paper
from platforms import SETTINGS_OF
from rails_cells import RECIPES
from smpi import BUILD, Records, asked, lines

PLACES = tuple(paper.CLAIMS)
#: 64 MiB takes SimGrid minutes, and ranks like 16 MiB.
SIZES = "16KiB,64KiB,256KiB,1MiB,4MiB,16MiB"
SHARES = "1,1"
#: Times nearer to each other than this are a tie, whichever is smaller.
TIE = 0.02
LAWS = ("predicted_s", "in_turn_s")


def platform_text(place: paper.Place) -> str:
    """Every rail has its own NICs, switches, and line between the clusters; rank k's are n<k>r0, n<k>r1, ..."""
    size = place.ranks // place.clusters
    rate = f"{place.rail_bytes_per_s:.0f}Bps"
    parts = []
    for rail, cluster in itertools.product(range(place.n_rails), range(place.clusters)):
        name = f"c{cluster}r{rail}"
        parts.append(
            f'<cluster id="{name}" prefix="n" suffix="r{rail}" radical="{cluster * size}-{(cluster + 1) * size - 1}" '
            f'speed="1Gf" bw="{rate}" lat="{place.latency_s / 2:.9f}s" router_id="{name}-router"/>'
        )
        if place.clusters > 1:
            # Two uplinks and two hosts' links make up the way between.
            latency_s = (place.between_s - place.latency_s) / 2
            parts.append(
                f'<link id="up{name}" bandwidth="{rate}" latency="{latency_s:.9f}s" sharing_policy="SPLITDUPLEX"/>'
            )
    for rail in range(place.n_rails):
        for a, b in itertools.permutations([f"c{cluster}r{rail}" for cluster in range(place.clusters)], 2):
            parts.append(
                f'<zoneRoute src="{a}" dst="{b}" gw_src="{a}-router" gw_dst="{b}-router" symmetrical="NO">'
                f'<link_ctn id="up{a}" direction="UP"/><link_ctn id="up{b}" direction="DOWN"/></zoneRoute>'
            )
    # No message goes from rail to rail; SimGrid wants every zone reached.
    return (
        "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
        '<platform version="4.1"><zone id="world" routing="Full">\n'
        + "\n".join(parts)
        + "\n</zone></platform>\n"
    )


def settings() -> list[str]:
    """Those of two-clusters-64.xml that are not SMPI's own, under the model that has no factors."""
    found = ElementTree.parse(SETTINGS_OF).getroot().iter("prop")
    plain = [p for p in found if p.attrib["id"].startswith("network/")]
    return ["--cfg=network/model:CM02", *(f"--cfg={p.attrib['id']}:{p.attrib['value']}" for p in plain)]


def cells_of(place: paper.Place, sizes: Iterable[int], only: str) -> list[tuple[int, str, str]]:
    """Bytes, what the way is called, its recipe."""
    cells = []
    for size in sizes:
        cells += [
            (size, f"broadcast, {name}", paper.predicted(way, place, size)[0])
            for name, way in paper.WAYS.items()
        ]
        for operation in ("allreduce", "allgather"):
            cells += [
                (size, recipe, recipe) for recipe in (r.format(shares=SHARES) for r in RECIPES[operation])
            ]
    return [cell for cell in cells if only in cell[1]]


def compare(
    place: paper.Place, cells: Sequence[tuple[int, str, str]], check_bytes: int, programs: Path = BUILD
) -> Records:
    """One record for each cell: simulated, and predicted under both laws of sharing."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        platform, network, wanted, found = (
            folder / f for f in ("platform.xml", "network.json", "cells", "found")
        )
        platform.write_text(platform_text(place))
        network.write_text(_core.synthetic_network(place.words()))
        wanted.write_text("".join(f"{size} {recipe}\n" for size, _, recipe in cells))
        predicted = asked([programs / "bench-simgrid-predict", network, wanted])
        words: list[str | Path] = [
            programs / "bench-simgrid-rails",
            platform,
            network,
            wanted,
            found,
            str(place.n_rails),
            str(check_bytes),
        ]
        subprocess.run([*words, *settings(), "--log=root.thresh:warning"], check=True)
        simulated = lines(found.read_text())
    return [
        {**theirs, "way": way, **{law: ours[law] for law in LAWS}, "predict_cost_s": ours["predict_cost_s"]}
        for (_, way, _), theirs, ours in zip(cells, simulated, predicted, strict=True)
    ]


def pairs(records: Records) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Of ways of one operation and size."""
    tasks: dict[tuple[str, int], Records] = {}
    for record in records:
        tasks.setdefault((record["recipe"].split("/")[0], record["bytes"]), []).append(record)
    return [pair for task in tasks.values() for pair in itertools.combinations(task, 2)]


def swapped(records: Records, law: str) -> list[tuple[str, str, int]]:
    """Pairs that the two rank differently, neither calling them a tie."""
    found = []
    for a, b in pairs(records):
        there, here = a["simgrid_s"] / b["simgrid_s"], a[law] / b[law]
        if (there - 1) * (here - 1) < 0 and min(max(r, 1 / r) for r in (there, here)) > 1 + TIE:
            found.append((a["way"], b["way"], a["bytes"]))
    return found


def summary(records: Records) -> dict[str, Any]:
    said: dict[str, Any] = {"cells": len(records), "pairs": len(pairs(records))}
    for law in LAWS:
        errors = sorted(abs(record[law] / record["simgrid_s"] - 1) for record in records)
        said[law] = {
            "swapped": swapped(records, law),
            "median_abs_error": statistics.median(errors),
            "max_abs_error": errors[-1],
        }
    return said


def show(place: str, records: Records) -> None:
    print(f"\n{place}\n{'way':78} {'bytes':>8} {'SimGrid':>10} {'fair':>7} {'in turn':>8}")
    for record in sorted(records, key=lambda r: (r["recipe"].split("/")[0], r["bytes"], r["simgrid_s"])):
        errors = [100 * (record[law] / record["simgrid_s"] - 1) for law in LAWS]
        print(
            f"{record['way'][:78]:78} {size_text(record['bytes']):>8} {seconds_text(record['simgrid_s']):>10} "
            f"{errors[0]:+6.1f}% {errors[1]:+7.1f}%"
        )
    for law, name in zip(LAWS, ("fair", "in turn"), strict=True):
        for one, other, size in swapped(records, law):
            print(f"ranked differently ({name}): {one} and {other}, {size_text(size)}")


def main() -> int:
    options = command.parse(__doc__, SIZES, "ways that have this in their names")
    said, kept = {}, {}
    for name in PLACES:
        place = paper.paper_place(name)
        kept[name] = compare(
            place,
            cells_of(place, options.sizes, options.only),
            options.check_bytes,
            options.build,
        )
        show(name, kept[name])
        said[name] = summary(kept[name])
    command.write(options.json, "eco.bench.simgrid-rails", kept, summary=said)
    print(json.dumps(said))
    return 0


if __name__ == "__main__":
    sys.exit(main())
