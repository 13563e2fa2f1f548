"""Results of eco bench: one record per cell of the grid, every raw sample beside them.

    results = Results(records, samples, provenance)
    results.write(path)            # {"schema": "eco.bench", "version": 1, "records": [...], "samples": [...]}
    again = Results.read(path)

A cell is one collective at one size, placement, network and library; its record compares stock with ECO over
paired launches. The keys are a public interface: programs read these files.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from eco import stats
from eco.collectives import COLLECTIVES as COLLECTIVES
from eco.collectives import check_known
from eco.errors import CorruptFile, InvalidArgument

SCHEMA = "eco.bench"
VERSION = 1


DEFAULT_SIZES = "8,1KiB,16KiB,128KiB,1MiB"

#: Lengths of messages are numbers of 64 bits, and an operation has one for each of many ranks.
MOST_BYTES = 2**40

_UNITS = {"": 1, "b": 1, "kib": 1024, "mib": 1024**2, "gib": 1024**3, "kb": 1000, "mb": 10**6, "gb": 10**9,
          "k": 1024, "m": 1024**2, "g": 1024**3}  # fmt: skip


def parse_size(text: str) -> int:
    """Bytes: `8`, `16KiB` (1024), `16kB` (1000), `1.5 MiB`; `16k` and `1M` are binary, as in benchmarks."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", text)
    if not match or match.group(2).lower() not in _UNITS:
        raise InvalidArgument(
            f"size {text!r}: expected a number with B, KiB, MiB, GiB, kB, MB or GB, like 16KiB"
        )
    value = float(match.group(1)) * _UNITS[match.group(2).lower()]
    if value > MOST_BYTES:
        raise InvalidArgument(f"size {text[:40]!r}: more than {size_text(MOST_BYTES)}")
    if value != int(value):
        raise InvalidArgument(f"size {text!r} is {value} bytes: a fraction of a byte")
    return int(value)


def parse_sizes(text: str) -> list[int]:
    """A comma-separated list of sizes, ascending, each once."""
    sizes = sorted({parse_size(word) for word in text.split(",") if word.strip()})
    if not sizes:
        raise InvalidArgument("no sizes given: expected a list like 8,16KiB,1MiB")
    return sizes


def parse_ops(text: str) -> list[str]:
    """A comma-separated list of operations, in the order given, each once; `all` is all twelve."""
    names = [word.strip() for word in text.split(",") if word.strip()]
    if names == ["all"]:
        return list(COLLECTIVES)
    for name in names or [text]:
        check_known(name)
    return list(dict.fromkeys(names))


def size_text(size: int) -> str:
    """The shortest exact form: 8 B, 16 KiB, 1 MiB, 16000 B."""
    for unit, factor in (("GiB", 1024**3), ("MiB", 1024**2), ("KiB", 1024)):
        if size >= factor and size % factor == 0:
            return f"{size // factor} {unit}"
    return f"{size} B"


def seconds_text(seconds: float) -> str:
    """Three digits with a unit."""
    for unit, factor in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= factor:
            value = seconds / factor
            return f"{value:.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


#: (network, library, placement, collective, bytes)
Cell = tuple[str, str, str, str, int]


@dataclass(frozen=True)
class Record:
    """One cell: stock against ECO."""

    collective: str
    bytes: int
    ranks: int
    placement: str
    network: str
    library: str
    stock_median_s: float
    eco_median_s: float
    stock_min_s: float
    eco_min_s: float
    ratio_low: float
    ratio_high: float
    bound_s: float | None
    launches: int
    algorithm: str

    @property
    def cell(self) -> Cell:
        return (self.network, self.library, self.placement, self.collective, self.bytes)

    def title(self) -> str:
        return f"{self.collective} {size_text(self.bytes)} ({self.library}, {self.placement}, {self.network})"

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Sample:
    """All timed calls of one cell in one launch, in order."""

    collective: str
    bytes: int
    placement: str
    network: str
    library: str
    launch: int
    mode: str  # "stock" or "eco"
    order: int  # position of this launch in the whole interleaved series
    seconds: tuple[float, ...]
    late: int = 0  # calls taken again, because a rank heard of the common start too late

    @property
    def cell(self) -> Cell:
        return (self.network, self.library, self.placement, self.collective, self.bytes)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"seconds": list(self.seconds)}


@dataclass(frozen=True)
class Results:
    """A results file."""

    records: tuple[Record, ...]
    samples: tuple[Sample, ...]
    provenance: dict[str, Any] = field(default_factory=dict)
    suspect_samples: tuple[Sample, ...] = ()  # what made cells suspects, before they were started again
    complete: bool = True  # everything that was asked for was measured

    def to_dict(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "version": VERSION,
            "complete": self.complete,
            **self.provenance,
            "records": [record.to_dict() for record in self.records],
            "samples": [sample.to_dict() for sample in self.samples],
            "suspect_samples": [sample.to_dict() for sample in self.suspect_samples],
        }

    def ratio(self, record: Record) -> stats.Ratio:
        """The paired ratio behind a record, from its samples."""
        stock, eco = launches_of(self.samples, record.cell)
        return stats.ratio_of_launches(stock, eco)

    def write(self, path: Path) -> None:
        write_json(path, self.to_dict())

    @staticmethod
    def read(path: Path) -> Results:
        document = read_json(path, SCHEMA, VERSION)
        try:
            records = tuple(
                Record(**{f.name: entry[f.name] for f in fields(Record)}) for entry in document["records"]
            )
            samples, suspects = (
                tuple(_sample(entry) for entry in entries)
                for entries in (document["samples"], document.get("suspect_samples", []))
            )
        except (KeyError, TypeError) as error:
            raise CorruptFile(f"{path}: a record lacks {error}; run eco bench again") from error
        known = ("schema", "version", "complete", "records", "samples", "suspect_samples")
        provenance = {k: v for k, v in document.items() if k not in known}
        return Results(records, samples, provenance, suspects, bool(document.get("complete", True)))


def _sample(entry: dict[str, Any]) -> Sample:
    """A sample as files hold it; older ones say nothing of late calls."""
    wanted = {f.name: entry[f.name] for f in fields(Sample) if f.name != "late"}
    return Sample(**wanted | {"seconds": tuple(entry["seconds"])}, late=int(entry.get("late", 0)))


def launches_of(
    samples: Sequence[Sample], cell: Cell
) -> tuple[list[tuple[float, ...]], list[tuple[float, ...]]]:
    """The paired launches of one cell, stock and ECO, by number; a launch without its partner is an error."""
    by_mode: dict[str, dict[int, tuple[float, ...]]] = {"stock": {}, "eco": {}}
    for sample in samples:
        if sample.cell == cell:
            by_mode[sample.mode][sample.launch] = sample.seconds
    if by_mode["stock"].keys() != by_mode["eco"].keys():
        raise CorruptFile(
            f"{cell}: stock launches {sorted(by_mode['stock'])} and ECO launches {sorted(by_mode['eco'])}"
        )
    numbers = sorted(by_mode["stock"])
    return [by_mode["stock"][i] for i in numbers], [by_mode["eco"][i] for i in numbers]


def record_of(
    samples: Sequence[Sample], cell: Cell, ranks: int, bound_s: float | None, algorithm: str
) -> Record:
    """The record of one cell.

    Medians are medians over launches of each launch's median; minima are of single calls.
    """
    stock, eco = launches_of(samples, cell)
    estimate = stats.ratio_of_launches(stock, eco)
    network, library, placement, collective, size = cell
    return Record(
        collective=collective,
        bytes=size,
        ranks=ranks,
        placement=placement,
        network=network,
        library=library,
        stock_median_s=stats.median([stats.median(launch) for launch in stock]),
        eco_median_s=stats.median([stats.median(launch) for launch in eco]),
        stock_min_s=min(min(launch) for launch in stock),
        eco_min_s=min(min(launch) for launch in eco),
        ratio_low=estimate.low,
        ratio_high=estimate.high,
        bound_s=bound_s,
        launches=estimate.launches,
        algorithm=algorithm,
    )


def _target(path: Path) -> Path:
    """What a link leads to, which is what is written: the link stays."""
    return Path(os.path.realpath(path))


def _reason(error: OSError) -> str:
    """Where a folder should be made a file exists: that it does is not what is wrong."""
    return os.strerror(errno.ENOTDIR) if isinstance(error, FileExistsError) else error.strerror or str(error)


@contextlib.contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """A file that may become this one, and is gone at the end if it has not."""
    target = _target(path)
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield temporary
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise InvalidArgument(
            f"cannot write {path}: {_reason(error)}; name a file where you may write"
        ) from error


def write_bytes(path: Path, content: bytes) -> None:
    """Atomically: a reader sees the old file or the new one, never half of one. Throws InvalidArgument.

    A pipe or a device is written into as it is: root may put a file in the place of /dev/null.
    """
    with _beside(path) as temporary:
        if _is_stream(path):
            path.write_bytes(content)
            return
        temporary.write_bytes(content)
        temporary.replace(_target(path))


def take(path: Path, fresh: Path) -> None:
    """A file becomes this one, without more room on its disk; into a pipe, a device or another disk it is written."""
    try:
        if not _is_stream(path):
            fresh.replace(_target(path))
            return
    except OSError:
        pass  # write_bytes() says what is wrong, if anything
    write_bytes(path, fresh.read_bytes())


def write_text(path: Path, text: str) -> None:
    """Atomically, as write_bytes."""
    write_bytes(path, text.encode())


def _is_stream(path: Path) -> bool:
    """Also /dev/stdout that leads to a file: its name stays what it is."""
    if path.absolute().parts[:2] in ((os.sep, "dev"), (os.sep, "proc")) and path.exists():
        return not path.is_dir()
    return path.exists() and not path.is_file() and not path.is_dir()


def check_writable(path: Path) -> None:
    """Before the work whose outcome the file is for. Throws InvalidArgument where write_text() would."""
    with _beside(path) as temporary:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not _is_stream(path):
            temporary.touch()
        elif not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


#: A page that needs no network to look at, and a drawing.
PICTURES = (".html", ".svg")


def check_ending(path: Path, endings: Sequence[str] = PICTURES) -> None:
    """A picture's kind follows from its name. Throws InvalidArgument."""
    if path.suffix not in endings:
        raise InvalidArgument(
            f"{path}: what is drawn is written as {' or '.join(endings)}; let the name end so"
        )


def check_writable_in(folder: Path) -> None:
    """The same for a folder of files, which is not made yet: what it would be made in can be written."""
    try:
        there = next(
            each
            for each in (folder.absolute(), *folder.absolute().parents)
            if each.exists() or each.is_symlink()
        )
        with tempfile.TemporaryFile(dir=there):
            pass
    except OSError as error:
        raise InvalidArgument(
            f"cannot write into {folder}: {_reason(error)}; name a folder where you may write"
        ) from error


def write_json(path: Path, document: dict[str, Any]) -> None:
    """Atomically, as write_text."""
    write_text(path, json.dumps(document, indent=1) + "\n")


def write_records(path: Path, head: dict[str, Any], records: Sequence[dict[str, Any]]) -> None:
    """A versioned file of many short records, one a line. Atomically, as write_text."""
    one_a_line = ",\n".join("  " + json.dumps(record) for record in records)
    write_text(path, json.dumps(head, indent=1)[:-2] + f',\n "records": [\n{one_a_line}\n ]\n}}\n')


def read_json(path: Path, schema: str, version: int) -> dict[str, Any]:
    """A versioned file, or the reason why it is none. Throws CorruptFile."""
    return expect(path, _read(path), schema, version)


def expect(path: Path, document: object, schema: str, version: int) -> dict[str, Any]:
    """What was read from the file, as what it must be. Throws CorruptFile."""
    if not isinstance(document, dict) or "schema" not in document:
        raise CorruptFile(f"{path}: expected {schema} version {version}, found no 'schema'")
    found = (document["schema"], document.get("version"))
    if found != (schema, version):
        raise CorruptFile(f"{path}: expected {schema} version {version}, found {found[0]} version {found[1]}")
    return document


def schema_of(path: Path) -> object:
    """What a file says it is, of those that may be several; None if it does not say. Throws CorruptFile."""
    document = _read(path)
    return document.get("schema") if isinstance(document, dict) else None


def read_text(path: Path) -> str:
    """A file that the caller named, or the reason why it can't be read. Throws CorruptFile."""
    try:
        # Reading a pipe would wait for a writer, and a device may not end.
        if path.exists() and not path.is_file():
            raise CorruptFile(f"{path}: no regular file")
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise CorruptFile(f"{path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise CorruptFile(f"{path}: no text ({error})") from error


def _read(path: Path) -> Any:
    text = read_text(path)
    try:
        return json.loads(text)
    except RecursionError as error:
        raise CorruptFile(f"{path}: nested deeper than any file of ECO's") from error
    except ValueError as error:
        raise CorruptFile(f"{path}: not JSON ({error}); it may be truncated") from error


def grouped(records: Sequence[Record]) -> dict[tuple[str, str, str], list[Record]]:
    """Records by (network, library, placement), in their order."""
    groups: dict[tuple[str, str, str], list[Record]] = {}
    for record in records:
        groups.setdefault((record.network, record.library, record.placement), []).append(record)
    return groups
