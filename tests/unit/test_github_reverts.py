from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from scylla_gha.github_api.reverts import (
    ClosedPull,
    Period,
    Revert,
    RevertQuery,
    RevertRate,
    RevertReference,
    revert_rate,
    reverted_numbers,
    reverted_shas,
)
from scylla_gha.stats import wilson

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


def on(day: float) -> datetime:
    return START + timedelta(days=day)


def pull(number: int, day: float = 0, author: str = "", labels: tuple[str, ...] = ()) -> ClosedPull:
    return ClosedPull.model_validate({
        "number": number, "title": "", "body": None, "base": {"ref": "main"}, "user": {"login": author},
        "labels": [{"name": label} for label in labels], "merged_at": on(day), "updated_at": on(day),
        "merge_commit_sha": f"{number:040x}",
    })  # fmt: skip


def undo(of: str, by: str, day: float) -> RevertReference:
    return RevertReference(of, by, on(day))


def asked(**given: Any) -> RevertQuery:
    period = Period(since=date(2026, 3, 1), until=date(2026, 3, 31))
    return RevertQuery(
        **{"repository": "o/r", "base": "main", "period": period, "as_of": on(200), "window_days": 10, **given}
    )


def rate(pulls: list[ClosedPull], undos: list[RevertReference], **given: Any) -> RevertRate:
    return revert_rate(asked(**given), pulls, undos)


def reverted_by(*undos: RevertReference, **given: Any) -> str | None:
    """Return what reverted pull request 1, merged on day 0, with a window of 10 days."""
    found = rate([pull(1)], list(undos), **given).reverts
    return found[0].reverted_by if found else None


def test_the_rate_is_reverted_over_merged_with_wilsons_interval() -> None:
    pulls = [pull(number) for number in range(1, 9)]
    found = rate(pulls, [undo("#3", "#20", 1.5), undo("#5", "f" * 40, 2)])
    assert (found.merged, found.reverted, found.censored, found.rate) == (8, 2, 0, 0.25)
    assert (found.low, found.high) == wilson(2, 8)
    assert found.reverts == (
        Revert(pr=3, reverted_by="#20", days=1.5),
        Revert(pr=5, reverted_by="f" * 40, days=2.0),
    )


def test_of_nothing_there_is_no_rate() -> None:
    found = rate([], [])
    assert (found.merged, found.reverted, found.rate, found.low, found.high) == (0, 0, None, None, None)
    assert '"rate":null' in found.model_dump_json()


def test_of_none_reverted_the_rate_is_zero() -> None:
    found = rate([pull(1), pull(2)], [])
    assert (found.rate, found.low) == (0.0, 0.0)
    assert found.high is not None
    assert found.high > 0.5


@pytest.mark.parametrize(("day", "counts"), [(0.01, True), (10, True), (10.01, False), (0, False), (-1, False)])
def test_a_revert_counts_after_the_merge_and_within_the_window(day: float, counts: bool) -> None:
    assert reverted_by(undo("#1", "#2", day)) == ("#2" if counts else None)


@pytest.mark.parametrize(("age", "merged", "censored"), [(9.99, 0, 1), (10, 1, 0), (11, 1, 0)])
def test_what_is_not_decided_is_in_no_number_even_where_it_is_reverted(age: float, merged: int, censored: int) -> None:
    found = rate([pull(1)], [undo("#1", "#2", 1)], as_of=on(age))
    assert (found.merged, found.reverted, found.censored) == (merged, merged, censored)
    assert found.rate == (1.0 if merged else None)


@pytest.mark.parametrize(
    ("undos", "by"),
    [
        pytest.param([("#1", "#2", 1), ("#2", "#3", 2)], None, id="reverted revert"),
        pytest.param([("#2", "#3", 2), ("#1", "#2", 1)], None, id="in whatever order they are read"),
        pytest.param([("#1", "#2", 1), ("#2", "#3", 11)], "#2", id="but only after the window"),
        pytest.param([("#1", "#2", 1), ("#2", "#3", 2), ("#3", "#4", 3)], "#2", id="and that one reverted too"),
        pytest.param([("#1", "#2", 1), ("#2", "#3", 2), ("#1", "#4", 3)], "#4", id="then reverted again"),
        pytest.param([("#1", "#2", 1), ("#1", "#4", 3)], "#2", id="twice: the first one"),
        pytest.param([("#1", "#2", 1), ("#1", "#2", 1)], "#2", id="found in two ways"),
        pytest.param([("#1", "#1", 1)], None, id="a change of its own"),
        pytest.param([("#1", "a" * 40, 1), ("a" * 40, "b" * 40, 2)], None, id="by commits"),
        pytest.param([("#1", "#2", 1), ("#2", "#2", 1)], "#2", id="a revert that names itself"),
        pytest.param([("#1", "#2", 5), ("#2", "#3", 1)], "#2", id="named before it was merged"),
    ],
)
def test_a_revert_stands_unless_it_is_reverted_itself(undos: list[tuple[str, str, float]], by: str | None) -> None:
    assert reverted_by(*(undo(*each) for each in undos)) == by


def test_long_and_branching_chains_end() -> None:
    """Each change reverts all earlier ones: what is last stands, whatever came before falls."""
    many = [undo(f"#{of}", f"#{by}", by / 1000) for by in range(2, 300) for of in range(1, by)]
    assert reverted_by(*many) == "#299"


@pytest.mark.parametrize(
    ("given", "counts"),
    [
        ({}, True),
        ({"author": "OctoCat"}, True),
        ({"author": "octo"}, False),
        ({"labels": ("agent",)}, True),
        ({"labels": ("Agent", "fast")}, True),
        ({"labels": ("agent", "slow")}, False),
        ({"labels": ("agent",), "author": "other"}, False),
        ({"period": Period(since=date(2026, 3, 2), until=date(2026, 3, 31))}, False),
        ({"period": Period(since=date(2026, 2, 1), until=date(2026, 2, 28))}, False),
        ({"period": Period(since=date(2026, 3, 1), until=date(2026, 3, 1))}, True),
    ],
)
def test_only_what_is_asked_about_is_counted(given: dict[str, Any], counts: bool) -> None:
    one = pull(1, author="octocat", labels=("agent", "fast"))
    assert rate([one], [], **given).merged == counts


@pytest.mark.parametrize(
    ("title", "body", "numbers"),
    [
        ('Revert "Add x"', "Reverts o/r#12", (12,)),
        ('Revert "Add x"', "Reverts O/R#12\n\nIt broke.", (12,)),
        ('Revert "Add x"', "Because it broke.\n\nReverts #12", (12,)),
        ('Revert "Add x"', "Reverts o/r#12\r\nReverts o/r#13", (12, 13)),
        ('Reapply "Add x"', "Reverts o/r#12", (12,)),
        ('Revert "Revert "Add x""', "Reverts o/r#12", (12,)),
        ('Revert "Add x"', "Reverts other/r#12", ()),
        ('Revert "Add x"', "This is like the one that reverts o/r#12", ()),
        ('Revert "Add x"', "", ()),
        ("Add x", "Reverts o/r#12", ()),
        ("Revert all", "Reverts o/r#12", ()),
    ],
)
def test_githubs_revert_button_is_known_by_title_and_body(title: str, body: str, numbers: tuple[int, ...]) -> None:
    assert reverted_numbers(title, body, "o/r") == numbers


@pytest.mark.parametrize(
    ("message", "shas"),
    [
        (f'Revert "x"\n\nThis reverts commit {"a" * 40}.', ("a" * 40,)),
        (f'Revert "x"\n\nThis reverts commit {"a" * 40}, reversing\nchanges made to {"b" * 40}.', ("a" * 40,)),
        (f"Two\n\nThis reverts commit {'a' * 40}.\nThis reverts commit {'b' * 40}.", ("a" * 40, "b" * 40)),
        ("This reverts commit abcdef0 by hand", ("abcdef0",)),
        ("This reverts commit abc", ()),
        (f"This reverts commit {'a' * 41}", ()),
        ('Revert "x"', ()),
        ("", ()),
    ],
)
def test_git_revert_is_known_by_its_message(message: str, shas: tuple[str, ...]) -> None:
    assert reverted_shas(message) == shas
