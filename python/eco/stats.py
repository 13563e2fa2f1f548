"""Statistics of paired launches: how much faster ECO is than stock, and how sure we are.

The unit is the *launch*: one start of the program, stock or ECO. Calls inside one launch share its processes,
its connections and the mood of the machine, so they are not independent; launches are. Stock and ECO launches
are interleaved and paired, and of each launch the median call counts.

    estimate = ratio_of_launches(stock, eco)     # lists of launches, each a list of seconds
    estimate.ratio, estimate.low, estimate.high  # stock / ECO with its 95 % interval; > 1: ECO is faster

*Estimator.* ``ratio`` is the median over pairs of (median call of the stock launch / median call of the ECO
launch). *Interval.* The percentile bootstrap of that median, resampling pairs. Below ``MIN_LAUNCHES`` pairs
there are too few pairs to resample alone, so the calls inside each resampled launch are resampled too (a
hierarchical bootstrap); such an interval describes the spread that was seen, and nothing is ever called
slower on the strength of it.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from eco.errors import InvalidArgument

# NumPy is imported where it is needed: it takes as long as the rest of a command that compares nothing.
if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

#: "Measurably slower" needs at least this many paired launches.
MIN_LAUNCHES = 6
#: Suspects are started again this many times.
SUSPECT_LAUNCHES = 12
#: Resamples of every bootstrap: the 2.5 % point then has a standard error of 0.25 % of probability.
RESAMPLES = 4000
#: Bootstraps are seeded: the same samples give the same interval.
SEED = 20261121


@dataclass(frozen=True)
class Ratio:
    """Stock time over ECO time: above 1 ECO is faster."""

    ratio: float
    low: float
    high: float
    launches: int
    p_not_slower: float  # one-sided: the share of resamples in which ECO is not slower

    def measurably_slower(self) -> bool:
        """The whole 95 % interval lies below 1, over enough launches to say so."""
        return self.launches >= MIN_LAUNCHES and self.high < 1.0

    def measurably_faster(self) -> bool:
        """The whole 95 % interval lies above 1, over enough launches to say so."""
        return self.launches >= MIN_LAUNCHES and self.low > 1.0

    def to_dict(self) -> dict[str, float | int]:
        return asdict(self)


def median(values: Sequence[float]) -> float:
    """The middle value; the mean of the middle two where their number is even."""
    if not values:
        raise InvalidArgument("median of no values: the launch brought no samples; look at its output")
    return statistics.median(map(float, values))


def geometric_mean(values: Sequence[float]) -> float:
    """The mean of ratios: that of a ratio and of its reciprocal is 1."""
    if not values:
        raise InvalidArgument("geometric mean of no values")
    if min(values) <= 0:
        raise InvalidArgument(f"geometric mean needs positive values, got {min(values)}")
    return math.exp(sum(math.log(v) for v in values) / len(values))


def _resampled_medians(launch: Floats, n: int, generator: np.random.Generator) -> Floats:
    """Medians of n resamples of one launch's calls."""
    import numpy as np

    picks = generator.integers(0, len(launch), size=(n, len(launch)))
    return np.asarray(np.median(launch[picks], axis=1), dtype=float)


def ratio_of_launches(
    stock: Sequence[Sequence[float]], eco: Sequence[Sequence[float]], confidence: float = 0.95
) -> Ratio:
    """The ratio of paired launches with its interval; ``stock[i]`` and ``eco[i]`` ran one after the other."""
    import numpy as np

    if len(stock) != len(eco):
        raise InvalidArgument(f"launches come in pairs: got {len(stock)} stock and {len(eco)} ECO launches")
    if not stock:
        raise InvalidArgument("no launches: nothing to compare")
    per_launch = np.array([median(s) / median(e) for s, e in zip(stock, eco, strict=True)])
    generator = np.random.default_rng(SEED)
    picks = generator.integers(0, len(per_launch), size=(RESAMPLES, len(per_launch)))
    if len(per_launch) >= MIN_LAUNCHES:
        resampled = np.median(per_launch[picks], axis=1)
    else:
        resampled = _hierarchical(stock, eco, picks, generator)
    tail = (1.0 - confidence) / 2.0
    low, high = np.quantile(resampled, [tail, 1.0 - tail])
    # One more than counted on both sides: a bootstrap of finite size never proves p = 0.
    p = (1.0 + float(np.count_nonzero(resampled >= 1.0))) / (RESAMPLES + 1.0)
    return Ratio(float(np.median(per_launch)), float(low), float(high), len(per_launch), p)


def _hierarchical(
    stock: Sequence[Sequence[float]],
    eco: Sequence[Sequence[float]],
    picks: NDArray[np.int64],
    generator: np.random.Generator,
) -> Floats:
    """Resamples launches, and within each resampled launch its calls."""
    import numpy as np

    n, launches = picks.shape
    ratios = np.empty((launches, launches, n))  # [which launch][place in the resample][resample]
    for i in range(launches):
        s, e = np.asarray(stock[i], dtype=float), np.asarray(eco[i], dtype=float)
        for place in range(launches):
            ratios[i, place] = _resampled_medians(s, n, generator) / _resampled_medians(e, n, generator)
    rows = np.arange(n)
    columns = [ratios[picks[:, place], place, rows] for place in range(launches)]
    return np.asarray(np.median(np.stack(columns, axis=1), axis=1), dtype=float)


def median_interval(values: Sequence[float], confidence: float = 0.95) -> tuple[float, float]:
    """Percentile bootstrap interval of the median of independent values (one per launch)."""
    import numpy as np

    data = np.asarray(values, dtype=float)
    if not len(data):
        raise InvalidArgument("interval of no values")
    resampled = _resampled_medians(data, RESAMPLES, np.random.default_rng(SEED))
    tail = (1.0 - confidence) / 2.0
    low, high = np.quantile(resampled, [tail, 1.0 - tail])
    return float(low), float(high)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjustment: reject where the adjusted value is below the level.

    The smallest of m values is multiplied by m, the next by m - 1, ..., each raised to at least the one
    before.
    """
    m = len(p_values)
    adjusted = [0.0] * m
    running = 0.0
    for rank, index in enumerate(sorted(range(m), key=lambda i: p_values[i])):
        running = max(running, min(1.0, (m - rank) * p_values[index]))
        adjusted[index] = running
    return adjusted


def slower_after_holm(suspects: Sequence[Ratio], level: float = 0.05) -> list[bool]:
    """Which suspects, started again, are measurably slower when all of them are looked at together.

    The 95 % interval is two-sided, so its one-sided tail is doubled before the correction.
    """
    adjusted = holm([min(1.0, 2.0 * s.p_not_slower) for s in suspects])
    return [
        s.launches >= MIN_LAUNCHES and s.ratio < 1.0 and p < level
        for s, p in zip(suspects, adjusted, strict=True)
    ]
