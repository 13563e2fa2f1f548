"""Network files as Python reads them, and eco show."""

import io
import json
import math
import re
from pathlib import Path

import pytest
from rich.console import Console

from eco import network as networks
from eco import paths
from eco.cli import show
from eco.errors import CorruptFile, EcoError, InvalidArgument
from eco.report import network_view

RECORDED = sorted((paths.networks_dir() / "recorded").glob("*.json"))

DESCRIPTION = "hosts=3+3+2 rate_mbit=200 uplink_mbit=40"


def text_of(description: str = DESCRIPTION) -> str:
    from eco import _core

    return _core.synthetic_network(description)


def printed(network: networks.Network) -> str:
    console = Console(width=160, record=True, file=io.StringIO())
    console.print(network_view.picture(network))
    return console.export_text()


def test_parse_keeps_what_the_file_says() -> None:
    network = networks.parse(text_of(), "x")
    assert [subnet.hosts for subnet in network.subnets] == [(0, 1, 2), (3, 4, 5), (6, 7)]
    assert {subnet.kind for subnet in network.subnets} == {"switched"}
    assert network.uplink_of(1) is not None
    assert network.uplink_of(1).bytes_per_s == 5e6  # type: ignore[union-attr]
    assert network.subnet_of(7) == 2
    matrix = network.matrix(65536)
    assert math.isnan(matrix[0][0])
    assert matrix[0][5] == matrix[5][0] > 4 * matrix[0][1]
    with pytest.raises(InvalidArgument, match="size 7 was not measured"):
        network.matrix(7)


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda text: "", "is empty"),
        (lambda text: text[: len(text) // 2], "not complete JSON"),
        (lambda text: text.replace("eco.network", "eco.plan"), "schema 'eco.plan'"),
        (lambda text: text.replace('"version": 1', '"version": 9'), "version 9"),
        (lambda text: text.replace('"transport"', '"transports"'), "'transport' is missing"),
        (lambda text: text.replace('"switched"', '"hub"'), "kind 'hub'"),
    ],
)
def test_bad_files_are_refused_with_their_reason(tmp_path: Path, spoil, reason: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(spoil(text_of()))
    with pytest.raises(CorruptFile, match=reason) as caught:
        networks.load(path)
    assert str(path) in str(caught.value)


def test_missing_and_binary_files(tmp_path: Path) -> None:
    with pytest.raises(CorruptFile, match="cannot read"):
        networks.load(tmp_path / "nothing.json")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(CorruptFile):
        networks.load(tmp_path / "binary")


def test_synthetic_names_the_bad_word() -> None:
    with pytest.raises(InvalidArgument, match="colour"):
        networks.synthetic("hosts=2 colour=red")


def test_picture_shows_subnets_uplinks_and_times() -> None:
    text = printed(networks.synthetic(DESCRIPTION))
    for expected in ("8 hosts, 3 subnets", "subnet 2", "uplink 5 MB/s (40 Mbit/s) shared", "host7", "64 KiB"):
        assert expected in text


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_recorded_networks_show(path: Path) -> None:
    network = networks.load(path)
    text = printed(network)
    assert all(f"subnet {i}" in text for i in range(len(network.subnets)))
    assert "several pairs at once" in text


def test_recorded_networks_are_shipped() -> None:
    assert {"three-subnets", "eco-1995", "one-switch"} <= {path.stem for path in RECORDED}


def test_html_is_self_contained(tmp_path: Path) -> None:
    page = tmp_path / "network.html"
    network_view.write_html(networks.synthetic(DESCRIPTION), page)
    text = page.read_text()
    assert "Plotly.newPlot" in text
    assert re.search(r"<script[^>]*\ssrc=", text) is None


def test_show_json_is_the_network(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "n.json"
    path.write_text(text_of())
    show.show(file=path, remembered_=False, as_json=True, html=None)
    assert len(json.loads(capsys.readouterr().out)["hosts"]) == 8


def test_show_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ECO_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("ECO_SITE_DIR", str(tmp_path / "site"))
    with pytest.raises(EcoError, match="no network is remembered"):
        show.show(file=None, remembered_=True, as_json=False, html=None)
    (tmp_path / "networks").mkdir()
    (tmp_path / "networks" / "good.json").write_text(text_of())
    (tmp_path / "networks" / "bad.json").write_text("{")
    show.show(file=None, remembered_=True, as_json=False, html=None)
    captured = capsys.readouterr()
    assert "8 hosts, 3 subnets" in captured.out
    assert "not usable" in captured.err

    # What others measured for all users counts as remembered too.
    (tmp_path / "networks" / "good.json").unlink()
    (tmp_path / "site" / "networks").mkdir(parents=True)
    (tmp_path / "site" / "networks" / "shared.json").write_text(text_of())
    show.show(file=None, remembered_=True, as_json=False, html=None)
    assert "8 hosts, 3 subnets" in capsys.readouterr().out


def test_show_wants_one_of_file_and_remembered() -> None:
    with pytest.raises(InvalidArgument, match="either"):
        show.show(file=None, remembered_=False, as_json=False, html=None)


def test_rails_are_shown_by_name() -> None:
    document = json.loads(text_of("hosts=4 rate_mbit=1000 rail_mbit=400"))
    document["rails"] = ["10.1.0.0/24", "10.2.0.0/24", "10.3.0.0/24"]
    document["more_rails"][0]["name"] = "10.3.0.0/24"
    network = networks.parse(json.dumps(document), "here")
    assert network.rails == tuple(document["rails"])
    assert [rail.name for rail in network.more_rails] == ["10.3.0.0/24"]
    text = printed(network)
    assert "2 rails" in text
    assert "10.1.0.0/24  as above" in text
    assert "10.3.0.0/24, 50 MB/s (400 Mbit/s)" in text
    assert "10.2.0.0/24  shares a link with one of these" in text
    plain = networks.synthetic("hosts=4")
    assert (plain.rails, plain.more_rails) == ((), ())
    assert "rail" not in printed(plain)


def test_a_rail_says_which_hosts_lack_it() -> None:
    network = networks.synthetic("hosts=2+2 rate_mbit=1000 rail_mbit=400 rail_hosts=3")
    assert [subnet.hosts for subnet in network.more_rails[0].subnets] == [(0, 1), (2,)]
    assert "rail 1, 50 MB/s (400 Mbit/s), latency 20 us, not on host3" in printed(network)


def with_tree() -> str:
    """The description's network, its three subnets on a root."""
    document = json.loads(text_of())
    subnets = [{"hosts": [], "kind": "unknown"}, *document["subnets"]]
    document["tree"] = {
        "levels": [
            {
                "parent": min(number, 1) - 1,
                "hosts": subnet["hosts"],
                "kind": subnet["kind"],
                "latency_s": 4e-5,
                "bytes_per_s": 25e6,
                "uplink_latency_s": 1e-5,
                "half_duplex": False,
                "oversubscription": 15.0,
                "confidence": 1.0,
                "evidence": "6 of 6 checks",
                **({"uplink_bytes_per_s": 5e6} if number == 1 else {}),
            }
            for number, subnet in enumerate(subnets)
        ],
        "verdict": "because",
        "in_parallel": True,
        "seconds": 1.5,
    }
    return json.dumps(document)


def test_the_tree_is_read_and_shown() -> None:
    network = networks.parse(with_tree(), "x")
    assert network.tree is not None
    assert network.tree.children(0) == [1, 2, 3]
    assert network.tree.hosts_below(0) == list(range(8))
    text = printed(network)
    assert "tree of 4 levels" in text
    assert "because; pairs at once" in text
    assert text.count("uplink holds nobody up") == 2
    assert "100 % sure: 6 of 6 checks" in text
    assert networks.parse(text_of(), "x").tree is None
    assert "tree of" not in printed(networks.parse(text_of(), "x"))


def test_a_tree_deeper_than_any_stack(tmp_path: Path) -> None:
    document = json.loads(with_tree())
    levels = document["tree"]["levels"]
    links = [{**levels[0], "parent": number - 1, "hosts": []} for number in range(1500)]
    document["tree"]["levels"] = links + [{**level, "parent": 1499} for level in levels[1:]]
    network = networks.parse(json.dumps(document), "x")
    assert network.tree is not None
    assert network.tree.hosts_below(0) == list(range(8))
    assert "tree of 1503 levels" in printed(network)
    network_view.write_html(network, tmp_path / "page.html")


def test_figure2_of_the_same_pairs() -> None:
    network = networks.parse(text_of(), "x")
    assert network.figure2 == ((0, 1, 2), (3, 4, 5), (6, 7))
    console = Console(width=160, record=True, file=io.StringIO())
    console.print(network_view.figure2(network))
    assert "Figure 2: 3 subnets  the subnets that are used" in console.export_text()


def test_the_page_draws_the_tree(tmp_path: Path) -> None:
    page = tmp_path / "network.html"
    network_view.write_html(networks.parse(with_tree(), "x"), page)
    text = page.read_text()
    assert "Tree of levels" in text
    assert text.count("</body>") == 1
