"""docs/calls.md is what tools/calls-doc writes from data/calls.json and data/calls-tested.json."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
TOOL = ROOT / "tools" / "calls-doc"


def test_the_page_is_current() -> None:
    done = subprocess.run([sys.executable, TOOL, "--check"], check=False)
    assert done.returncode == 0, "run tools/calls-doc"


def test_every_reason_is_given() -> None:
    ours = json.loads((ROOT / "data" / "calls.json").read_text())
    used = {reason for forms in ours["calls"].values() for reason in forms.values()} - {"served"}
    tested = json.loads((ROOT / "data" / "calls-tested.json").read_text())
    used |= {reason for result in tested["results"] for reason in result.get("reasons", {}).values()}
    assert used <= set(ours["reasons"])
