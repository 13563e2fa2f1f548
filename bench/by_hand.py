"""Decision tables by hand, for benchmarks that want one recipe and no other."""

import json

#: (size up to which it holds, recipe; None: the library's own), ascending.
Rows = list[tuple[int, str | None]]


def plan_text(ranks: int, rows: dict[str, Rows]) -> str:
    """A plan file of one host, operation by operation."""
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
    return json.dumps(
        {"schema": "eco.plan", "version": 1, "network": "", "library": "", "host_of_rank": [0] * ranks,
         "entries": entries}
    )  # fmt: skip
