"""A description as a text tree, with the bounds that follow from it."""

from __future__ import annotations

from rich.table import Table
from rich.tree import Tree

from eco.lab.bounds import bound_s
from eco.lab.description import Description, Joint, JointPort, Segment

BOUND_CASES = (("broadcast", 16_384), ("broadcast", 1 << 20), ("allreduce", 16_384), ("allreduce", 1 << 20))


def tree(description: Description) -> Tree:
    """Every rail from its first joint (or segment) downwards."""
    root = Tree(f"[bold]{description.name}[/]  {description.about}")
    for rail in range(description.n_rails):
        segments = [s for s in description.segments if s.rail == rail]
        branch = root if description.n_rails == 1 else root.add(f"rail {rail} (eth{rail})")
        seen: set[str] = set()
        first = next((j for j in description.joints if _leads_to(description, j, segments[0].name)), None)
        if first is None:
            for s in segments:
                _add_segment(description, branch, s, "", seen)
        else:
            _add_joint(description, branch, first, "", seen)
    for t in description.traffic:
        root.add(
            f"background: {t.source} to {t.target}, {t.rate_mbit:g} Mbit/s, {t.kind}, {t.packet_bytes} B packets"
        )
    root.add(
        f"{len(description.hosts)} hosts, {description.ranks_per_host} rank(s) each; "
        f"queues of {description.queue_bytes / 1e6:g} MB"
    )
    if description.expected_subnets:
        root.add(
            "expected subnets: " + "  ".join("{" + ", ".join(s) + "}" for s in description.expected_subnets)
        )
    return root


def bounds_table(description: Description) -> Table:
    """The least time of a few collectives, one rank per slot in block order."""
    table = Table(title="no algorithm is faster (block placement)", title_justify="left", box=None)
    for name, justify in (("collective", "left"), ("bytes", "right"), ("ms", "right"), ("because", "left")):
        table.add_column(name, justify="right" if justify == "right" else "left")
    for collective, n in BOUND_CASES:
        bound = bound_s(description, "block", collective, n)
        table.add_row(collective, f"{n}", f"{bound.seconds * 1e3:.2f}", bound.explanation)
    return table


def _leads_to(description: Description, joint: Joint, segment: str) -> bool:
    reached, names = {joint.name}, {j.name: j for j in description.joints}
    while True:
        more = {p.to for n in reached if n in names for p in names[n].ports}
        more |= {j.name for j in description.joints if any(p.to in reached & set(names) for p in j.ports)}
        if more <= reached:
            return segment in reached
        reached |= more


def _link(port: JointPort) -> str:
    rate = "" if port.rate_mbit is None else f" {port.rate_mbit:g} Mbit/s"
    delay = "" if port.delay_ms == 0 else f" {port.delay_ms:g} ms"
    return f"[dim]link{rate}{delay}[/] " if rate or delay else ""


def _add_segment(description: Description, branch: Tree, segment: Segment, link: str, seen: set[str]) -> None:
    if segment.name in seen:
        return
    seen.add(segment.name)
    what = "shared bus" if segment.kind == "bus" else "switch"
    delay = f", {segment.delay_us:g} us" if segment.delay_us else ""
    node = branch.add(f"{link}[cyan]{segment.name}[/] ({what}, {segment.rate_mbit:g} Mbit/s{delay})")
    if segment.hosts:
        node.add(" ".join(segment.hosts))
    for joint in description.joints:
        for port in joint.ports:
            if port.to == segment.name:
                _add_joint(description, node, joint, _link(port), seen)


def _add_joint(description: Description, branch: Tree, joint: Joint, link: str, seen: set[str]) -> None:
    if joint.name in seen:
        return
    seen.add(joint.name)
    delay = f", {joint.delay_ms:g} ms" if joint.delay_ms else ""
    node = branch.add(f"{link}[yellow]{joint.name}[/] ({joint.kind}{delay})")
    segments = {s.name: s for s in description.segments}
    for port in joint.ports:
        if port.to in segments:
            _add_segment(description, node, segments[port.to], _link(port), seen)
        else:
            far = next(j for j in description.joints if j.name == port.to)
            _add_joint(description, node, far, _link(port), seen)
    for other in description.joints:
        for port in other.ports:
            if port.to == joint.name:
                _add_joint(description, node, other, _link(port), seen)
