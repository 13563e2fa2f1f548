"""bench/simgrid: the platform's numbers become the network's, and predictions agree with SimGrid's times."""

import importlib.util
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).parents[2] / "bench" / "simgrid"
PLATFORM = FOLDER / "two-clusters-64.xml"


def _load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up, and run.py this one
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def platform_file() -> ModuleType:
    return _load("platform_file")


def test_the_network_is_the_platforms(platform_file: ModuleType) -> None:
    network = platform_file.Platform(PLATFORM).network()
    near, far = network["subnets"]
    assert (len(near["hosts"]), near["bytes_per_s"]) == (48, 1.25e9)
    assert (len(far["hosts"]), far["bytes_per_s"]) == (16, 6.25e8)
    assert near["latency_s"] == pytest.approx(20e-6)
    (between,) = network["between"]
    assert between["latency_s"] == pytest.approx(5.02e-3)
    assert [uplink["bytes_per_s"] for uplink in network["uplinks"]] == [1.25e8, 1.25e8]
    assert network["overheads"]["combine_bytes_per_s"] == 4e9


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"5ms"', '"5 weeks"', "none of the units"),
        ('sharing_policy="SPLITDUPLEX"', 'sharing_policy="SHARED"', "not one link with two directions"),
        ('radical="0-15" speed="500Mf"', 'radical="0-15" speed="1Gf"', "one speed for all hosts"),
        ('id="smpi/or" value="0:1e-6:0"', 'id="smpi/or" value="0:1e-6:1e-9"', "smpi/or is not the same"),
    ],
)
def test_what_a_network_cannot_say_is_refused(
    platform_file: ModuleType, tmp_path: Path, old: str, new: str, message: str
) -> None:
    text = PLATFORM.read_text()
    assert text.count(old) == 1
    other = tmp_path / "other.xml"
    other.write_text(text.replace(old, new))
    with pytest.raises(ValueError, match=message):
        platform_file.Platform(other).network()


@pytest.mark.slow
def test_predictions_agree_with_simgrid(platform_file: ModuleType) -> None:
    bench = _load("run")
    if reason := bench.command.why_not():
        pytest.skip(reason)
    bench.command.build()
    # One message at a time, many at once on one port, on the link between, and in both directions.
    recipes = ["broadcast/binomial", "broadcast/subnets segment=16384", "scatter/flat", "allreduce/doubling",
               "allgather/flat", "reduce_scatter/recursive_halving", "alltoall/bruck"]  # fmt: skip
    cells = [(size, recipe) for recipe in recipes for size in (1 << 10, 64 << 10)]
    records = bench.compare(cells, check_bytes=64 << 10)
    assert len(records) == len(cells)
    for record in records:
        assert abs(record["predicted_error"]) < 0.15, record
    again = bench.compare(cells[:2])
    assert [each["simgrid_s"] for each in again] == [each["simgrid_s"] for each in records[:2]], (
        "times wobble"
    )


def test_every_host_has_a_nic_on_every_rail() -> None:
    rails = _load("rails")
    place = rails.paper.paper_place("two clusters")
    world = ElementTree.fromstring(rails.platform_text(place)).find("zone")
    assert world is not None
    radicals = sorted((c.attrib["suffix"], c.attrib["radical"]) for c in world.iter("cluster"))
    assert radicals == [("r0", "0-15"), ("r0", "16-31"), ("r1", "0-15"), ("r1", "16-31")]
    assert {round(float(c.attrib["bw"].removesuffix("Bps"))) for c in world.iter("cluster")} == {
        round(place.rail_bytes_per_s)
    }
    # Between clusters: two hosts' links and two uplinks; never from rail to rail.
    host_s = float(next(world.iter("cluster")).attrib["lat"].removesuffix("s"))
    uplink_s = float(next(world.iter("link")).attrib["latency"].removesuffix("s"))
    assert 2 * host_s == pytest.approx(place.latency_s)
    assert 2 * (host_s + uplink_s) == pytest.approx(place.between_s)
    ends = [(r.attrib["src"][2:], r.attrib["dst"][2:]) for r in world.iter("zoneRoute")]
    assert sorted(ends) == [("r0", "r0"), ("r0", "r0"), ("r1", "r1"), ("r1", "r1")]


def test_ways_ranked_differently_are_found_and_ties_are_none() -> None:
    rails = _load("rails")

    def record(way: str, simgrid_s: float, predicted_s: float) -> dict[str, object]:
        return {
            "way": way,
            "recipe": "broadcast/x",
            "bytes": 8,
            "simgrid_s": simgrid_s,
            "predicted_s": predicted_s,
        }

    records = [record("a", 1.0, 1.0), record("b", 1.1, 0.9), record("c", 1.01, 0.5), record("d", 2.0, 2.0)]
    # a and c are a tie in SimGrid.
    assert rails.swapped(records, "predicted_s") == [("a", "b", 8)]


@pytest.mark.slow
def test_predictions_agree_with_simgrid_on_two_rails() -> None:
    rails = _load("rails")
    if reason := rails.command.why_not():
        pytest.skip(reason)
    rails.command.build()
    place = rails.paper.paper_place("two clusters")
    cells = [cell for cell in rails.cells_of(place, [16 << 10], "") if "window=2" not in cell[2]]
    records = rails.compare(place, cells, check_bytes=16 << 10)
    assert len(records) == len(cells) > 5
    for record in records:
        assert abs(record["predicted_s"] / record["simgrid_s"] - 1) < 0.05, record
    assert rails.swapped(records, "predicted_s") == []
    again = rails.compare(place, cells[:2], 16 << 10)
    assert [each["simgrid_s"] for each in again] == [each["simgrid_s"] for each in records[:2]], (
        "times wobble"
    )
