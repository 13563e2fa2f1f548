"""Results files: names, sizes, the record of a cell, reading and refusing, tables and pictures."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from rich.console import Console

from eco import network as networks
from eco import topology
from eco.errors import CorruptFile, EcoError, InvalidArgument
from eco.lab import load
from eco.report import picture, records, table
from eco.report.records import Record, Results, Sample, parse_ops, parse_size, parse_sizes, size_text

KEYS = [
    *("collective", "bytes", "ranks", "placement", "network", "library"),
    *("stock_median_s", "eco_median_s", "stock_min_s", "eco_min_s", "ratio_low", "ratio_high"),
    *("bound_s", "launches", "algorithm"),
]


@pytest.mark.parametrize(
    ("text", "size"),
    [("8", 8), ("1KiB", 1024), ("16KiB", 16384), ("16kB", 16000), ("1MiB", 1 << 20), ("1 MB", 10**6),
     ("16000", 16000), ("16k", 16384), ("1M", 1 << 20), ("1.5KiB", 1536), ("1GiB", 1 << 30), ("0", 0)],
)  # fmt: skip
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "KiB", "-8", "8x", "0.3", "1e3", "8 8", "1025GiB", "9" * 400])
def test_sizes_that_are_none(text: str) -> None:
    with pytest.raises(InvalidArgument):
        parse_size(text)


def test_files_that_no_text_can_be_read_from(tmp_path: Path) -> None:
    pipe, deep, binary = (tmp_path / name for name in ("pipe", "deep", "binary"))
    os.mkfifo(pipe)
    deep.write_text("[" * 200_000)
    binary.write_bytes(b"\xff\x00")
    # Whoever read a pipe would wait here for ever.
    for read in (records.schema_of, networks.load, topology.read_graph, load):
        for file in (pipe, deep, binary, tmp_path, tmp_path / "absent"):
            with pytest.raises(EcoError, match=re.escape(str(file))):
                read(file)
    no_text = tmp_path / os.fsdecode(b"name\xff.json")
    no_text.write_text("{}")
    with pytest.raises(CorruptFile, match=r"name\\udcff.json"):
        networks.load(no_text)


def test_nothing_takes_a_devices_place(tmp_path: Path) -> None:
    null, full, pipe = (tmp_path / name for name in ("null", "full", "pipe"))
    null.symlink_to("/dev/null")
    full.symlink_to("/dev/full")
    os.mkfifo(pipe)
    for file in (null, full, pipe):
        records.check_writable(file)
    records.write_text(null, "{}")
    assert null.is_char_device()
    with pytest.raises(InvalidArgument, match="No space left"):
        records.write_text(full, "{}")
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    records.write_text(pipe, "{}")
    assert os.read(reader, 10) == b"{}"
    os.close(reader)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["full", "null", "pipe"]


def test_links_stay_links(tmp_path: Path) -> None:
    file, link, fresh = (tmp_path / name for name in ("file", "link", "fresh"))
    file.write_text("before")
    link.symlink_to(file)
    records.write_text(link, "after")
    assert (link.is_symlink(), file.read_text()) == (True, "after")
    fresh.write_text("taken")
    records.take(link, fresh)
    assert (link.is_symlink(), file.read_text(), fresh.exists()) == (True, "taken", False)


def test_standard_output_stays_where_it_is(tmp_path: Path) -> None:
    words = "from pathlib import Path; from eco.report import records; "
    words += "records.write_text(Path('/dev/stdout'), '{}')"
    with (tmp_path / "out").open("w") as out:
        subprocess.run([sys.executable, "-c", words], stdout=out, check=True)
    assert (tmp_path / "out").read_text() == "{}"
    assert Path("/dev/stdout").is_symlink()


def test_lists() -> None:
    assert parse_sizes("1MiB,8,16KiB,8") == [8, 16384, 1 << 20]
    assert parse_sizes(records.DEFAULT_SIZES) == [8, 1024, 16384, 131072, 1 << 20]
    assert parse_ops("allreduce, broadcast,allreduce") == ["allreduce", "broadcast"]
    assert len(parse_ops("all")) == 12
    with pytest.raises(InvalidArgument, match="bcast"):
        parse_ops("bcast")
    with pytest.raises(InvalidArgument, match="did you mean allreduce"):
        parse_ops("allrduce")
    with pytest.raises(InvalidArgument):
        parse_sizes(",")
    assert [size_text(n) for n in (8, 1024, 16000, 1 << 20, 3 << 20)] == [
        "8 B",
        "1 KiB",
        "16000 B",
        "1 MiB",
        "3 MiB",
    ]
    assert [records.seconds_text(s) for s in (2.0, 0.2194, 12.3e-6, 5e-9, 0.0401)] == [
        "2 s", "219 ms", "12.3 us", "5 ns", "40.1 ms"]  # fmt: skip


def samples(collective: str = "broadcast", size: int = 1 << 20, factor: float = 4.0) -> list[Sample]:
    out = []
    for launch in range(3):
        for mode, base in (("stock", factor), ("eco", 1.0)):
            seconds = tuple(base * (0.25 + 0.001 * launch + 0.002 * call) for call in range(5))
            out.append(
                Sample(collective, size, "block", "three-subnets", "openmpi", launch, mode, len(out), seconds)
            )
    return out


def results() -> Results:
    cells = [samples("broadcast", 1 << 20, 4.0), samples("allreduce", 8, 1.0), samples("barrier", 0, 0.5)]
    bounds = [0.219, None, None]
    made = [
        records.record_of(cell, cell[0].cell, 8, bound, "broadcast/subnets segment=1392")
        for cell, bound in zip(cells, bounds, strict=True)
    ]
    return Results(tuple(made), tuple(s for cell in cells for s in cell), {"machine": "test"})


def test_the_record_of_a_cell() -> None:
    record = results().records[0]
    assert list(record.to_dict()) == KEYS
    assert record.launches == 3
    assert record.eco_median_s == pytest.approx(0.255)  # middle launch, middle call: 0.25 + 0.001 + 0.004
    assert record.eco_min_s == pytest.approx(0.25)
    assert record.stock_median_s == pytest.approx(4 * 0.255)
    assert record.ratio_low < 4.0 < record.ratio_high
    assert results().ratio(record).ratio == pytest.approx(4.0)


def test_a_launch_without_its_partner_is_an_error() -> None:
    with pytest.raises(CorruptFile, match="launches"):
        records.launches_of(samples()[:-1], samples()[0].cell)


def test_files_round_trip_and_are_refused_with_reason(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "results.json"
    results().write(path)
    document = json.loads(path.read_text())
    assert {"schema", "version", "records", "samples"} <= document.keys()
    assert Results.read(path) == results()
    assert [p.name for p in path.parent.iterdir()] == ["results.json"]
    whole = path.read_text()
    path.write_text(whole[: len(whole) // 2])
    with pytest.raises(CorruptFile, match="truncated"):
        Results.read(path)
    path.write_text(json.dumps(document | {"version": 99}))
    with pytest.raises(CorruptFile, match="version 99"):
        Results.read(path)
    path.write_text("[1, 2]")
    with pytest.raises(CorruptFile, match=r"expected eco\.bench"):
        Results.read(path)
    del document["records"][0]["bound_s"]
    path.write_text(json.dumps(document))
    with pytest.raises(CorruptFile, match="bound_s"):
        Results.read(path)
    with pytest.raises(CorruptFile):
        Results.read(tmp_path / "absent.json")


def test_an_unwritable_place_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    records.write_json(path, {"old": True})
    with pytest.raises(TypeError):
        records.write_json(path, {"bad": object()})
    assert json.loads(path.read_text()) == {"old": True}
    assert list(tmp_path.iterdir()) == [path]


def test_the_table_and_the_summary() -> None:
    console = Console(record=True, width=160, file=io.StringIO())
    table.show(results(), console)
    text = console.export_text()
    assert "three-subnets, openmpi, block: 8 ranks, 3 paired launches" in text
    assert "219 ms" in text
    assert "4.00" in text
    found = table.summary(results())
    assert (found.cells, found.won, found.lost, found.equal) == (3, 1, 1, 1)
    assert found.best.startswith("4.00x  broadcast 1 MiB")
    assert found.worst.startswith("0.50x  barrier")
    assert found.geometric_mean == pytest.approx(2.0 ** (1 / 3))


def test_pictures_stand_alone(tmp_path: Path) -> None:
    picture.write_html(results(), tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert "broadcast 1 MiB" in page
    assert '<script src="http' not in page
    picture.write_svg(results(), tmp_path / "r.svg", "a < b")
    drawing = (tmp_path / "r.svg").read_text()
    root = ElementTree.fromstring(drawing)
    # A background, two bars a cell, one line for the one bound.
    kinds = [element.tag.rsplit("}", 1)[-1] for element in root.iter()]
    assert (kinds.count("rect"), kinds.count("line")) == (7, 1)
    assert "a &lt; b" in drawing


def test_record_is_what_the_results_file_promises() -> None:
    assert list(Record.__dataclass_fields__) == KEYS
