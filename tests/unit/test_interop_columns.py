import pytest

from scylla_gha.errors import ConfigError
from scylla_gha.interop.importers.columns import PassRule, field_of, match_columns, rule_of
from scylla_gha.interop.importers.sources import SourceRow, SourceTable

TABLE = SourceTable(("task", "model", "score", "tokens", "junk"), (SourceRow("f:2", {"task": "a"}),))
GIVEN = {"scenario": "task", "arm": "model"}


def test_given_columns_come_first_then_those_with_a_fields_own_name() -> None:
    found = match_columns(TABLE, GIVEN, PassRule("score", ">=", 0.5), "f")
    assert found.used == {
        "scenario": "task", "arm": "model", "model": "model", "score": "score", "total_tokens": "tokens",
    }  # fmt: skip
    assert found.ignored == ("junk",)


def test_a_field_without_a_column_can_be_asked_for() -> None:
    assert (
        "score"
        not in match_columns(
            SourceTable(("passed", *TABLE.columns), TABLE.rows), {**GIVEN, "score": ""}, None, "f"
        ).used
    )


def test_a_rule_stands_for_the_column() -> None:
    table = SourceTable((*TABLE.columns, "passed"), TABLE.rows)
    found = match_columns(table, GIVEN, rule_of("score>=0.5"), "f")
    assert "passed" not in found.used
    assert found.ignored == ("junk", "passed")


@pytest.mark.parametrize(
    ("given", "rule", "message"),
    [
        ({**GIVEN, "usd": "costs"}, None, "--map usd=costs: there is no such column"),
        ({**GIVEN, "usd": "tasks"}, None, "did you mean"),
        ({"arm": "model"}, None, "no column is the scenario; say which one: --map scenario=COLUMN"),
        ({"scenario": "task"}, None, "no column is the arm"),
        (GIVEN, None, "no column tells whether a row passed"),
        (GIVEN, PassRule("usd", "<", 1), "--passed-if goes by usd, and no column is that"),
        ({"cost": "junk"}, None, "--map 'cost': not a field of a row"),
    ],
)
def test_what_is_not_there_is_named_with_what_is(given: dict[str, str], rule: PassRule | None, message: str) -> None:
    with pytest.raises(ConfigError) as error:
        match_columns(TABLE, given, rule, "f.csv")
    assert message in str(error.value)


def test_of_no_rows_nothing_is_missing() -> None:
    assert match_columns(SourceTable((), ()), GIVEN, None, "f").ignored == ()


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("score>=0.6", 0.6, True),
        ("score > 0.6", 0.6, False),
        ("score<=0.6", 0.6, True),
        ("score<0.6", 0.6, False),
        ("score == 1", 1.0, True),
        ("score>=0.6", None, None),
    ],
)
def test_a_rule_tells_a_pass(text: str, value: float | None, expected: bool | None) -> None:
    assert rule_of(text).passed({"score": value}) is expected


@pytest.mark.parametrize("text", ["", "score", "score>=", "score>=high", "score=>0.6", "0.6<=score<=1"])
def test_what_is_no_rule_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"as score>=0.6"):
        rule_of(text)


def test_a_field_has_other_names() -> None:
    assert field_of("tokens", "--map") == "total_tokens"
