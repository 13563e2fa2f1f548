"""The measured partition for MPICH's trees over a topology: MPIR_CVAR_COORDINATES_FILE.

One line is skipped, then every rank has three integers: group, switch, port. A subnet is a group with one switch; a
port is a host of it.
"""

from __future__ import annotations

from collections.abc import Sequence


def text(hosts: Sequence[str], subnets: Sequence[int], notes: Sequence[str]) -> str:
    lines = ["# rank: group switch port; " + "; ".join(notes)]
    for rank, (host, subnet) in enumerate(zip(hosts, subnets, strict=True)):
        inside = list(dict.fromkeys(h for h, s in zip(hosts, subnets, strict=True) if s == subnet))
        lines.append(f"{rank}: {subnet} {subnet} {inside.index(host)}")
    return "\n".join(lines) + "\n"
