import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests  # type: ignore[import-untyped]

from scylla_gha.stats.multiplicity import benjamini_hochberg, bonferroni, holm, rejected
from tests.support.numbers import FIXED

METHODS = {"bonferroni": bonferroni, "holm": holm, "fdr_bh": benjamini_hochberg}
FAMILIES = st.lists(st.one_of(st.floats(1e-9, 1), st.sampled_from([0.01, 0.05, 1.0])), min_size=1, max_size=12)


@FIXED
@given(FAMILIES, st.sampled_from(sorted(METHODS)))
def test_adjusted_p_are_those_of_statsmodels(p: list[float], name: str) -> None:
    assert METHODS[name](p).tolist() == pytest.approx(multipletests(p, method=name)[1].tolist())


@FIXED
@given(FAMILIES)
def test_adjusting_raises_p_keeps_the_order_and_stays_at_most_one(p: list[float]) -> None:
    hb, hm, bo = benjamini_hochberg(p), holm(p), bonferroni(p)
    assert (np.array(p) <= hb * (1 + 1e-12)).all()
    assert (hb <= hm * (1 + 1e-12)).all()
    assert (hm <= bo * (1 + 1e-12)).all()
    assert (bo <= 1).all()
    order = np.argsort(p)
    for adjusted in (hb, hm, bo):
        assert (np.diff(adjusted[order]) >= 0).all()
        assert adjusted[::-1].tolist() == pytest.approx(
            {id(hb): benjamini_hochberg, id(hm): holm, id(bo): bonferroni}[id(adjusted)](p[::-1]).tolist()
        )


@pytest.mark.parametrize("adjust", METHODS.values())
def test_what_gave_no_p_is_left_out_but_may_be_counted(adjust: object) -> None:
    assert callable(adjust)
    found = adjust([0.01, None, math.nan, 0.04])
    assert np.isnan(found).tolist() == [False, True, True, False]
    assert found[[0, 3]].tolist() == adjust([0.01, 0.04]).tolist()
    assert (adjust([0.01, None, 0.04], 3)[[0, 2]] >= adjust([0.01, 0.04])).all()
    assert adjust([0.01, None], 4)[0] == pytest.approx(0.04)
    assert adjust([]).size == 0
    assert np.isnan(adjust([None])).all()


@pytest.mark.parametrize("adjust", METHODS.values())
def test_what_is_no_family_is_refused(adjust: object) -> None:
    assert callable(adjust)
    with pytest.raises(ValueError, match="each p must lie in"):
        adjust([1.5])
    with pytest.raises(ValueError, match="a family of 1 cannot hold 2 tests"):
        adjust([0.1, 0.2], 1)


def test_what_is_unknown_is_not_rejected() -> None:
    assert rejected(np.array([0.05, math.nan, 0.051])) == 1
