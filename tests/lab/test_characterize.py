"""The structure of described networks is found again by measuring, through launcher, MPI library and relay."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from eco.lab import Description, Lab, load, parse
from eco.network import Network
from eco.paths import networks_dir

from .measuring import measured

pytestmark = [pytest.mark.lab, pytest.mark.mpi]


def partition_of(network: Network) -> set[frozenset[str]]:
    """By names: measured hosts are numbered in the order of ranks, which the placement shuffles."""
    return {frozenset(network.hosts[host].name for host in subnet.hosts) for subnet in network.subnets}


def expected_of(description: Description) -> set[frozenset[str]]:
    return {frozenset(subnet) for subnet in description.expected_subnets}


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ECO_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "library"),
    [
        ("three-subnets", "openmpi"),
        ("three-subnets", "mpich"),
        ("eco-1995", "openmpi"),
        ("one-switch", "mpich"),
    ],
)
def test_the_partition_is_that_of_the_description(name: str, library: str) -> None:
    description = load(name)
    expected = expected_of(description)
    assert expected
    with Lab(description, library=library, placement="shuffled:1") as lab:
        assert lab.hosts_of_ranks != description.hosts
        found = measured(lab, Path("network.json"), lambda found: partition_of(found) == expected)
    assert partition_of(found) == expected


@pytest.mark.slow
def test_other_names_and_rates_are_measured_not_known() -> None:
    text = (networks_dir() / "three-subnets.toml").read_text()
    names = iter(("anna", "bert", "carl", "dora", "emil", "fred", "gero", "hugo"))
    for count in (3, 3, 2):
        hosts = ", ".join(f'"{next(names)}"' for _ in range(count))
        text = text.replace(f"hosts = {count}\n", f"hosts = [{hosts}]\n", 1)
    text = (
        text.partition("[expect]")[0]
        .replace('"three-subnets"', '"renamed"')
        .replace("rate_mbit = 40", "rate_mbit = 20")
    )
    description = parse(text)
    expected = {frozenset(segment.hosts) for segment in description.segments}
    assert frozenset(("anna", "bert", "carl")) in expected
    with Lab(description, placement="shuffled:2") as lab:
        found = measured(lab, Path("network.json"), lambda found: is_right(found, expected))
    assert is_right(found, expected), dataclasses.asdict(found)["uplinks"]


def is_right(found: Network, expected: set[frozenset[str]]) -> bool:
    """The partition, and uplinks of 20 Mbit/s: nearer to these than to the 40 that are shipped."""
    uplinks = [uplink.bytes_per_s * 8 / 1e6 for uplink in found.uplinks]
    return (
        partition_of(found) == expected
        and len(uplinks) == len(expected)
        and all(0.5 * 20 <= rate <= 1.4 * 20 for rate in uplinks)
    )
