"""Results as text: one table per network, library and placement, and the summary under them."""

from __future__ import annotations

from dataclasses import dataclass

from rich import box
from rich.console import Console
from rich.table import Table

from eco import stats
from eco.report.records import Record, Results, grouped, seconds_text, size_text


@dataclass(frozen=True)
class Summary:
    """What all cells of a run come to."""

    cells: int
    geometric_mean: float
    best: str
    worst: str
    won: int
    lost: int
    equal: int
    proven: bool  # enough launches for won and lost to mean something

    def lines(self) -> list[str]:
        few = "" if self.proven else f"; fewer than {stats.MIN_LAUNCHES} launches show scatter, not proof"
        return [
            f"{self.cells} cells, geometric mean of stock / ECO {self.geometric_mean:.2f}",
            f"won {self.won}, lost {self.lost}, equal {self.equal} (by the whole 95 % interval{few})",
            f"best  {self.best}",
            f"worst {self.worst}",
        ]


def summary(results: Results) -> Summary:
    """Won and lost by intervals; below stats.MIN_LAUNCHES launches these show the spread, not proof."""
    ratios = {record.cell: results.ratio(record).ratio for record in results.records}
    ordered = sorted(results.records, key=lambda record: ratios[record.cell])
    won = sum(record.ratio_low > 1 for record in ordered)
    lost = sum(record.ratio_high < 1 for record in ordered)
    worst, best = ordered[0], ordered[-1]
    return Summary(
        cells=len(ordered),
        geometric_mean=stats.geometric_mean(list(ratios.values())),
        best=f"{ratios[best.cell]:.2f}x  {best.title()}",
        worst=f"{ratios[worst.cell]:.2f}x  {worst.title()}",
        won=won,
        lost=lost,
        equal=len(ordered) - won - lost,
        proven=min(record.launches for record in ordered) >= stats.MIN_LAUNCHES,
    )


def _row(record: Record, ratio: float) -> list[str]:
    bound = record.bound_s
    style = "green" if record.ratio_low > 1 else "red" if record.ratio_high < 1 else "default"
    return [
        record.collective,
        size_text(record.bytes),
        seconds_text(record.stock_median_s),
        seconds_text(record.eco_median_s),
        f"[{style}]{ratio:.2f}[/] {record.ratio_low:.2f}-{record.ratio_high:.2f}",
        seconds_text(bound) if bound else "-",
        f"{record.eco_median_s / bound:.2f}" if bound else "-",
        record.algorithm,
    ]


def tables(results: Results) -> list[Table]:
    """One table per (network, library, placement)."""
    out = []
    for (network, library, placement), records in grouped(results.records).items():
        launches = sorted({record.launches for record in records})
        table = Table(
            title=f"{network}, {library}, {placement}: {records[0].ranks} ranks, "
            f"{'/'.join(map(str, launches))} paired launches, medians",
            title_justify="left",
            box=box.SIMPLE_HEAD,
            padding=(0, 1, 0, 0),
        )
        for name in ("operation", "size", "stock", "ECO", "stock / ECO", "bound", "/ bound"):
            table.add_column(name, justify="left" if name == "operation" else "right", no_wrap=True)
        table.add_column("algorithm", overflow="fold")
        for record in records:
            table.add_row(*_row(record, results.ratio(record).ratio))
        out.append(table)
    return out


def show(results: Results, console: Console) -> None:
    """The tables and the summary."""
    for table in tables(results):
        console.print(table)
    for line in summary(results).lines():
        console.print(line, highlight=False)
