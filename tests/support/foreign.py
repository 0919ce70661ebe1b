"""Rows as other tools leave them, and what is made of them."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from scylla_gha.cli.main import cli
from scylla_gha.interop.importers import ImportedRows

Row = Mapping[str, object]
ODD: tuple[Any, ...] = (None, True, 0, -1, 1.5, math.nan, "", "text", [], [1], {}, {"a": 1})


def notes(rows: ImportedRows) -> list[str]:
    """Return the notes of an import."""
    assert rows.plan.imported is not None
    return list(rows.plan.imported.notes)


def csv_file(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def jsonl_file(path: Path, rows: Sequence[Row]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def asked(*args: str) -> Result:
    """The command line within this process; an expected failure is raised, a wrong use ends with code 2."""
    return CliRunner().invoke(cli, args, catch_exceptions=True)


def strict_json(text: str) -> Any:
    """JSON as it is defined: NaN and infinities are none."""

    def refuse(word: str) -> Any:
        raise AssertionError(f"{word} is no JSON")

    return json.loads(text, parse_constant=refuse)
