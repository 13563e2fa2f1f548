"""What an executable's file says of how it is loaded. Of 64 bits and little-endian, as all that ECO serves.

has_loader(Path("app"))     # False: statically linked
needed(Path("app"))         # ("libmpi.so.40", "libc.so.6")
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TypeVar

T = TypeVar("T")

#: Kinds of segments: what is mapped; the table for the loader; the loader's own name.
LOADED, DYNAMIC, INTERPRETER = 1, 2, 3
#: Kinds of entries in the table for the loader: its end, the name of a library, where names begin.
END, NEEDED, NAMES = 0, 1, 5
#: A name of a library is a file's name; the table for the loader has some dozens of entries.
MOST_NAME_BYTES, MOST_TABLE_BYTES = 256, 1 << 16
#: An entry in the table of segments.
SEGMENT_BYTES = 56
#: What a file that is damaged, or cannot be read, leads to: places beyond any file.
UNREADABLE = (OSError, OverflowError, ValueError)


@dataclass(frozen=True)
class Segment:
    """One of the parts that the loader looks at."""

    kind: int
    offset: int  # in the file
    address: int  # in memory
    size: int  # in the file


def has_loader(path: Path) -> bool | None:
    """Whether a dynamic loader starts this executable; None of what is none."""
    segments = _read(path, _segments)
    return any(segment.kind == INTERPRETER for segment in segments) if segments else None


def needed(path: Path) -> tuple[str, ...]:
    """The libraries that this executable names itself, not those that they need in turn."""
    return _read(path, _needed) or ()


def _read(path: Path, part: Callable[[BinaryIO], T]) -> T | None:
    """Nothing of what is no file, or can't be read as one of these."""
    try:
        if not path.is_file():  # a pipe would wait for its writer
            return None
        with path.open("rb") as file:
            return part(file)
    except UNREADABLE:
        return None


def _number(data: bytes, at: int, width: int = 8) -> int:
    return int.from_bytes(data[at : at + width], "little")


def _segments(file: BinaryIO) -> list[Segment]:
    """Nothing of a file that is no such executable."""
    head = file.read(64)
    if head[:6] != b"\x7fELF\x02\x01" or len(head) < 64:
        return []
    width, count = _number(head, 54, 2), _number(head, 56, 2)
    if width != SEGMENT_BYTES:
        return []
    file.seek(_number(head, 32))
    table = file.read(width * count)
    rows = [table[at : at + width] for at in range(0, len(table), width)]
    return [Segment(_number(row, 0, 4), _number(row, 8), _number(row, 16), _number(row, 32)) for row in rows]


def _needed(file: BinaryIO) -> tuple[str, ...]:
    segments = _segments(file)
    entries: list[tuple[int, int]] = []
    for segment in segments:
        if segment.kind == DYNAMIC:
            file.seek(segment.offset)
            table = file.read(min(segment.size, MOST_TABLE_BYTES))
            entries += [(_number(table, at), _number(table, at + 8)) for at in range(0, len(table), 16)]
    kinds = [kind for kind, _ in entries]
    entries = entries[: kinds.index(END)] if END in kinds else entries
    names = next((_in_file(address, segments) for kind, address in entries if kind == NAMES), None)
    if names is None:
        return ()
    return tuple(_name(file, names + at) for kind, at in entries if kind == NEEDED)


def _in_file(address: int, segments: list[Segment]) -> int | None:
    """Where in the file lies what is loaded to an address."""
    for segment in segments:
        if segment.kind == LOADED and 0 <= address - segment.address < segment.size:
            return segment.offset + address - segment.address
    return None


def _name(file: BinaryIO, offset: int) -> str:
    file.seek(offset)
    return file.read(MOST_NAME_BYTES).partition(b"\0")[0].decode(errors="replace")
