"""Plan files, and plans by hand: for tests and benchmarks that want one recipe and no other.

file.write_text(by_hand(8, {"broadcast": [(8, None), (1 << 20, "broadcast/binomial")]}))    # for ECO_PLAN
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

SCHEMA = ("eco.plan", 1)

#: Of each operation: size up to which it holds, and recipe (None: the library's own), ascending.
Rows = Mapping[str, Sequence[tuple[int, str | None]]]


def by_hand(ranks: int, rows: Rows) -> str:
    """The text of a plan for so many ranks of one host."""
    entries = [
        {
            "collective": name,
            "root_subnet": 0,
            "rows": [
                {"up_to_bytes": size, "recipe": recipe, "predicted_s": 0.0, "measured_s": 0.0,
                 "native_s": 0.0, "reason": "by hand"}
                for size, recipe in of_this
            ],
        }
        for name, of_this in rows.items()
    ]  # fmt: skip
    schema, version = SCHEMA
    return json.dumps(
        {"schema": schema, "version": version, "network": "", "library": "", "host_of_rank": [0] * ranks,
         "entries": entries}
    )  # fmt: skip


def in_words(plan: Mapping[str, Any]) -> str:
    """Who serves the cells of a plan file: "of 22 cells ECO serves 14, the library 6; ..."."""
    rows = [row for entry in plan["entries"] for row in entry["rows"]]
    n_open = sum(bool(row.get("open")) for row in rows)
    n_served = sum(row["recipe"] is not None and not row.get("open") for row in rows)
    words = f"of {len(rows)} cells ECO serves {n_served}, the library {len(rows) - n_open - n_served}"
    return words + (f"; {n_open} are left to jobs that call them" if n_open else "")
