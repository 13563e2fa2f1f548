"""What broadcasts take whose ranks come at different times, as the predictor has it."""

import json

import pytest

from eco import _core
from eco.errors import InvalidArgument

HOSTS = list(range(8))
BYTES = 1 << 20
CHAIN = "broadcast/chain segment=8192"


@pytest.fixture(scope="module")
def network() -> str:
    return _core.synthetic_network("hosts=8 rate_mbit=50")


def ends(network: str, plan: str, arrivals: list[float], recipe: str = CHAIN) -> list[float]:
    return _core.late_ends(network, HOSTS, BYTES, 0, recipe, plan, arrivals)


def test_a_late_rank_holds_up_others_in_a_static_chain_alone(network: str) -> None:
    on_time = max(ends(network, "static", [0.0] * 8))
    late = [0.0] * 8
    late[3] = 2 * on_time
    assert ends(network, "static", late)[7] > late[3]
    mended = ends(network, "mended", late)
    assert mended[7] < 1.1 * on_time
    assert mended[3] >= _core.clairvoyant_bound(network, HOSTS, BYTES, 0, late)
    assert mended[3] < 1.1 * (late[3] + on_time)


def test_every_plan_is_predicted(network: str) -> None:
    for plan in _core.late_plans():
        assert max(ends(network, plan, [0.0] * 8, "broadcast/binomial")) > 0


def test_what_fits_nothing_is_refused(network: str) -> None:
    for plan, recipe, arrivals in (
        ("sometimes", CHAIN, [0.0] * 8),
        ("mended", "broadcast/two_tree segment=8192", [0.0] * 8),
        ("mended", "reduce/chain", [0.0] * 8),
        ("mended", CHAIN, [0.0] * 7),
    ):
        with pytest.raises(InvalidArgument):
            ends(network, plan, arrivals, recipe)
    with pytest.raises(InvalidArgument):
        _core.clairvoyant_bound(network, HOSTS, BYTES, 0, [0.0] * 7)
    with pytest.raises(InvalidArgument):
        _core.prove_late("mended", 0, True, 1, 10)


def test_proofs_are_counted() -> None:
    proof = json.loads(_core.prove_late("mended", 3, True, 1, 10))
    assert proof["plays"] == proof["cases"] * (6 * 9 + 10)
    assert proof["faults"] == []
