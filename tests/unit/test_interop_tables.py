from pathlib import Path

import pyarrow
import pytest
from pyarrow import parquet

from scylla_gha.errors import ConfigError
from scylla_gha.interop.exporters.rows import write_csv, write_parquet
from scylla_gha.interop.importers.tables import SourceRow, outcome_of_exception, read_csv, read_jsonl, read_parquet
from tests.support.foreign import csv_file
from tests.support.records import WHEN, make_result


def test_csv_is_text_with_the_line_of_each_row(tmp_path: Path) -> None:
    place = csv_file(tmp_path / "a.csv", '\ufeffa, b \n1,NA\n\n"x\ny",\n,\n007,nan\n')
    found = read_csv(place)
    assert found.columns == ["a", "b"]
    assert found.rows == [
        SourceRow(f"{place}:2", {"a": "1", "b": "NA"}),
        SourceRow(f"{place}:4", {"a": "x\ny", "b": None}),
        SourceRow(f"{place}:7", {"a": "007", "b": "nan"}),
    ]


def test_tabs_part_the_columns_of_a_tsv(tmp_path: Path) -> None:
    assert read_csv(csv_file(tmp_path / "a.tsv", "a\tb,c\n1\t2\n")).columns == ["a", "b,c"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "there is no header line"),
        ("a,b\n1,2,3\n", r"a\.csv:2: expected 2 fields as in the header, got 3; put cells that contain the separator"),
        ("sep=;\na;b\n1;2;3\n", r"a\.csv:3: expected 2 fields"),
        ('a,b\n"1,2\n', "not a CSV file"),
        ("a,a\n1,2\n", "two have the same: a, a"),
        (",\n1,2\n", "no column has a name, or"),
    ],
)
def test_a_csv_that_is_none_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        read_csv(csv_file(tmp_path / "a.csv", text))


def test_other_bytes_than_utf_8_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"a,b\n\xff\xfe,1\n")
    with pytest.raises(ConfigError, match="UTF-8"):
        read_csv(tmp_path / "a.csv")


def test_json_lines_keep_types_and_open_what_is_inside(tmp_path: Path) -> None:
    place = csv_file(tmp_path / "a.jsonl", '{"a": 1, "m": {"s": 0.5, "t": null}}\n\n{"a": true, "c": "x"}\n')
    found = read_jsonl(place)
    assert found.columns == ["a", "m", "m.s", "m.t", "c"]
    assert found.rows == [
        SourceRow(f"{place}:1", {"a": 1, "m": {"s": 0.5, "t": None}, "m.s": 0.5, "m.t": None}),
        SourceRow(f"{place}:3", {"a": True, "c": "x"}),
    ]
    assert type(found.rows[0].values["a"]) is int


@pytest.mark.parametrize(
    "text",
    [
        "id;score\r\n007;0,75\r\n",
        "sep=;\r\nid;score\r\n007;0,75\r\n",
        'sep=,\r\nid,score\r\n007,"0,75"\r\n',
        "id\tscore\r\n007\t0,75\r\n",
        'id,score,,\r\n007,"0,75",,\r\n,,,\r\n',
        'id,score\r\n007,"0,75",,\r\n',
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_csv_files_of_spreadsheets_are_read(tmp_path: Path, text: str, encoding: str) -> None:
    (tmp_path / "a.csv").write_bytes(text.encode(encoding))
    table = read_csv(tmp_path / "a.csv")
    assert (table.columns, table.notes) == (["id", "score"], [])
    assert [row.values for row in table.rows] == [{"id": "007", "score": "0,75"}]


def test_names_with_commas_do_not_decide_what_separates_the_columns(tmp_path: Path) -> None:
    assert read_csv(csv_file(tmp_path / "a.csv", '"a, b, c";d\n1;2\n')).columns == ["a, b, c", "d"]


def test_a_column_without_a_name_is_left_out_with_a_note(tmp_path: Path) -> None:
    table = read_csv(csv_file(tmp_path / "a.csv", ",id\n0,x\n1,y\n"))
    assert [row.values for row in table.rows] == [{"id": "x"}, {"id": "y"}]
    assert table.notes == ["1 column has no name and cannot be used."]


def test_json_lines_in_utf_16_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes('{"id": "groß"}\r\n{"id": "\u0a0d"}\r\n'.encode("utf-16"))
    assert [row.values["id"] for row in read_jsonl(tmp_path / "a.jsonl").rows] == ["groß", "\u0a0d"]


def test_a_line_cut_short_is_named_with_advice_that_keeps_its_trial(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"a\.jsonl:2: not JSON: .*keep at least scenario and arm"):
        read_jsonl(csv_file(tmp_path / "a.jsonl", '{"id": 1, "pass": true}\n{"id": 2, "pa'))


@pytest.mark.parametrize("line", ["{", "[1]", "1"])
def test_a_line_that_is_no_object_is_named(tmp_path: Path, line: str) -> None:
    with pytest.raises(ConfigError, match=r"a\.jsonl:2: not (a )?JSON"):
        read_jsonl(csv_file(tmp_path / "a.jsonl", f'{{"a": 1}}\n{line}\n'))


def test_json_lines_with_a_byte_order_mark_and_nan_are_read(tmp_path: Path) -> None:
    place = tmp_path / "a.jsonl"
    place.write_bytes('\ufeff{"a": NaN, "b": 1e400, "c": "\\ud83d"}\n'.encode())
    assert read_jsonl(place).rows == [SourceRow(f"{place}:1", {"a": None, "b": None, "c": "\ufffd"})]


def test_deep_json_lines_are_columns_down_to_eight_levels(tmp_path: Path) -> None:
    place = csv_file(tmp_path / "a.jsonl", '{"a":' * 900 + "1" + "}" * 900 + "\n")
    assert read_jsonl(place).columns == [".".join("a" * levels) for levels in range(1, 10)]


def test_a_small_parquet_file_that_stands_for_much_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "a.parquet"
    texts = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * 1_000, pyarrow.int32()), ["x" * 1_000_000])
    parquet.write_table(pyarrow.table({"a": texts}), place)
    assert place.stat().st_size < 1_000_000
    with pytest.raises(ConfigError, match="its values need more than 500,000,000 bytes"):
        read_parquet(place)
    parquet.write_table(pyarrow.table({"a": pyarrow.array([1] * 20_000_001)}), place)
    with pytest.raises(ConfigError, match="has 20,000,001 values, but the maximum is 20,000,000"):
        read_parquet(place)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_table_of_rows_has_a_column_for_each_field_and_null_stays_null(tmp_path: Path, suffix: str) -> None:
    row = make_result(usd=None, tools={"Bash": 2}, started_at=WHEN, turns=3, delivered=None, seconds=1.25)
    place = tmp_path / f"rows.{suffix}"
    (write_csv if suffix == "csv" else write_parquet)([row, make_result()], place)
    (first, _) = (read_csv if suffix == "csv" else read_parquet)(place).rows
    assert list(first.values) == list(type(row).model_fields)
    assert [first.values[name] for name in ("usd", "delivered", "grade")] == [None, None, "A"]
    assert first.values["tools"] == '{"Bash": 2}'
    typed = (True, 3, 1.25, WHEN) if suffix == "parquet" else ("True", "3", "1.25", "2026-01-02 03:04:05+00:00")
    assert tuple(first.values[name] for name in ("passed", "turns", "seconds", "started_at")) == typed


def test_a_table_of_no_rows_has_its_columns(tmp_path: Path) -> None:
    write_parquet([], tmp_path / "none.parquet")
    found = read_parquet(tmp_path / "none.parquet")
    assert (found.rows, "usd" in found.columns) == ([], True)


def test_what_is_no_parquet_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read as Parquet"):
        read_parquet(csv_file(tmp_path / "a.parquet", "a,b\n"))


@pytest.mark.parametrize(
    ("kind", "message", "outcome"),
    [
        ("AgentTimeoutError", "after 600 s", "timeout"),
        ("VerifierTimeoutError", "", "judge_error"),
        ("RewardFileNotFoundError", "", "judge_error"),
        ("EnvironmentStartTimeoutError", "", "sandbox_error"),
        ("AgentSetupTimeoutError", "", "sandbox_error"),
        ("CancelledError", "", "cancelled"),
        ("RateLimitError", "", "provider_error"),
        ("NonZeroAgentExitCodeError", "API Error: 529 overloaded_error: Overloaded", "provider_error"),
        ("NonZeroAgentExitCodeError", "API Error (status code 503)", "provider_error"),
        ("APIConnectionError", "", "provider_error"),
        ("NonZeroAgentExitCodeError", "exit code 1: wrote 500 lines", "agent_error"),
        ("ValueError", "no", "agent_error"),
    ],
)
def test_an_exception_is_somebodys_doing(kind: str, message: str, outcome: str) -> None:
    assert outcome_of_exception(kind, message) == outcome
