"""The statistics against values known from elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

from eco import stats
from eco.errors import InvalidArgument


def test_median_and_geometric_mean() -> None:
    assert stats.median([3.0, 1.0, 2.0]) == 2.0
    assert stats.median([4.0, 1.0, 2.0, 3.0]) == 2.5
    assert stats.geometric_mean([0.5, 2.0]) == pytest.approx(1.0)
    assert stats.geometric_mean([1.0, 10.0, 100.0]) == pytest.approx(10.0)


@pytest.mark.parametrize("call", [lambda: stats.median([]), lambda: stats.geometric_mean([1.0, 0.0]),
                                  lambda: stats.geometric_mean([]), lambda: stats.median_interval([]),
                                  lambda: stats.ratio_of_launches([], []),
                                  lambda: stats.ratio_of_launches([[1.0]], [])])  # fmt: skip
def test_nothing_to_measure_is_an_error(call: object) -> None:
    with pytest.raises(InvalidArgument):
        call()  # type: ignore[operator]


def test_holm_against_r() -> None:
    # p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm") gives 0.03 0.06 0.06 0.02
    assert stats.holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    # p.adjust(c(0.5, 0.6), "holm") gives 1.0 1.0
    assert stats.holm([0.5, 0.6]) == pytest.approx([1.0, 1.0])
    assert stats.holm([]) == []


def test_ratio_is_the_median_of_pairs_not_the_ratio_of_medians() -> None:
    # The machine slowed down threefold for two of three pairs: the pairs don't care.
    stock = [[2.0] * 5, [6.0] * 5, [6.0] * 5]
    eco = [[1.0] * 5, [3.0] * 5, [3.0] * 5]
    estimate = stats.ratio_of_launches(stock, eco)
    assert estimate.ratio == pytest.approx(2.0)
    assert (estimate.low, estimate.high) == pytest.approx((2.0, 2.0))


def test_the_bootstrap_agrees_with_scipy() -> None:
    from scipy.stats import bootstrap

    generator = np.random.default_rng(1)
    ratios = generator.lognormal(0.1, 0.05, 60)
    estimate = stats.ratio_of_launches([[r] for r in ratios], [[1.0]] * 60)
    reference = bootstrap(
        (ratios,), np.median, method="percentile", n_resamples=20000, rng=2
    ).confidence_interval
    assert estimate.low == pytest.approx(reference.low, rel=0.01)
    assert estimate.high == pytest.approx(reference.high, rel=0.01)


def test_coverage_of_the_interval() -> None:
    """About 95 of 100 intervals of a known median hold it (those of 12 values are a little short)."""
    generator = np.random.default_rng(3)
    held = 0
    for _ in range(100):
        low, high = stats.median_interval(list(generator.lognormal(0.0, 0.2, 12)))
        held += low <= 1.0 <= high
    assert 86 <= held <= 100


def test_few_launches_use_the_spread_within_them() -> None:
    generator = np.random.default_rng(4)
    stock = [list(generator.normal(2.0, 0.2, 20)) for _ in range(3)]
    eco = [list(generator.normal(1.0, 0.1, 20)) for _ in range(3)]
    estimate = stats.ratio_of_launches(stock, eco)
    assert estimate.low < 2.0 < estimate.high
    assert estimate.high - estimate.low > 0.02
    assert not estimate.measurably_faster()  # three launches prove nothing
    one = stats.ratio_of_launches(stock[:1], eco[:1])
    assert one.low < one.ratio < one.high


def test_slower_needs_six_launches_and_the_whole_interval() -> None:
    slower = [0.90, 0.91, 0.92, 0.93, 0.94, 0.95]
    assert stats.ratio_of_launches([[r] for r in slower], [[1.0]] * 6).measurably_slower()
    assert not stats.ratio_of_launches([[r] for r in slower[:5]], [[1.0]] * 5).measurably_slower()
    mixed = [0.90, 0.91, 1.02, 1.03, 0.99, 1.01]
    assert not stats.ratio_of_launches([[r] for r in mixed], [[1.0]] * 6).measurably_slower()


def test_holm_spares_one_unlucky_suspect_among_many() -> None:
    generator = np.random.default_rng(5)
    fair = [stats.ratio_of_launches([[r] for r in generator.lognormal(0.0, 0.05, 12)], [[1.0]] * 12)
            for _ in range(20)]  # fmt: skip
    slow = stats.ratio_of_launches([[r] for r in generator.lognormal(-0.3, 0.05, 12)], [[1.0]] * 12)
    verdict = stats.slower_after_holm([*fair, slow])
    assert verdict[-1]
    assert not any(verdict[:-1])


def test_the_same_samples_give_the_same_interval() -> None:
    data = ([[1.0, 1.1], [1.2, 1.3]], [[0.5, 0.6], [0.6, 0.5]])
    assert stats.ratio_of_launches(*data) == stats.ratio_of_launches(*data)
