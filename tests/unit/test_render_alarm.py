from scylla_gha.model.posting import RunPage, Standing
from scylla_gha.render.alarm import alarm, recovery, spread
from tests.support.reports import EVIL

PAGE = RunPage(repository="octo-org/app", run=5)


def standing(arm: str, why: str = "-20.0 points") -> Standing:
    return Standing(arm=arm, against="base", verdict="worse", why=why, not_worse=False)


def test_the_issue_shows_both_measurements() -> None:
    text = alarm([standing("head", "-30.0 points"), standing("other")], [standing("head")], "demo", PAGE)
    assert "**1 arm does worse** in `demo`, measured twice" in text
    assert "| `head` | `base` | ▼ -30.0 points | ▼ -20.0 points |" in text
    assert "https://github.com/octo-org/app/actions/runs/5" in text
    assert "other" not in text


def test_many_arms_are_counted() -> None:
    found = [standing(f"arm{number}") for number in range(40)]
    text = alarm(found, found, "demo", PAGE)
    assert "**40 arms do worse**" in text
    assert "and 10 more" in text


def test_what_others_wrote_does_nothing() -> None:
    found = [standing(EVIL, EVIL)]
    texts = (alarm(found, found, "demo", PAGE), recovery(found, PAGE), spread([EVIL], PAGE))
    for text in texts:
        assert "@octocat" not in text
        assert "<b>" not in text.replace("\\<b\\>", "")
        assert "fixes #1" not in text
