"""Measuring emulated hosts in tests: as long as this machine needs, and once more where it had a bad moment.

network = measured(lab, Path("network.json"), lambda network: len(network.subnets) == 3)
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from eco import jobs
from eco import network as networks
from eco.characterize import characterize_place
from eco.errors import EcoError
from eco.lab import Lab
from eco.network import Network

#: Enough on a usual machine; and what is given where that was too little.
BUDGETS_S = (7.0, 60.0)
LIMIT_S = 300.0  # against hangs only


def measured(lab: Lab, out: Path, is_right: Callable[[Network], bool] = lambda _: True) -> Network:
    """What eco-rank measures in the lab that is up. A launch may hang, a starved machine may not come to an end within
    the budget, or tell hosts apart that are alike: the caller judges the second try."""
    few_s, many_s = BUDGETS_S
    try:
        characterize_place(jobs.LabPlace(lab), out, few_s, LIMIT_S / 3, None)
        if is_right(found := networks.load(out)):
            return found
    except EcoError:
        pass
    characterize_place(jobs.LabPlace(lab), out, many_s, LIMIT_S, None)
    return networks.load(out)
