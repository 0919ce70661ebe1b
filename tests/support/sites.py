"""Results branches of several made runs, and the site that the command makes of them."""

import datetime
import gzip
import hashlib
import json
import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

from scylla_gha.aggregate import aggregate, question_of
from scylla_gha.model.plan import Plan
from scylla_gha.model.publication import Origin, RunName
from scylla_gha.model.report import Report
from scylla_gha.model.result import Result
from scylla_gha.results_branch.publish_run import RunToPublish, pack_run, run_files
from scylla_gha.store import read_lines, write_lines, write_record
from scylla_gha.store.run_folder import RunFolder
from tests.support.branch import bare, copy_of
from tests.support.report_pages import full_plan
from tests.support.reports import REPETITIONS, SCENARIOS, VARIANTS, row_of

START = datetime.datetime(2026, 10, 1, tzinfo=datetime.UTC)


class SiteBranch:
    """A results branch in a bare repository, to which whole runs are added in one commit."""

    def __init__(self, root: Path) -> None:
        self.root, self.server = root, bare(root)
        self.files: dict[str, bytes] = {}
        self.runs: list[RunToPublish] = []
        self.number = 0

    def add(self, plan: Plan, rows: Iterable[Result], report: Report | None = None,
            pages: Mapping[str, bytes] | None = None, **origin: object) -> RunName:  # fmt: skip
        """Add a run that was published a day after the one before; its report is computed unless it is given."""
        self.number += 1
        folder, name = RunFolder(self.root / f"run-{self.number}"), plan.experiment.id
        write_record(folder.plan, plan)
        write_lines(folder.results, rows)
        report = report or aggregate(plan, read_lines(folder.results, Result), question=question_of(plan))
        write_record(folder.report("json"), report)
        packed = pack_run(folder.results, folder.report("json"), pages)
        run = RunName(experiment=name, run=str(9000 + self.number))
        head = hashlib.sha1(str(self.number).encode()).hexdigest()
        where = Origin.model_validate({"repository": "acme/app", "head": head, "branch": "main", **origin})
        when = START + datetime.timedelta(days=self.number)
        self.runs.append(RunToPublish(run, where, plan, report, packed))
        self.files |= run_files(self.runs[-1], when, f"{when:%Y-%m}")[1]
        return run

    def old_rows(self) -> None:
        """Write the rows of the last run as a version of the toolkit did that had another column."""
        (path,) = [path for path in self.files if path.endswith("rows-000.jsonl.gz")]
        folder = path.rpartition("/")[0]
        rows = gzip.compress(gzip.decompress(self.files[path]).replace(b'"schema_version":2', b'"old":1'), mtime=0)
        manifest = json.loads(self.files[f"{folder}/manifest.json"])
        for file in manifest["files"]:
            if file["rows"] is not None:
                file |= {"sha256": hashlib.sha256(rows).hexdigest(), "bytes": len(rows)}
        text = json.dumps(manifest).encode()
        (index,) = [path for path in self.files if path.startswith("v1/index/")]
        entry = json.loads(self.files[index]) | {"manifest": hashlib.sha256(text).hexdigest()}
        self.files |= {path: rows, f"{folder}/manifest.json": text, index: json.dumps(entry).encode()}

    def push(self) -> Path:
        """Push all runs in one commit; return the server's folder."""
        copy = copy_of(self.root, self.server)
        copy.refresh()
        copy.push(copy.commit(self.files, "runs"))
        self.files = {}
        return self.server


def site_plan(name: str = "house-style") -> Plan:
    plan = full_plan()
    update = {"id": name, "question": f"Does the skill help in {name}?"}
    return plan.model_copy(update={"experiment": plan.experiment.model_copy(update=update)})


def site_rows(
    name: str = "house-style", change: Callable[[Result], Result] = lambda row: row, arms: int = len(VARIANTS)
) -> Iterator[Result]:
    """Rows of all cells of a plan of `site_plan`."""
    for variant in range(arms):
        for scenario in range(len(SCENARIOS)):
            for repetition in range(1, REPETITIONS + 1):
                yield change(row_of(variant, scenario, repetition).model_copy(update={"experiment": name}))


def failing_from(day: int, of: int) -> Callable[[Result], Result]:
    """Trials of the skill's arm fail, in most scenarios, from a day on."""

    def change(row: Result) -> Result:
        fails = of >= day and row.variant == VARIANTS[2] and row.scenario != SCENARIOS[2]
        return row.model_copy(update={"passed": False}) if fails else row

    return change


def realistic_branch(root: Path, days: int = 10) -> SiteBranch:
    """Ten runs of one experiment in which an arm becomes worse, runs of a pull request and a branch, and another."""
    branch = SiteBranch(root)
    for day in range(days):
        branch.add(site_plan(), site_rows(change=failing_from(7, day)))
    branch.add(site_plan(), site_rows(), pull=12, branch=None)
    branch.add(site_plan(), site_rows(), branch="feature")
    branch.add(site_plan("models"), site_rows("models"))
    branch.push()
    return branch


class _Links(HTMLParser):
    """Addresses and ids of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.feed(text)

    def handle_starttag(self, _: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in {"href", "src"}:
                self.links.append(value or "")
            elif name == "id":
                self.ids.add(value or "")


def broken_links(files: Mapping[str, str]) -> list[str]:
    """Links of pages to files or parts that the site does not have."""
    broken = []
    pages = {path: _Links(text) for path, text in files.items() if path.endswith(".html")}
    for path, page in pages.items():
        for link in page.links:
            target, _, anchor = link.partition("#")
            place = posixpath.normpath(posixpath.join(posixpath.dirname(path), unquote(target))) if target else path
            if link.startswith(("https://", "data:")) or (place in files and anchor.startswith("cell=")):
                continue
            if place not in files or (anchor and anchor not in pages[place].ids):
                broken.append(f"{path}: {link}")
    return broken
