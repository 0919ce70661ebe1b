from scylla_gha.model.report import Report
from scylla_gha.render.page import page_of
from scylla_gha.render.report_tiers import families, tiers
from tests.support.records import make_report
from tests.support.reports import full_report


def with_family(family: str, **given: float | str) -> Report:
    """The full report, its comparison of tiers turned into another one."""
    report = full_report()
    assert report.analysis is not None
    (one,) = (each for each in report.analysis.contrasts if each.metric == "pass_rate")
    other = one.model_copy(update={"family": family, **given})
    return report.model_copy(update={"analysis": report.analysis.model_copy(update={"contrasts": (other,)})})


def test_tiers_their_steps_and_the_best_of_each() -> None:
    lines = list(tiers(page_of(full_report())))
    assert any(line.startswith("| T1 against T0 | +") and "▲ more" in line for line in lines)
    assert any(line.startswith("| T0 | 2 | t0-01-vanilla | ") for line in lines)
    assert list(families(page_of(full_report()))) == []


def test_an_arrow_takes_the_adjusted_p_as_well() -> None:
    lines = tiers(page_of(with_family("each tier against the one before", p_adjusted=0.06)))
    assert any(line.startswith("| T1 against T0 | +") and "? not enough data" in line for line in lines)


def test_other_families_have_a_section_of_their_own() -> None:
    lines = list(families(page_of(with_family("models against each other", arm="m1", baseline="m2"))))
    assert lines[0] == "\n## Models against each other\n"
    assert any(line.startswith("| m1 against m2 | ") for line in lines)


def test_without_tiers_there_is_nothing() -> None:
    assert list(tiers(page_of(make_report()))) == list(families(page_of(make_report()))) == []
