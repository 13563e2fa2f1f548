"""A network drawn: as a tree of subnets and a matrix of pair times on the terminal, as a page in a browser."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from eco.errors import InvalidArgument
from eco.network import Between, Level, Network, RailPair, Subnet
from eco.report.records import seconds_text, size_text, write_text

#: Beyond this many hosts a matrix on a terminal helps nobody; the page still shows it.
MOST_HOSTS_IN_TABLE = 16
#: Pairs of hosts whose rails are shown, a line each.
_MOST_RAIL_PAIRS = 16

#: Colours of the cells from the cheapest pair to the dearest.
_SHADES = ("green", "chartreuse3", "yellow", "dark_orange", "red")


def rate_text(bytes_per_s: float) -> str:
    """Payload a second, in the units of networks and of memories: 4.7 MB/s (38 Mbit/s)."""
    if bytes_per_s <= 0:
        return "unknown rate"
    for unit, factor in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if bytes_per_s >= factor:
            bits = 8 * bytes_per_s / factor
            return f"{bytes_per_s / factor:.3g} {unit}B/s ({bits:.3g} {unit}bit/s)"
    return f"{bytes_per_s:.3g} B/s"


def _latency_text(latency_s: float) -> str:
    """What a message of no bytes takes beyond the overheads at both ends, which may be nothing that could be told."""
    return f"latency {seconds_text(latency_s)}" if latency_s > 0 else "no latency beyond overheads"


def _rails(network: Network) -> Tree:
    """What hosts with several NICs have besides rail 0, which the rest of the tree describes."""
    names = [rail.name or f"rail {i}" for i, rail in enumerate(network.more_rails, 1)]
    first = network.rails[0] if network.rails else "rail 0"
    root = Tree(f"[bold]{1 + len(names)} rail{'s' * bool(names)}[/]")
    root.add(f"{escape(first)}  as above")
    for name, rail in zip(names, network.more_rails, strict=True):
        rates: list[Subnet | Between] = [subnet for subnet in rail.subnets if len(subnet.hosts) > 1]
        rates = rates or [*rail.between]
        slowest = min(rates, key=lambda each: each.bytes_per_s, default=None)
        what = f", {rate_text(slowest.bytes_per_s)}, {_latency_text(slowest.latency_s)}" if slowest else ""
        having = {host for subnet in rail.subnets for host in subnet.hosts}
        lacking = [host.name for i, host in enumerate(network.hosts) if i not in having]
        without = f", not on {escape(', '.join(lacking))}" if lacking else ""
        root.add(f"{escape(name)}{what}{without}")
    for name in network.rails[1:]:
        if name not in names:
            root.add(f"{escape(name)}  [dim]shares a link with one of these: not used[/]")
    for pair in network.rail_pairs[:_MOST_RAIL_PAIRS]:
        root.add(f"[dim]{escape(_rail_pair(network, pair))}[/]")
    if len(network.rail_pairs) > _MOST_RAIL_PAIRS:
        root.add(f"[dim]and {len(network.rail_pairs) - _MOST_RAIL_PAIRS} pairs more, in the file[/]")
    return root


def _rail_pair(network: Network, pair: RailPair) -> str:
    """One line: what each rail carries between these two hosts."""
    rails = (
        f"{rate_text(rate)}, {seconds_text(latency)}" if rate else "none"
        for rate, latency in zip(pair.bytes_per_s, pair.latency_s, strict=True)
    )
    return f"{network.hosts[pair.a].name} - {network.hosts[pair.b].name}: {'; '.join(rails)}"


def tree(network: Network) -> Tree:
    """Subnets with their kinds, rates and uplinks, hosts below."""
    n_hosts, n_subnets = len(network.hosts), len(network.subnets)
    title = f"[bold]{n_hosts} host{'s' * (n_hosts > 1)}, {n_subnets} subnet{'s' * (n_subnets > 1)}[/]"
    root = Tree(
        f"{title}  {escape(network.transport)}  [dim]{escape(network.measured_at)}  {network.fingerprint}[/]"
    )
    if network.note:
        root.add(f"[dim]{escape(network.note)}[/]")
    for index, subnet in enumerate(network.subnets):
        what = f"[bold]subnet {index}[/]  {subnet.kind}"
        if len(subnet.hosts) > 1:
            what += f", {rate_text(subnet.bytes_per_s)}, {_latency_text(subnet.latency_s)}"
        elif subnet.bytes_per_s > 0:
            what += f", at least {rate_text(subnet.bytes_per_s)}"
        uplink = network.uplink_of(index)
        if uplink is not None:
            sharing = "shared by its hosts" if uplink.shared else "for each pair"
            duplex = ", half duplex" if uplink.half_duplex else ""
            what += f"\n[cyan]uplink {rate_text(uplink.bytes_per_s)} {sharing}{duplex}[/]"
        branch = root.add(what)
        for host in subnet.hosts:
            entry = network.hosts[host]
            branch.add(f"{host}  {escape(entry.name)}  [dim]{escape(entry.address)}[/]")
    for site in network.sites:
        what = f"[bold]site[/] of subnets {', '.join(map(str, site.subnets))}"
        if site.bytes_per_s > 0:
            duplex = ", half duplex" if site.half_duplex else ""
            what += f"  [cyan]link {rate_text(site.bytes_per_s)} shared by its hosts{duplex}[/]"
        root.add(what)
    if network.between:
        branch = root.add("[bold]between subnets[/]")
        for pair in network.between:
            branch.add(
                f"{pair.from_subnet} - {pair.to_subnet}  {rate_text(pair.bytes_per_s)}, "
                f"{_latency_text(pair.latency_s)}"
            )
    if network.rails or network.more_rails:
        root.children.append(_rails(network))
    return root


def _level_words(level: Level) -> str:
    what = level.kind if level.hosts else "joins levels"
    if level.bytes_per_s > 0:
        what += f", {rate_text(level.bytes_per_s)}, {_latency_text(level.latency_s)}"
    if level.parent >= 0:
        if level.uplink_bytes_per_s is None:
            what += "\n[cyan]uplink holds nobody up[/]"
        else:
            duplex = ", half duplex" if level.half_duplex else ""
            over = f", oversubscribed {level.oversubscription:.2g} times" if level.oversubscription else ""
            what += f"\n[cyan]uplink {rate_text(level.uplink_bytes_per_s)}{duplex}{over}[/]"
        if level.evidence:
            what += f"\n[dim]{100 * level.confidence:.0f} % sure: {escape(level.evidence)}[/]"
    return what


def levels(network: Network) -> RenderableType:
    """The tree of levels behind the subnets, as deep as it is."""
    found = network.tree
    if found is None:
        return Text("tree of levels: not looked for", style="dim")

    pace = "pairs at once" if found.in_parallel else "one pair at a time"
    cost = f"{pace}, {seconds_text(found.seconds)}" if found.seconds > 0 else "of times measured before"
    root = Tree(
        f"[bold]tree of {len(found.levels)} level{'s' * (len(found.levels) > 1)}[/]  "
        f"{_level_words(found.levels[0])}\n[dim]{escape(found.verdict)}; {cost}[/]"
    )
    branches: list[Tree] = []  # by level; parents come before children
    for index, level in enumerate(found.levels):
        words = f"[bold]level {index}[/]  {_level_words(level)}"
        branch = root if index == 0 else branches[level.parent].add(words)
        if level.hosts:
            branch.add(", ".join(f"{host} {escape(network.hosts[host].name)}" for host in level.hosts))
        branches.append(branch)
    return root


def figure2(network: Network) -> Tree:
    """What Figure 2 of the ECO paper says of the same pairs: the baseline."""
    if not network.figure2:
        raise InvalidArgument("this network has no pair times, and Figure 2 is made of them")
    used = {subnet.hosts for subnet in network.subnets}
    same = "the subnets that are used" if used == set(network.figure2) else "not the subnets that are used"
    root = Tree(f"[bold]Figure 2: {len(network.figure2)} subnets[/]  [dim]{same}[/]")
    for hosts in network.figure2:
        root.add(", ".join(f"{host} {escape(network.hosts[host].name)}" for host in hosts))
    return root


def matrix(network: Network, size: int) -> RenderableType:
    """One-way times of all pairs at one size, hosts subnet by subnet, coloured from cheap to dear."""
    if len(network.hosts) > MOST_HOSTS_IN_TABLE:
        return Text(f"{len(network.hosts)} hosts: see the matrix with --html", style="dim")
    times = network.matrix(size)
    order = network.host_order()
    known = [t for row in times for t in row if not math.isnan(t)]
    table = Table(title=f"one way, {size_text(size)}", title_justify="left", box=None, pad_edge=False)
    table.add_column("")
    for host in order:
        table.add_column(escape(network.hosts[host].name), justify="right")
    previous = network.subnet_of(order[0]) if order else 0
    for a in order:
        if network.subnet_of(a) != previous:
            table.add_section()
            previous = network.subnet_of(a)
        cells = [_cell(times[a][b], known) for b in order]
        table.add_row(f"[bold]{escape(network.hosts[a].name)}[/]", *cells)
    return table


def _cell(seconds: float, known: list[float]) -> str:
    if math.isnan(seconds):
        return "[dim].[/]"
    low, high = math.log(min(known)), math.log(max(known))
    place = 0.0 if high <= low else (math.log(seconds) - low) / (high - low)
    shade = _SHADES[min(len(_SHADES) - 1, int(place * len(_SHADES)))]
    return f"[{shade}]{seconds_text(seconds)}[/]"


def evidence(network: Network) -> Table:
    """The tests with several pairs at once: what was found shared rests on these."""
    table = Table(title="several pairs at once", title_justify="left", box=None, pad_edge=False)
    for column in ("test", "pairs"):
        table.add_column(column)
    for column in ("alone", "together", "slower"):
        table.add_column(column, justify="right")
    for test in network.concurrent:
        pairs = ", ".join(f"{a}->{b}" for a, b in test.pairs)
        alone, together = max(test.alone_s), max(test.together_s)
        table.add_row(
            test.what, pairs, seconds_text(alone), seconds_text(together), f"{together / alone:.2f}x"
        )
    return table


def picture(network: Network) -> Group:
    """Everything `eco show` prints."""
    parts: list[RenderableType] = [tree(network)]
    if network.tree is not None:
        parts += [Text(), levels(network)]
    if network.pairs:
        for size in dict.fromkeys((network.sizes[0], network.sizes[-1])):
            parts += [Text(), matrix(network, size)]
    if network.concurrent:
        parts += [Text(), evidence(network)]
    return Group(*parts)


def write_html(network: Network, path: Path) -> None:
    """A self-contained interactive page: the matrix at every size, with a menu of sizes."""
    import plotly.graph_objects as go

    order = network.host_order()
    labels = [f"{network.hosts[host].name} ({network.subnet_of(host)})" for host in order]
    figure = go.Figure()
    for index, size in enumerate(network.sizes):
        times = network.matrix(size)
        rows = [[1e6 * times[a][b] for b in order] for a in order]
        figure.add_heatmap(
            z=rows,
            x=labels,
            y=labels,
            visible=index == len(network.sizes) - 1,
            colorscale="Viridis",
            colorbar={"title": "us"},
            hovertemplate="%{y} to %{x}: %{z:.4g} us<extra></extra>",
            name=size_text(size),
        )
    buttons = [
        {
            "label": size_text(size),
            "method": "update",
            "args": [{"visible": [other == size for other in network.sizes]}],
        }
        for size in network.sizes
    ]
    kinds = "; ".join(
        f"subnet {i}: {subnet.kind}, {rate_text(subnet.bytes_per_s)}"
        for i, subnet in enumerate(network.subnets)
    )
    figure.update_layout(
        title={"text": f"One-way times between hosts ({network.transport})<br><sub>{kinds}</sub>"},
        yaxis={"autorange": "reversed", "scaleanchor": "x"},
        updatemenus=[{"buttons": buttons, "active": len(buttons) - 1, "x": 1.0, "y": 1.15}],
    )
    page = str(figure.to_html(include_plotlyjs=True))
    if network.tree is not None:
        drawn = _levels_figure(network).to_html(include_plotlyjs=False, full_html=False)
        page = page.replace("</body>", f"{drawn}</body>")
    write_text(path, page)


def _levels_figure(network: Network) -> Any:
    """The tree of levels, the root on the left; hosts are its leaves."""
    import plotly.graph_objects as go

    assert network.tree is not None
    ids, labels, parents, hover = [], [], [], []
    for index, level in enumerate(network.tree.levels):
        ids.append(f"level {index}")
        labels.append(f"level {index}<br>{level.kind if level.hosts else 'joins'}")
        parents.append("" if level.parent < 0 else f"level {level.parent}")
        hover.append(re.sub(r"\[[^]]*\]", "", _level_words(level)).replace("\n", "<br>"))
        for host in level.hosts:
            ids.append(f"host {host}")
            labels.append(network.hosts[host].name)
            parents.append(f"level {index}")
            hover.append(network.hosts[host].address)
    figure = go.Figure(
        go.Icicle(ids=ids, labels=labels, parents=parents, hovertext=hover, hoverinfo="label+text")
    )
    figure.update_layout(title={"text": f"Tree of levels<br><sub>{network.tree.verdict}</sub>"})
    return figure
