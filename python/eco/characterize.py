"""Measuring a network by eco-rank characterize, between the ranks of a place.

network = characterize_place(LauncherPlace(line), Path("network.json"), None, 300, print)
describe(network)                          # "8 hosts in 3 subnets (3+3+2)"
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from eco import jobs
from eco import network as networks
from eco.errors import EcoError, InvalidArgument
from eco.report.records import read_json, take

Remembered = Literal["replaced", "used", "left"]


def characterize_place(
    place: jobs.Place,
    output: Path | None,
    budget_s: float | None,
    timeout_s: float | None,
    watch: Callable[[str], None] | None,
    plogp: bool = False,
    remembered: Remembered = "replaced",
    rail_plogp: bool = False,
) -> dict[str, Any]:
    """Runs eco-rank characterize; the network as read back. A failed run leaves an older output as it was.

    `remembered`: what becomes of the network that jobs on these hosts remember. `replaced`: this one takes its
    place. `used`: where there is one, it is the result, and nothing is measured but rails that it does not know.
    `left`: it stays, with the plans that were made for it. `plogp`: the curves of every class over the library's
    own messages, `rail_plogp`: over each rail.
    """
    if output is not None and not output.absolute().parent.is_dir():
        raise InvalidArgument(f"{output}: the folder {output.absolute().parent} does not exist")
    # Beside the output, so that the ranks' host sees it wherever it will see the output.
    with jobs.scratch("characterize", output.absolute().parent if output else None) as folder:
        fresh = folder / "network.json"
        words = [place.rank_program(), "characterize", "--out", str(fresh), "--progress"]
        if budget_s is not None:
            words += ["--budget", f"{budget_s:g}"]
        if plogp:
            words.append("--plogp")
        if rail_plogp:
            words.append("--rail-plogp")
        if remembered != "replaced":
            words += ["--remembered", remembered]
        ended = place.start(place.stock(words), timeout_s, watch)
        jobs.check(ended, "characterization", "nothing was remembered, and no file was written or changed")
        if not fresh.exists():
            raise EcoError(
                f"characterization ended well but {fresh.name} is not here: rank 0 ran on a host "
                "with another file system; choose -o on a shared one"
            )
        network = read_json(fresh, *networks.SCHEMA)
        if output is not None:
            take(output, fresh)
    return network


def describe(network: dict[str, Any]) -> str:
    """One line; `eco show` shows the rest."""
    hosts, subnets = network["hosts"], network["subnets"]
    sizes = "+".join(str(len(subnet["hosts"])) for subnet in subnets)
    text = f"{_counted(len(hosts), 'host')} in {_counted(len(subnets), 'subnet')} ({sizes})"
    if measured := len(network.get("plogp", ())):
        text += f", pLogP in {_counted(measured, 'direction')}"
    if on_rails := len(network.get("rail_plogp", ())):
        text += f", pLogP over {_counted(on_rails, 'rail')}"
    return text


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'s' if number > 1 else ''}"
