"""Readiness of a pull request and of a branch, published by the command on the hub, which gh and git then read."""

import datetime
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from scylla_gha.model.readiness import REPORT_FILE, ReadinessReport
from scylla_gha.report.readiness_text import MARKER, readiness_markdown
from scylla_gha.store import write_record, write_text
from tests.support.branch import reported
from tests.support.command import Said, scylla
from tests.support.hub import AUTHOR, NAME, OWNER, make_hub
from tests.support.hub_server import ServedHub, serving_hub
from tests.support.readiness_reports import changed_report, measured, readiness_report

TODAY = datetime.datetime.now(datetime.UTC)
GREY, BLUE = "#59636e", "#0b5fa5"
SVG, JSON = "badges/readiness-readiness.svg", "badges/readiness-readiness.json"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[ServedHub]:
    with serving_hub(make_hub(tmp_path / "hub"), tmp_path / "clients") as hub:
        yield hub


def published(served: ServedHub, folder: Path, report: ReadinessReport, *command: str) -> Said:
    """Publish a stored measurement as a job of Actions would."""
    run = reported(folder / "runs/readiness")
    write_record(run.root / REPORT_FILE, report)
    write_text(run.root / "readiness.md", readiness_markdown(report))
    address = f"http://127.0.0.1:{served.port}"
    env = {"GITHUB_API_URL": f"{address}/api/v3", "GITHUB_SERVER_URL": address, "GITHUB_TOKEN": AUTHOR,
           "GITHUB_REPOSITORY": f"{OWNER}/{NAME}", "GITHUB_REF_NAME": "main", "GITHUB_RUN_ID": ""}  # fmt: skip
    said = scylla("publish", *command, "readiness", cwd=folder, env={**env, "GITHUB_SHA": "a" * 40})
    assert said.code == 0, said.err
    return said


def test_a_second_measurement_edits_the_comment_of_the_first(served: ServedHub, tmp_path: Path) -> None:
    served.run("gh", "pr", "create", "-R", f"{OWNER}/{NAME}", "-H", "topic", "-B", "main", "-t", "Sum", "-b", "")
    served.run("gh", "pr", "comment", "1", "-R", f"{OWNER}/{NAME}", "-b", "Thanks!")
    told = ("comment", "--pull", "1")
    assert "comment posted" in published(served, tmp_path, readiness_report(), *told).err
    assert "comment edited" in published(served, tmp_path, changed_report(), *told).err
    shown = json.loads(served.run("gh", "pr", "view", "1", "-R", f"{OWNER}/{NAME}", "--json", "comments"))
    thanks, ours = (comment["body"] for comment in shown["comments"])
    assert thanks == "Thanks!"
    assert ours.startswith(f"{MARKER}\n> [!CAUTION]\n> **readiness 83")
    assert "- lost: src/m0.py" in ours


def test_rows_and_badge_are_on_the_results_branch_and_grey_if_wide_or_old(served: ServedHub, tmp_path: Path) -> None:
    narrow = readiness_report(score=measured(*range(24)), at=TODAY)
    told = ("branch", "--run")

    def stored(path: str) -> str:
        served.run("git", "fetch", "-q", f"https://github.com/{OWNER}/{NAME}", "+scylla-results:results", cwd=checkout)
        return subprocess.run(["git", "show", f"results:{path}"], cwd=checkout, capture_output=True, text=True,
                              check=True).stdout  # fmt: skip

    checkout = tmp_path / "checkout"
    subprocess.run(["git", "init", "-q", str(checkout)], check=True)
    folder = published(served, tmp_path, readiness_report(at=TODAY), *told, "1").out.strip()
    assert GREY in stored(SVG), "an interval of more than 15 points to either side"
    published(served, tmp_path, narrow, *told, "2")
    assert BLUE in stored(SVG)
    assert (json.loads(stored(JSON))["score"], json.loads(stored(JSON))["is_grey"]) == (100, False)
    assert json.loads(stored(f"{folder}/{REPORT_FILE}"))["repository"] == "demo"
    assert f"]({SVG})" in stored("README.md")
    assert "**Readiness 100 ± " in stored("README.md")
    _age(served, checkout)
    published(served, tmp_path, changed_report(), *told, "3", "--pull", "7")
    assert GREY in stored(SVG), "it is older than 90 days, and a pull request changes nothing else of it"
    assert json.loads(stored(JSON))["score"] == 100
    old = narrow.model_copy(update={"at": TODAY - datetime.timedelta(days=91)})
    published(served, tmp_path, old, *told, "4")
    assert json.loads(stored(JSON))["is_grey"]


def _age(served: ServedHub, checkout: Path) -> None:
    """Store the badge as if it had been made 91 days ago."""
    served.run("git", "checkout", "-q", "results", cwd=checkout)
    badge = json.loads((checkout / JSON).read_text())
    day = TODAY.date() - datetime.timedelta(days=91)
    badge |= {"date": str(day), "stale_on": str(day + datetime.timedelta(days=90))}
    (checkout / JSON).write_text(json.dumps(badge))
    served.run("git", "commit", "-qam", "An old badge", cwd=checkout)
    served.run("git", "push", "-q", f"https://github.com/{OWNER}/{NAME}", "results:scylla-results", cwd=checkout)
    served.run("git", "checkout", "-q", "--detach", cwd=checkout)
