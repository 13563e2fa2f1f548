"""Network descriptions in TOML: read, and checked.

`load(path)` reads a file, `parse(text)` is given its text. Every mistake is refused with the place, the value and what
to write instead. docs/lab.md documents the format.
"""

from __future__ import annotations

import dataclasses
import re
import tomllib
from pathlib import Path
from typing import Any

from eco.errors import CorruptFile, InvalidArgument
from eco.lab.description import DEFAULT_QUEUE_BYTES, Description, Joint, JointPort, Segment, Traffic
from eco.lab.fabric import Fabric
from eco.paths import networks_dir
from eco.report.records import read_text
from eco.spelling import did_you_mean

SEGMENT_KINDS = ("switch", "bus")
JOINT_KINDS = ("bridge", "router")
TRAFFIC_KINDS = ("poisson", "cbr", "on-off")
MAX_HOSTS = 250
#: Of a line that is quoted in a message.
MOST_CHARACTERS = 100
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,31}$")


def shipped() -> list[Path]:
    """The descriptions that come with the package."""
    return sorted(networks_dir().glob("*.toml"))


def load(path: str | Path) -> Description:
    """Read and check a description, given by file or by the name of a shipped one.

    Raises InvalidArgument with file, place, value and remedy.
    """
    by_name = networks_dir() / f"{path}.toml"
    path = by_name if _NAME.match(str(path)) and not Path(path).exists() and by_name.exists() else Path(path)
    try:
        text = read_text(path)
    except CorruptFile as error:
        meant = did_you_mean(str(path), (each.stem for each in shipped()))
        raise InvalidArgument(
            f"{error}: cannot read the network description; `eco lab list` names the shipped ones{meant}"
        ) from error
    return parse(text, str(path))


def parse(text: str, source: str = "description") -> Description:
    """Check a description given as TOML text; `source` is named in errors."""
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # also a number of more digits than Python reads
        raise InvalidArgument(
            f"{source}: not valid TOML: {error}{_line_of(error, text)}; see docs/lab.md for an example"
        ) from error
    description = _Reader(source).description(data)
    Fabric(description, source)  # finds loops and islands
    return description


def _line_of(error: Exception, text: str) -> str:
    """The line that a mistake of TOML is said to be on; nothing where no line is said."""
    lines = text.split("\n")
    if "(at end of document)" in str(error):
        number = max((i for i, line in enumerate(lines, start=1) if line.strip()), default=0)
    else:
        found = re.search(r"\(at line (\d+), column \d+\)", str(error))
        number = int(found.group(1)) if found else 0
    if not 0 < number <= len(lines):
        return ""
    return f": line {number} is {lines[number - 1].strip()[:MOST_CHARACTERS]!r}"


class _Reader:
    """Turns TOML data into a Description, refusing what cannot be meant."""

    def __init__(self, source: str) -> None:
        self.source = source

    def fail(self, where: str, why: str, remedy: str) -> InvalidArgument:
        return InvalidArgument(f"{self.source}: {where}: {why}; {remedy}")

    def description(self, data: dict[str, Any]) -> Description:
        known = {
            "name",
            "about",
            "ranks_per_host",
            "queue_bytes",
            "segment",
            "joint",
            "traffic",
            "expect",
            "nics",
        }
        self.only(data, known, "top level")
        name = self.name(data.get("name"), "name")
        segments = self.segments(data.get("segment"))
        d = Description(
            name=name,
            segments=segments,
            joints=self.joints(data.get("joint", []), {s.name for s in segments}),
            about=self.text(data.get("about", ""), "about"),
            ranks_per_host=int(
                self.number(data.get("ranks_per_host", 1), "ranks_per_host", 1, 256, whole=True)
            ),
            queue_bytes=int(
                self.number(
                    data.get("queue_bytes", DEFAULT_QUEUE_BYTES), "queue_bytes", 1514, 1e9, whole=True
                )
            ),
        )
        if len(d.hosts) > MAX_HOSTS:
            raise self.fail("segments", f"{len(d.hosts)} hosts", f"at most {MAX_HOSTS} can be emulated")
        if len(d.hosts) * d.ranks_per_host < 2:
            raise self.fail("segments", "one host of one rank", "give more hosts, or ranks_per_host")
        rails = sorted({s.rail for s in segments})
        if rails != list(range(len(rails))):
            raise self.fail("segments", f"rails {rails}", "number them 0, 1, ... without gaps")
        nics = data.get("nics", len(rails))
        if nics != len(rails):
            raise self.fail(
                "nics",
                f"{nics} NICs, but segments with rails {rails}",
                "give each segment its rail = 0, 1, ...",
            )
        traffic = tuple(
            self.flow(t, i, d) for i, t in enumerate(self.tables(data.get("traffic", []), "traffic"))
        )
        return dataclasses.replace(
            d, traffic=traffic, expected_subnets=self.expected(data.get("expect", {}), d)
        )

    def segments(self, raw: Any) -> tuple[Segment, ...]:
        tables = self.tables(raw if raw is not None else [], "segment")
        if not tables:
            raise self.fail(
                "top level", "no [[segment]]", "describe at least one, with name, kind, rate_mbit, hosts"
            )
        segments: list[Segment] = []
        next_number: dict[int, int] = {}
        for i, t in enumerate(tables):
            where = f"segment {i + 1}"
            self.only(t, {"name", "kind", "rate_mbit", "hosts", "delay_us", "rail"}, where)
            name = self.name(t.get("name"), f"{where}, name")
            where = f"segment {name}"
            if any(s.name == name for s in segments):
                raise self.fail(where, "this name is taken", "give every segment its own")
            rail = int(self.number(t.get("rail", 0), f"{where}, rail", 0, 15, whole=True))
            hosts = self.hosts(t.get("hosts"), where, next_number, rail)
            for s in segments:
                twice = sorted(set(hosts) & set(s.hosts))
                if s.rail == rail and twice:
                    raise self.fail(
                        where,
                        f"hosts {', '.join(twice)} are on segment {s.name} already",
                        "one NIC is on one segment",
                    )
            segments.append(
                Segment(
                    name=name,
                    kind=self.choice(t.get("kind", "switch"), SEGMENT_KINDS, f"{where}, kind"),
                    rate_mbit=self.number(t.get("rate_mbit"), f"{where}, rate_mbit", 0.01, 100_000),
                    hosts=hosts,
                    delay_us=self.number(t.get("delay_us", 0), f"{where}, delay_us", 0, 1e7),
                    rail=rail,
                )
            )
        return tuple(segments)

    def hosts(self, raw: Any, where: str, next_number: dict[int, int], rail: int) -> tuple[str, ...]:
        if isinstance(raw, int) and not isinstance(raw, bool):
            n = int(self.number(raw, f"{where}, hosts", 0, MAX_HOSTS, whole=True))
            first = next_number.get(rail, 1)
            next_number[rail] = first + n
            return tuple(f"h{first + k}" for k in range(n))
        if not isinstance(raw, list):
            raise self.fail(f"{where}, hosts", f"{raw!r}", 'give a count (hosts = 3) or names (["a1", "a2"])')
        names = tuple(self.name(h, f"{where}, hosts") for h in raw)
        if len(set(names)) != len(names):
            raise self.fail(f"{where}, hosts", f"{list(names)} has a name twice", "name every host once")
        if "localhost" in names:
            raise self.fail(
                f"{where}, hosts", "localhost", "every host has that name already; choose another"
            )
        return names

    def joints(self, raw: Any, segment_names: set[str]) -> tuple[Joint, ...]:
        tables = self.tables(raw, "joint")
        names = [self.name(t.get("name"), f"joint {i + 1}, name") for i, t in enumerate(tables)]
        for name in names:
            if names.count(name) > 1 or name in segment_names:
                raise self.fail(
                    f"joint {name}", "this name is taken", "segments and joints share their names"
                )
        joints = []
        for name, t in zip(names, tables, strict=True):
            where = f"joint {name}"
            self.only(t, {"name", "kind", "ports", "delay_ms"}, where)
            ports = []
            for k, p in enumerate(self.tables(t.get("ports"), f"{where}, ports")):
                ports.append(self.port(p, f"{where}, port {k + 1}", name, segment_names, set(names)))
            if not ports:
                raise self.fail(
                    where, "no ports", "list them: ports = [{ segment = ..., rate_mbit = ... }, ...]"
                )
            joints.append(
                Joint(
                    name=name,
                    kind=self.choice(t.get("kind", "router"), JOINT_KINDS, f"{where}, kind"),
                    ports=tuple(ports),
                    delay_ms=self.number(t.get("delay_ms", 0), f"{where}, delay_ms", 0, 60_000),
                )
            )
        return tuple(joints)

    def port(
        self, p: dict[str, Any], where: str, own: str, segments: set[str], joints: set[str]
    ) -> JointPort:
        self.only(p, {"segment", "joint", "rate_mbit", "delay_ms"}, where)
        if ("segment" in p) == ("joint" in p):
            raise self.fail(
                where, "needs either segment or joint", 'for example { segment = "a", rate_mbit = 40 }'
            )
        what = "segment" if "segment" in p else "joint"
        to = p[what]
        among = segments if what == "segment" else joints - {own}
        if to not in among:
            raise self.fail(
                where, f"no other {what} {to!r}", f"there are: {', '.join(sorted(among)) or 'none'}"
            )
        rate = p.get("rate_mbit")
        if rate is None and what == "joint":
            raise self.fail(where, "no rate_mbit", "a link between joints needs its own rate")
        return JointPort(
            to=to,
            rate_mbit=None if rate is None else self.number(rate, f"{where}, rate_mbit", 0.01, 100_000),
            delay_ms=self.number(p.get("delay_ms", 0), f"{where}, delay_ms", 0, 60_000),
        )

    def flow(self, t: dict[str, Any], i: int, d: Description) -> Traffic:
        where = f"traffic {i + 1}"
        self.only(
            t, {"from", "to", "rate_mbit", "packet_bytes", "kind", "on_ms", "off_ms", "seed", "rail"}, where
        )
        rail = int(self.number(t.get("rail", 0), f"{where}, rail", 0, 15, whole=True))
        for end in ("from", "to"):
            if t.get(end) not in d.hosts:
                raise self.fail(
                    f"{where}, {end}", f"no host {t.get(end)!r}", f"there are: {', '.join(d.hosts)}"
                )
            if d.segment_of(t[end], rail) is None:
                raise self.fail(
                    f"{where}, {end}", f"{t[end]} has no NIC on rail {rail}", "choose another rail"
                )
        if t["from"] == t["to"]:
            raise self.fail(where, f"from and to are both {t['to']}", "a flow needs two hosts")
        kind = self.choice(t.get("kind", "poisson"), TRAFFIC_KINDS, f"{where}, kind")
        on_off = (0.001 if kind == "on-off" else 0, 3_600_000)
        return Traffic(
            source=t["from"],
            target=t["to"],
            rate_mbit=self.number(t.get("rate_mbit"), f"{where}, rate_mbit", 0.001, 100_000),
            packet_bytes=int(
                self.number(t.get("packet_bytes", 1514), f"{where}, packet_bytes", 60, 1514, whole=True)
            ),
            kind=kind,
            on_ms=self.number(t.get("on_ms", 0), f"{where}, on_ms", *on_off),
            off_ms=self.number(t.get("off_ms", 0), f"{where}, off_ms", *on_off),
            seed=int(self.number(t.get("seed", i + 1), f"{where}, seed", 0, 2**62, whole=True)),
            rail=rail,
        )

    def expected(self, raw: Any, d: Description) -> tuple[tuple[str, ...], ...]:
        if not isinstance(raw, dict):
            raise self.fail("expect", f"{raw!r}", "write [expect] with subnets = [[...], [...]]")
        self.only(raw, {"subnets"}, "expect")
        subnets = raw.get("subnets", [])
        if not (isinstance(subnets, list) and all(isinstance(s, list) for s in subnets)):
            raise self.fail("expect, subnets", f"{subnets!r}", "give lists of host names")
        listed = [h for s in subnets for h in s]
        if subnets and sorted(map(str, listed)) != sorted(d.hosts):
            raise self.fail(
                "expect, subnets",
                f"{listed} is not every host once",
                f"the hosts are {', '.join(d.hosts)}",
            )
        return tuple(tuple(s) for s in subnets)

    def tables(self, raw: Any, where: str) -> list[dict[str, Any]]:
        if not isinstance(raw, list) or not all(isinstance(t, dict) for t in raw):
            raise self.fail(
                where, f"{raw!r} is no list of tables", f"write [[{where}]] or a list of {{ ... }}"
            )
        return raw

    def only(self, table: dict[str, Any], known: set[str], where: str) -> None:
        for key in table:
            if key not in known:
                raise self.fail(where, f"unknown key {key!r}", f"known are: {', '.join(sorted(known))}")

    def name(self, raw: Any, where: str) -> str:
        if not isinstance(raw, str) or not _NAME.match(raw):
            raise self.fail(
                where, f"{raw!r} is no name", "a letter, then letters, digits, '-', at most 32 in all"
            )
        return raw

    def text(self, raw: Any, where: str) -> str:
        if not isinstance(raw, str):
            raise self.fail(where, f"{raw!r} is no text", "write it in quotes")
        return raw

    def choice(self, raw: Any, choices: tuple[str, ...], where: str) -> str:
        if raw not in choices:
            raise self.fail(where, f"{raw!r}", f"choose one of {', '.join(choices)}")
        return str(raw)

    def number(self, raw: Any, where: str, low: float, high: float, whole: bool = False) -> float:
        kinds = (int,) if whole else (int, float)
        if isinstance(raw, bool) or not isinstance(raw, kinds):
            what = "missing" if raw is None else f"{raw!r} is no {'whole ' if whole else ''}number"
            raise self.fail(where, what, f"give one from {low:g} to {high:g}")
        if not low <= raw <= high:
            raise self.fail(where, f"{raw} is out of range", f"give one from {low:g} to {high:g}")
        return float(raw)
