"""pLogP in network files, and eco show --plogp."""

import io
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from rich.console import Console

from eco import _core, characterize
from eco import network as networks
from eco.cli import show
from eco.errors import CorruptFile, InvalidArgument
from eco.report import plogp_view

STORED = Path(__file__).with_name("plogp.json")


@pytest.fixture
def network() -> networks.Network:
    return networks.load(STORED)


def printed(network: networks.Network) -> str:
    console = Console(width=140, record=True, file=io.StringIO())
    console.print(plogp_view.tables(network))
    return console.export_text()


def test_curves_are_read(network: networks.Network) -> None:
    inside, back, across, home = network.plogp
    assert (inside.pairs, inside.from_host, inside.to_host) == ("subnet", 0, 1)
    assert (back.from_host, back.to_host) == (1, 0)
    assert inside.latency_s == 50e-6
    assert inside.eager_limit == 16000
    assert inside.gamma == 0.4
    assert inside.slow_down == (networks.SlowDown(2, 1.02),)
    assert inside.gap.bytes[-1] == 65536
    assert inside.send_overhead.bytes[-1] == 4096, "of eager messages only"
    assert across.eager_limit is None
    assert across.gamma is None
    assert home.gap.seconds[-1] == pytest.approx(2 * across.gap.seconds[-1])
    assert inside.samples[0].what == "gap"


def test_networks_without_plogp_are_as_they_were(network: networks.Network) -> None:
    text = json.loads(STORED.read_text())
    del text["plogp"]
    without = networks.parse(json.dumps(text), "x")
    assert without.plogp == ()
    assert without.fingerprint == network.fingerprint


def test_bad_curves_are_refused() -> None:
    text = STORED.read_text().replace('"class": "subnet"', '"class": "village"')
    with pytest.raises(CorruptFile, match="village"):
        networks.parse(text, "x")


def test_tables_show_every_class_and_curve(network: networks.Network) -> None:
    text = printed(network)
    for expected in (
        "inside subnet 0, host0 to host1",
        "subnet 0 to 1, host0 to host2",
        "subnet 1 to 0, host2 to host0",
        "L 50 us, rendezvous above 16000 B, 2 pairs at once 1.02x, gamma 0.40",
        "all eager up to 64 KiB",
        "os(m)",
        "or(m)",
        "g(m)",
        "2.62 ms",
    ):
        assert expected in text
    assert re.search(r"16 KiB +\. +\. ", text), "os and or end at the eager limit, g goes on"


def test_pictures(network: networks.Network, tmp_path: Path) -> None:
    page, drawing = tmp_path / "plogp.html", tmp_path / "plogp.svg"
    plogp_view.write_picture(network, page)
    text = page.read_text()
    assert "Plotly.newPlot" in text
    assert re.search(r"<script[^>]*\ssrc=", text) is None
    plogp_view.write_picture(network, drawing)
    svg = ElementTree.fromstring(drawing.read_text())
    lines = svg.findall(".//{*}polyline")
    assert len(lines) == 3 * len(network.plogp)
    for line in lines:
        for point in line.attrib["points"].split():
            x, y = map(float, point.split(","))
            assert 0 <= x <= float(svg.attrib["width"])
            assert 0 <= y <= float(svg.attrib["height"])
    with pytest.raises(InvalidArgument, match=r"written as \.html or \.svg"):
        plogp_view.write_picture(network, tmp_path / "plogp.png")


def test_curves_of_rails_are_shown_after_the_librarys(tmp_path: Path) -> None:
    text = json.loads(STORED.read_text())
    text["rails"] = ["10.0.0.0/24", "10.1.0.0/24"]
    text["rail_plogp"] = [
        {"rail": "10.1.0.0/24", "transport": "TCP", "classes": text["plogp"][:1]},
    ]
    network = networks.parse(json.dumps(text), "x")
    shown = printed(network)
    assert shown.count("inside subnet 0, host0 to host1") == 2
    assert shown.index("inside subnet 0") < shown.index(
        "TCP over 10.1.0.0/24: inside subnet 0, host0 to host1"
    )
    drawing = tmp_path / "plogp.svg"
    plogp_view.write_picture(network, drawing)
    assert len(ElementTree.fromstring(drawing.read_text()).findall(".//{*}polyline")) == 3 * (
        len(network.plogp) + 1
    )
    counted = {"hosts": [{}] * 2, "subnets": [{"hosts": [0, 1]}]}
    with_rails = {**counted, "plogp": [{}], "rail_plogp": [{}, {}]}
    assert characterize.describe(with_rails).endswith("pLogP in 1 direction, pLogP over 2 rails")


def test_show_plogp(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    drawing = tmp_path / "p.svg"
    show.show(file=STORED, plogp=True, picture=drawing)
    assert "gamma 0.40" in capsys.readouterr().out
    assert drawing.exists()
    with pytest.raises(InvalidArgument, match="--plogp"):
        show.show(file=STORED, picture=drawing)
    with pytest.raises(InvalidArgument, match="network file"):
        show.show(remembered_=True, plogp=True)
    bare = tmp_path / "bare.json"
    text = json.loads(STORED.read_text())
    del text["plogp"]
    bare.write_text(json.dumps(text))
    with pytest.raises(InvalidArgument, match="eco characterize --plogp"):
        show.show(file=bare, plogp=True)


def test_closed_forms_are_for_python_too() -> None:
    text = STORED.read_text()
    flat = _core.closed_prediction(text, [0, 1], "broadcast/flat", "broadcast", 4096, 0)
    assert flat == pytest.approx(4096 / 25e6 + 50e-6)
    rendezvous = _core.closed_prediction(text, [0, 1], "broadcast/flat", "broadcast", 65536, 0)
    assert rendezvous == pytest.approx(65536 / 25e6 + 2 * 10e-6 + 3 * 50e-6), "beyond the eager limit"
    assert _core.closed_prediction(text, [0, 1], "broadcast/subnets", "broadcast", 4096, 0) is None
    bare = _core.synthetic_network("hosts=2")
    assert _core.closed_prediction(bare, [0, 1], "broadcast/flat", "broadcast", 4096, 0) is None


def test_characterize_says_that_it_has_them() -> None:
    network = json.loads(STORED.read_text())
    assert characterize.describe(network) == "3 hosts in 2 subnets (2+1), pLogP in 4 directions"
