"""The rows of the comparison: what is collected of a checkout, as files with masked text."""

import base64
import hashlib
import json
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import yaml

from tests.equality.checkouts import HERE, Checkout, write
from tests.equality.comparison import masked, plain_lines
from tests.equality.hub import collect_hub
from tests.equality.materials import Materials, evaluate
from tests.support.actions import step_in
from tests.support.github_api import TOKEN, State, serving

_COMMAND: Final = re.compile(r"^  ([a-z][a-z-]*)(?:  .*)?$", re.MULTILINE)
_SHA: Final = "a1b2c3d" + "0" * 33
_FORMATS: Final = ("csv", "junit", "inspect", "atif", "otel", "profile")
_STORED_ROWS: Final = ("run-1", "run-10", "run-13", "runs/full")  # of BASE's golden runs
_IN_A_TERMINAL: Final = frozenset({"full", "many-arms", "missing", "hostile-rows", "without-statistics"})  # it is slow
_MOST_BYTES: Final = 50_000_000

Collect = Callable[[Checkout, Materials, Path], None]


@dataclass(frozen=True)
class Row:
    """One row: how its files are collected; CONTRIBUTING.md says what each compares and masks."""

    collect: Collect
    has_tolerance: bool = False  # numbers of JSON files are equal within 1e-12


def collect_keys(side: Checkout, materials: Materials, out: Path) -> None:
    """Plan every experiment, and write each plan with one line for each cell."""
    for path in sorted((side.root / "config/experiments").glob("*.yaml")):
        _plan(side, path.stem, side.root, out)
    _plan(side, "ladder", materials.ladder(), out)


def _plan(side: Checkout, name: str, cwd: Path, out: Path) -> None:
    runs = side.folder(f"keys-{name}")
    done = side.run("plan", name, "--runs", runs, "--jobs", "2", cwd=cwd)
    write(out / f"{name}.printed.txt", done.text())
    file = runs / name / "plan.json"
    if not file.exists():
        return
    plan = json.loads(file.read_text())
    cells = [" ".join(str(value) for value in cell.values()) for cell in plan.pop("cells")]
    write(out / f"{name}.cells.txt", "\n".join(cells) + "\n")
    write(out / f"{name}.plan.json", side.masked(json.dumps(plan, indent=1)) + "\n")


def collect_help(side: Checkout, _materials: Materials, out: Path) -> None:
    """Write the help of all commands, found from the help of the command line and of each group."""
    pending: list[tuple[str, ...]] = [()]
    while pending:
        words = pending.pop()
        done = side.run(*words, "--help")
        write(out / f"{'-'.join(('scylla-gha', *words))}.txt", done.text())
        _, is_group, listed = done.out.partition("Commands:\n" if words else "Everyday:\n")
        pending += [(*words, name) for name in _COMMAND.findall(listed)] if is_group else []


def collect_errors(side: Checkout, _materials: Materials, out: Path) -> None:
    """Run the command lines of errors.yaml, each in a new copy of the small repository that it describes."""
    table = yaml.safe_load((HERE / "errors.yaml").read_text(encoding="utf-8"))
    for number, line in enumerate(table["commands"], 1):
        folder = side.folder("errors")
        for path, text in table["files"].items():
            write(folder / path, text)
        done = side.run(*line["args"], cwd=folder, env=line.get("env", {}))
        files = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
        added = [path for path in files if path not in table["files"]]
        text = f"{' '.join(line['args'])}\n{done.text()}--- files written: {' '.join(added) or 'none'}\n"
        write(out / f"{number:03d}-{'-'.join(line['args'])[:60].replace('/', '_')}.txt", text)


def collect_runs(side: Checkout, materials: Materials, out: Path) -> None:
    """Evaluate three experiments, and write their run folders; the row `stored` has their reports."""
    if side.name == "base":
        folder = materials.runs()
    else:
        folder = side.folder("runs")
        evaluate(side, folder)
    write_tree(side, folder, out)
    for path in [*out.glob("*/report.*"), *out.glob("*/charts/*"), *out.glob("github-oracle/**/*.bundle.bytes")]:
        path.write_text("it has times of this run\n")
    for path in out.glob("github-oracle/*/**/*.json*"):
        _mask_commits(path)
    _mask_commits(out / "github-oracle/profile-rows.jsonl")


def _mask_commits(path: Path) -> None:
    """Mask hashes of commits that a solution made, which have the time in them, and the order of requests at once."""
    text = re.sub(r'(?<="log": ")[0-9a-f]{64}|\b[0-9a-f]{40}\b', "<commit>", path.read_text(encoding="utf-8"))
    if path.name == "github-requests.jsonl":
        text = "".join(sorted(text.splitlines(keepends=True)))
    path.write_text(text, encoding="utf-8")


def collect_stored(side: Checkout, materials: Materials, out: Path) -> None:
    """Read BASE's records and results branch by all commands that read them, and evaluate on them once more."""
    runs = side.folder("stored")
    shutil.copytree(materials.runs(), runs, dirs_exist_ok=True)
    (runs / "printed.json").unlink()
    for folder in sorted(path for path in runs.iterdir() if path.is_dir()):
        for steps in (("collect", folder.name), ("aggregate", folder.name), ("report", folder.name, "--json")):
            done = side.run(*steps, "--runs", runs)
            write(out / folder.name / f"{steps[0]}.txt", masked(done.text()))
        for cell in sorted(folder.glob("*/trial.json"))[::3]:
            words = ("show", cell.parent.name, "--experiment", folder.name, "--full", "--diff", "--runs", runs)
            write(out / folder.name / f"show-{cell.parent.name}.txt", masked(side.run(*words).text()))
        for kind in _FORMATS:
            target = folder / "exported" / kind
            target.parent.mkdir(exist_ok=True)
            done = side.run("export", folder.name, "--to", kind, "-o", target, "--runs", runs)
            write(out / folder.name / f"export-{kind}.txt", masked(done.text()))
    done = side.run("evaluate", "quickstart", "--runs", runs, "--jobs", "1")
    write(out / "evaluate-again.txt", masked(done.text()))
    write_tree(side, runs, out / "runs")
    _collect_branch(side, materials, out / "branch")


def _collect_branch(side: Checkout, materials: Materials, out: Path) -> None:
    remote = ("--remote", f"file://{materials.golden() / 'server.git'}")
    fetched = side.folder("fetched")
    for words in (("list",), ("show", "house-style"), ("fetch", "house-style", "--last", "5", "--into", str(fetched))):
        write(out / f"{words[0]}.txt", side.run("results", *words, *remote).text())
    rows = sorted(fetched.rglob("*.jsonl"))
    write_tree(side, fetched, out / "fetched")
    write(out / "history.txt", masked(side.run("history", *rows).text()))


def collect_renderings(side: Checkout, materials: Materials, out: Path) -> None:
    """Render the golden reports: report.md, page, terminal, step summary, comment and check run, and the site."""
    runs = side.folder("renderings")
    shutil.copytree(materials.golden() / "runs", runs, dirs_exist_ok=True)
    for folder in sorted(runs.iterdir()):
        _render(side, folder, out / folder.name)
    for cell in sorted((runs / "full").glob("*/trial.json"))[::12]:
        words = ("show", cell.parent.name, "--experiment", "full", "--diff", "--runs", runs)
        write(out / "full" / f"show-{cell.parent.name}.txt", side.run(*words).text())
    site = side.folder("site")
    remote = f"file://{materials.golden() / 'server.git'}"
    write(out / "site.txt", side.run("site", "--into", site, "--remote", remote).text())
    write_tree(side, site, out / "site", is_timed=False)


def _render(side: Checkout, folder: Path, out: Path) -> None:
    where = (folder.name, "--runs", folder.parent)
    if folder.name in _IN_A_TERMINAL:
        write(out / "terminal.txt", side.run("report", *where).text())
    step = step_in(side.folder("step"))
    env = {**step.environment(), "GITHUB_REPOSITORY": "octo-org/app"}
    write(out / "step.txt", side.run("report", *where, "--github", env=env).text())
    write(out / "step-summary.md", side.masked(step.summary.read_text()))
    write(out / "step-outputs.txt", side.masked(step.outputs.read_text()))
    state = State()
    state.pull(7, _SHA)
    with serving(state):
        env |= {"GITHUB_API_URL": state.url, "GITHUB_TOKEN": TOKEN, "NO_PROXY": "127.0.0.1"}
        posted = [
            side.run("publish", "comment", *where, "--pull", "7", "--head", _SHA, env=env),
            side.run("publish", "check", *where, "--commit", _SHA, env=env),
        ]
    write(out / "posted.txt", "".join(done.text() for done in posted).replace(state.url, "<github>"))
    bodies = [comment["body"] for comment in state.comments.values()]
    write(out / "comment.md", _with_decoded_data("\n".join(bodies)).replace(state.url, "<github>"))
    write(out / "checks.json", json.dumps([state.checks, state.statuses], indent=1, default=str))
    write_tree(side, folder, out / "run", is_timed=False)


def _with_decoded_data(text: str) -> str:
    """Decode the hidden line of a comment, which has the time at which it was posted."""
    return re.sub(r"(?<=scylla:data )[\w+/=]+", lambda found: masked(base64.b64decode(found[0]).decode()), text)


def collect_statistics(side: Checkout, materials: Materials, out: Path) -> None:
    """Compute report.json anew from stored rows."""
    runs = side.folder("statistics")
    for name in _STORED_ROWS:
        folder = materials.golden() / name
        (runs / folder.name).mkdir()
        for file in ("plan.json", "results.jsonl"):
            shutil.copy(folder / file, runs / folder.name)
        done = side.run("aggregate", folder.name, "--runs", runs)
        write(out / folder.name / "printed.txt", done.text())
        report = runs / folder.name / "report.json"
        if report.exists():
            write(out / folder.name / "report.json", side.masked(report.read_text()))


def collect_hub_answers(side: Checkout, materials: Materials, out: Path) -> None:
    """Ask the hub of each fixture for all that BASE's contract lists, and run the journeys of clients."""
    (path,) = (path for path in materials.base.root.glob("*/**/contract.yaml") if ".venv" not in path.parts)
    collect_hub(side, yaml.safe_load(path.read_text(encoding="utf-8")), out)


def collect_readiness(side: Checkout, materials: Materials, out: Path) -> None:
    """Make the readiness suite of each code base, and write it whole: items, prompts, keys of graders."""
    for code in sorted(path for path in materials.code_bases().iterdir() if path.is_dir()):
        folder = side.folder(f"readiness-{code.name}")
        shutil.copytree(code, folder / "code", symlinks=True)
        done = side.run("readiness", "--keep-suite", "--runs", folder / "runs", cwd=folder / "code")
        lines = sorted(masked(done.text()).splitlines())  # the dimensions are made at once
        write(out / code.name / "printed.txt", "\n".join(lines))
        write_tree(side, folder / "runs", out / code.name)


def write_tree(side: Checkout, folder: Path, out: Path, *, is_timed: bool = True) -> None:
    """Write the masked text of all files of a folder; of a file that is no text, its digest."""
    out.mkdir(parents=True, exist_ok=True)
    for path, name in _files(folder):
        data = path.read_bytes()
        try:
            text = data.decode()
        except UnicodeDecodeError:
            write(out / f"{name}.bytes", f"{hashlib.sha256(data).hexdigest()}\n")
            continue
        text = side.masked(text).replace(side.masked(str(folder)), "<runs>")
        write(out / name, plain_lines(name, text, masked if is_timed else str))


def _files(folder: Path) -> Iterator[tuple[Path, str]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink() and path.stat().st_size < _MOST_BYTES:
            yield path, str(path.relative_to(folder))


ROWS: Final[dict[str, Row]] = {
    "keys": Row(collect_keys),
    "help": Row(collect_help),
    "errors": Row(collect_errors),
    "renderings": Row(collect_renderings),
    "statistics": Row(collect_statistics, has_tolerance=True),
    "stored": Row(collect_stored),
    "runs": Row(collect_runs),
    "hub": Row(collect_hub_answers),
    "readiness": Row(collect_readiness),
}
