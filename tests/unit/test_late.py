"""What collectives take whose ranks come at different times, as the predictor has it."""

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
    collective = recipe.partition("/")[0]
    return _core.late_ends(network, HOSTS, collective, BYTES, 0, recipe, plan, arrivals)


def test_a_late_rank_holds_up_others_in_a_static_chain_alone(network: str) -> None:
    on_time = max(ends(network, "static", [0.0] * 8))
    late = [0.0] * 8
    late[3] = 2 * on_time
    assert ends(network, "static", late)[7] > late[3]
    mended = ends(network, "mended", late)
    assert mended[7] < 1.1 * on_time
    assert mended[3] >= _core.clairvoyant_bound(network, HOSTS, BYTES, 0, late)
    assert mended[3] < 1.1 * (late[3] + on_time)


# Waves of a reduction are patient for half of what one vector takes (docs/adr/0027).
@pytest.mark.parametrize(
    ("recipe", "most"), [("reduce/chain segment=8192", 1.6), ("gather/chain segment=8192", 1.1)]
)
def test_who_is_on_time_leaves_what_goes_to_the_root_without_the_late(
    network: str, recipe: str, most: float
) -> None:
    on_time = max(ends(network, "static", [0.0] * 8, recipe))
    late = [0.0] * 8
    late[4] = 2 * on_time
    statically = ends(network, "static", late, recipe)
    mended = ends(network, "mended", late, recipe)
    # All below 1 in the chain but the late one have others to wait for; 1 to 3 wait for it in a static chain.
    assert min(statically[1:4]) > late[4]
    assert max(mended[1:4]) < most * on_time
    assert late[4] < mended[0] < late[4] + most * on_time


def test_an_allreduce_has_only_the_late_ones_part_left_to_do(network: str) -> None:
    late = [0.0] * 8
    late[4] = 10 * max(ends(network, "static", [0.0] * 8, "allreduce/ring segment=8192"))
    statically = max(ends(network, "static", late, "allreduce/ring segment=8192")) - late[4]
    mended = max(ends(network, "mended", late, "allreduce/ring segment=8192")) - late[4]
    assert mended < 0.75 * statically


def test_an_allgather_has_only_the_late_ones_block_left_for_the_others(network: str) -> None:
    ring = "allgather/chain segment=8192"
    on_time = max(ends(network, "static", [0.0] * 8, ring))
    # A rank's link out carries its own block to the root and all eight down; round a ring it is seven.
    assert max(ends(network, "mended", [0.0] * 8, ring)) < 1.4 * on_time
    late = [0.0] * 8
    late[4] = 2 * on_time
    mended = ends(network, "mended", late, ring)
    others = sorted(end - late[4] for rank, end in enumerate(mended) if rank != 4)
    # The late rank's library has all that others brought when it comes.
    assert others[-1] < 0.3 * on_time
    assert mended[4] - late[4] < 0.3 * on_time
    statically = ends(network, "static", late, ring)
    assert min(end for rank, end in enumerate(statically) if rank != 4) - late[4] > 0.9 * on_time


def test_every_plan_is_predicted(network: str) -> None:
    for plan in _core.late_plans():
        assert max(ends(network, plan, [0.0] * 8, "broadcast/binomial")) > 0


def test_what_fits_nothing_is_refused(network: str) -> None:
    for plan, recipe, arrivals in (
        ("sometimes", CHAIN, [0.0] * 8),
        ("mended", "alltoall/flat", [0.0] * 8),
        ("depth_first", "reduce/chain", [0.0] * 8),
        ("mended", "broadcast/nothing", [0.0] * 8),
        ("mended", CHAIN, [0.0] * 7),
    ):
        with pytest.raises(InvalidArgument):
            ends(network, plan, arrivals, recipe)
    with pytest.raises(InvalidArgument):
        _core.clairvoyant_bound(network, HOSTS, BYTES, 0, [0.0] * 7)
    with pytest.raises(InvalidArgument):
        _core.prove_late("mended", "broadcast", 0, True, 1, 10)
    for plan, collective in (("mended", "alltoall"), ("breadth_first", "gather"), ("mended", "nothing")):
        with pytest.raises(InvalidArgument):
            _core.prove_late(plan, collective, 2, True, 1, 10)


def test_proofs_are_counted() -> None:
    proof = json.loads(_core.prove_late("mended", "reduce", 3, True, 1, 10))
    assert proof["plays"] == proof["cases"] * (6 * 9 + 10)
    assert proof["faults"] == []
