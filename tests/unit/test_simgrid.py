"""bench/simgrid: the platform's numbers become the network's, and predictions agree with SimGrid's times."""

import importlib.util
import sys
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
    if reason := bench.why_not():
        pytest.skip(reason)
    bench.build()
    # One message at a time, many at once on one port, on the link between, and in both directions.
    recipes = ["broadcast/binomial", "broadcast/subnets segment=16384", "scatter/flat", "allreduce/doubling",
               "allgather/flat", "reduce_scatter/recursive_halving", "alltoall/bruck"]  # fmt: skip
    cells = [(size, recipe) for recipe in recipes for size in (1 << 10, 64 << 10)]
    records = bench.compare(cells, check_bytes=64 << 10)
    assert len(records) == len(cells)
    for record in records:
        assert abs(record["predicted_error"]) < 0.15, record
    times = [record["simgrid_s"] for record in records]
    assert times == [record["simgrid_s"] for record in bench.compare(cells)], "simulated times wobble"
