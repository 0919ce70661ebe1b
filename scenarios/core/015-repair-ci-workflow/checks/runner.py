"""Runs the jobs of a workflow on this machine: real scripts, recorded `gh`, no network."""

import functools
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from expressions import condition, evaluate, text_of, truthy

PYTHON = os.path.realpath(sys.executable)
GH = """#!{python} -IS
import json, os, sys
words = sys.argv[1:]
notes = [open(word).read() for word in words if word.endswith(".md") and os.path.isfile(word)]
rights = json.load(open({rights!r}))
scope = {{"release": "contents", "issue": "issues"}}.get(words[0] if words else "", "")
refused = rights.get(scope) != "write" or not (os.environ.get("GH_TOKEN") or os.environ.get("GITHUB_TOKEN"))
with open({record!r}, "a") as stream:
    stream.write(json.dumps({{"words": words, "notes": notes, "refused": refused}}) + "\\n")
if refused:
    sys.exit("HTTP 403: Resource not accessible by integration")
"""
EMPTY_RIGHTS = {"contents": "read", "packages": "read"}


class WorkflowError(Exception):
    """The workflow does not start."""


def read(path: Path) -> Any:
    """A YAML file."""
    return yaml.load(path.read_text(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def load(name: str, root: Path = Path(".")) -> dict[Any, Any]:
    """One of the workflows."""
    for suffix in (".yml", ".yaml"):
        path = root / ".github/workflows" / f"{name}{suffix}"
        if path.is_file():
            data = read(path)
            if isinstance(data, dict) and isinstance(data.get("jobs"), dict):
                return data
            raise WorkflowError(f"{path} is not a workflow")
    raise WorkflowError(f"there is no workflow {name}.yml")


def rights(workflow: dict[Any, Any], job: dict[str, Any]) -> dict[str, str]:
    """What the token may do in a job; nothing else than listed, once something is listed."""
    entry = job.get("permissions", workflow.get("permissions", EMPTY_RIGHTS))
    if isinstance(entry, str):
        level = entry.removesuffix("-all")
        return {scope: level for scope in ("contents", "issues", "packages", "pull-requests", "actions", "id-token")}
    return {str(scope): str(level) for scope, level in (entry or {}).items()}


def combinations(job: dict[str, Any], contexts: dict[str, Any]) -> list[dict[str, Any]]:
    """The values of the matrix, one dictionary for each run of the job."""
    matrix = evaluate((job.get("strategy") or {}).get("matrix"), contexts) or {}
    axes = {key: evaluate(value, contexts) for key, value in matrix.items() if key not in ("include", "exclude")}
    found = [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())] if axes else []
    for drop in matrix.get("exclude") or []:
        found = [one for one in found if not drop.items() <= one.items()]
    for extra in matrix.get("include") or []:
        same = [one for one in found if all(one[key] == extra[key] for key in axes if key in extra)]
        for one in same:
            one.update(extra)
        if not same or not axes:
            found.append(dict(extra))
    return found or [{}]


@dataclass
class Event:
    """What started the workflow."""

    name: str
    ref: str = "refs/heads/main"
    inputs: dict[str, Any] = field(default_factory=dict)
    payload: dict[str, Any] = field(default_factory=dict)
    head_ref: str = ""


@dataclass
class Run:
    """What happened."""

    results: dict[str, str] = field(default_factory=dict)
    outputs: dict[str, dict[str, str]] = field(default_factory=dict)
    used: dict[str, list[tuple[str, dict[str, str]]]] = field(default_factory=dict)
    github: list[dict[str, Any]] = field(default_factory=list)
    artifacts: dict[str, dict[str, bytes]] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    cancels: bool = False  # a run that is still busy with the same branch
    owned: bool = False


@functools.cache
def template() -> Path:
    """A copy of the repository for checkouts: package, tests, changelog and version are those of the base."""
    source = Path(tempfile.mkdtemp(prefix="source-")) / "source"
    base = Path(os.environ["BASE"])
    own = ("src", "tests", "pyproject.toml", "CHANGELOG.md")
    root = str(Path.cwd())
    shutil.copytree(root, source, ignore=lambda at, names: {".git", *(own if at == root else ())} & set(names))
    for part in own:
        (shutil.copytree if (base / part).is_dir() else shutil.copy)(base / part, source / part)
    for path in source.rglob("*"):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode | (0o700 if path.is_dir() else 0o600))
    return source


class Runner:
    """One run of one workflow."""

    def __init__(self, name: str, event: Event, changes: dict[str, str] | None = None, tests: bool = True) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="run-"))
        self.source, self.changes = template(), changes or {}
        self.event = event
        self.tests = tests
        self.workflow = load(name, self.source)
        self.run = Run()
        self.bin = self.home / "bin"
        self.bin.mkdir()
        quick = "" if tests else '[ "$1 $2" = "-m unittest" ] && exit 0\n'
        names = {"pip": "exit 0\n", "pwn": f"touch {self.home}/owned\n"}
        names |= {name: f'{quick}exec {PYTHON} -S "$@"\n' for name in ("python", "python3")}
        for tool, text in names.items():
            (self.bin / tool).write_text(f"#!/bin/sh\n{text}")
        record, allowed = str(self.home / "gh.calls"), str(self.home / "rights.json")
        (self.bin / "gh").write_text(GH.format(python=PYTHON, rights=allowed, record=record))
        for path in self.bin.iterdir():
            path.chmod(0o755)
        ref = event.ref
        self.github = {
            "event_name": event.name,
            "ref": ref,
            "ref_name": ref.split("/", 2)[2],
            "ref_type": "tag" if ref.startswith("refs/tags/") else "branch",
            "head_ref": event.head_ref,
            "base_ref": "main" if event.head_ref else "",
            "event": event.payload | {"inputs": event.inputs or None},
            "repository": "parcels/parcel-rates",
            "repository_owner": "parcels",
            "actor": "kim",
            "sha": "1" * 40,
            "token": "token",
            "run_id": "17",
            "run_number": "4",
            "workflow": str(self.workflow.get("name", name)),
            "workspace": "",
        }

    def contexts(self, **more: Any) -> dict[str, Any]:
        """What expressions can see."""
        common: dict[str, Any] = {"github": self.github, "inputs": self.event.inputs, "vars": {}, "env": {}}
        common |= {"secrets": {"GITHUB_TOKEN": "token"}, "runner": {"os": "Linux", "temp": "/tmp"}, "strategy": {}}
        return common | {"needs": {}, "matrix": {}, "steps": {}, "job": {"status": "success"}} | more

    def start(self) -> Run:
        """Run all jobs in the order of their needs."""
        jobs = self.workflow["jobs"]
        needs = {name: listing(job.get("needs")) for name, job in jobs.items()}
        for name, wanted in needs.items():
            for other in wanted:
                if other not in jobs:
                    raise WorkflowError(f"job {name} needs {other}, which does not exist")
        entry = self.workflow.get("concurrency")
        cancel = entry.get("cancel-in-progress") if isinstance(entry, dict) else None
        self.run.cancels = truthy(evaluate(cancel, self.contexts()))
        waiting = list(jobs)
        while waiting:
            ready = [name for name in waiting if not set(needs[name]) & set(waiting)]
            if not ready:
                raise WorkflowError("jobs need each other in a circle")
            for name in ready:
                self.job(name, jobs[name], needs)
                waiting.remove(name)
        calls = self.home / "gh.calls"
        self.run.github = [json.loads(line) for line in calls.read_text().splitlines()] if calls.exists() else []
        self.run.owned = (self.home / "owned").exists()
        return self.run

    def close(self) -> None:
        """Remove what the run has left."""
        shutil.rmtree(self.home, ignore_errors=True)

    def ancestors(self, name: str, needs: dict[str, list[str]]) -> set[str]:
        return set(needs[name]).union(*(self.ancestors(other, needs) for other in needs[name]))

    def job(self, name: str, job: dict[str, Any], needs: dict[str, list[str]]) -> None:
        """Run one job in all its combinations, or skip it."""
        before = [self.run.results[other] for other in self.ancestors(name, needs)]
        results = {n: {"result": self.run.results[n], "outputs": self.run.outputs.get(n, {})} for n in needs[name]}
        functions = status(all(one == "success" for one in before), "failure" in before)
        contexts = self.contexts(needs=results, functions=functions)
        if not condition(job.get("if"), contexts):
            self.run.results[name] = "skipped"
            return
        (self.home / "rights.json").write_text(json.dumps(rights(self.workflow, job)))
        good = True
        found = combinations(job, contexts)
        for number, values in enumerate(found if self.tests else found[:1]):
            workspace = self.home / f"job-{name}-{number}"
            workspace.mkdir()
            inner = contexts | {"matrix": values, "steps": {}}
            inner["env"] = variables(self.workflow.get("env"), inner) | variables(job.get("env"), inner)
            evaluate(job.get("name"), inner)
            fine = self.steps(job.get("steps") or [], workspace, inner, name)
            good = good and (fine or truthy(evaluate(job.get("continue-on-error"), inner)))
            outputs = {key: text_of(evaluate(value, inner)) for key, value in (job.get("outputs") or {}).items()}
            self.run.outputs[name] = outputs
        self.run.results[name] = "success" if good else "failure"

    def steps(self, steps: list[dict[str, Any]], workspace: Path, contexts: dict[str, Any], job: str) -> bool:
        """Run steps one after another; False when one has failed."""
        good = True
        for step in steps:
            contexts["functions"] = status(good, not good)
            local = contexts | {"env": contexts["env"] | variables(step.get("env"), contexts)}
            if not condition(step.get("if"), local):
                outcome, outputs = "skipped", {}
            elif "run" in step:
                fine, outputs = self.shell(step, workspace, local, contexts)
                outcome = "success" if fine else "failure"
            else:
                fine, outputs = self.action(step, workspace, local, job)
                outcome = "success" if fine else "failure"
            tolerated = truthy(evaluate(step.get("continue-on-error"), local))
            if outcome == "failure":
                self.run.errors.append(f"{job}: {step.get('name') or step.get('uses') or step.get('run')}")
                good = good and tolerated
            if "id" in step:
                done = "success" if tolerated and outcome == "failure" else outcome
                contexts["steps"][step["id"]] = {"outputs": outputs, "outcome": outcome, "conclusion": done}
        return good

    def shell(
        self, step: dict[str, Any], workspace: Path, local: dict[str, Any], outer: dict[str, Any]
    ) -> tuple[bool, dict[str, str]]:
        """Run a script."""
        script = self.home / "script"
        script.write_text(text_of(evaluate(step["run"], local)))
        names = {name: self.home / name.lower() for name in ("GITHUB_OUTPUT", "GITHUB_ENV", "GITHUB_STEP_SUMMARY")}
        for path in names.values():
            path.write_text("")
        (self.home / "event.json").write_text(json.dumps(self.github["event"]))
        known = ("ref", "ref_name", "ref_type", "head_ref", "base_ref", "event_name", "repository", "sha", "actor")
        env = {f"GITHUB_{key.upper()}": text_of(self.github[key]) for key in known}
        env |= {"PATH": f"{self.bin}:{os.environ['PATH']}", "HOME": str(self.home), "LANG": "C.UTF-8", "CI": "true"}
        env |= {"GITHUB_WORKSPACE": str(workspace), "GITHUB_EVENT_PATH": str(self.home / "event.json")}
        env |= {"RUNNER_TEMP": str(self.home), "TZ": "UTC", "PYTHONDONTWRITEBYTECODE": "1"}
        env |= {key: str(path) for key, path in names.items()} | {"GITHUB_ACTION_PATH": str(workspace)}
        env |= {key: text_of(value) for key, value in local["env"].items()}
        default = (self.workflow.get("defaults") or {}).get("run") or {}
        shell = step.get("shell") or default.get("shell")
        options = ["-e"] if shell is None else ["--noprofile", "--norc", "-eo", "pipefail"]
        folder = workspace / text_of(evaluate(step.get("working-directory", "."), local))
        process = subprocess.Popen(
            ["sh", "-e", str(script)] if shell == "sh" else ["bash", *options, str(script)],
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        watch = threading.Timer(8, os.killpg, (process.pid, signal.SIGKILL))  # quicker than wait() with a timeout
        watch.start()
        code = process.wait()
        watch.cancel()
        outer["env"] |= pairs(names["GITHUB_ENV"].read_text())
        return code == 0, pairs(names["GITHUB_OUTPUT"].read_text())

    def action(
        self, step: dict[str, Any], workspace: Path, local: dict[str, Any], job: str
    ) -> tuple[bool, dict[str, str]]:
        """The few actions that matter here; all others do nothing."""
        name = str(step.get("uses", "")).split("@")[0]
        given = {key: text_of(evaluate(value, local)) for key, value in (step.get("with") or {}).items()}
        self.run.used.setdefault(job, []).append((name, given))
        if name == "actions/checkout":
            if rights(self.workflow, self.workflow["jobs"][job]).get("contents") not in ("read", "write"):
                return False, {}
            shutil.copytree(self.source, workspace, dirs_exist_ok=True)
            for changed, text in self.changes.items():
                (workspace / changed).unlink(missing_ok=True)
                (workspace / changed).write_text(text)
        elif name == "actions/upload-artifact":
            paths = [path for line in given.get("path", "").split() for path in sorted(workspace.glob(line))]
            files = [file for path in paths for file in (path.rglob("*") if path.is_dir() else [path])]
            self.run.artifacts[given.get("name", "artifact")] = {f.name: f.read_bytes() for f in files if f.is_file()}
            return bool(files) or given.get("if-no-files-found") != "error", {}
        elif name == "actions/download-artifact":
            if given.get("name") not in self.run.artifacts:
                return False, {}
            target = workspace / given.get("path", ".")
            target.mkdir(parents=True, exist_ok=True)
            for file, data in self.run.artifacts[given["name"]].items():
                (target / file).write_bytes(data)
        elif name.startswith("./"):
            return self.composite(name, workspace, local, given, job)
        return True, {}

    def composite(
        self, name: str, workspace: Path, local: dict[str, Any], given: dict[str, str], job: str
    ) -> tuple[bool, dict[str, str]]:
        """An action of the repository."""
        found = [path for end in ("yml", "yaml") if (path := workspace / name / f"action.{end}").is_file()]
        if not found:
            return False, {}
        action = read(found[0])
        defaults = {key: text_of((value or {}).get("default")) for key, value in (action.get("inputs") or {}).items()}
        inner = local | {"inputs": defaults | given, "steps": {}, "env": dict(local["env"])}
        fine = self.steps(action["runs"].get("steps") or [], workspace, inner, job)
        outputs = action.get("outputs") or {}
        return fine, {key: text_of(evaluate(value.get("value"), inner)) for key, value in outputs.items()}


def listing(value: Any) -> list[str]:
    """One or several as a list."""
    return [] if value is None else [str(one) for one in value] if isinstance(value, list) else [str(value)]


def status(success: bool, failure: bool) -> dict[str, Any]:
    """The functions that look at what came before."""
    return {"success": lambda: success, "failure": lambda: failure, "always": lambda: True, "cancelled": lambda: False}


def variables(entry: Any, contexts: dict[str, Any]) -> dict[str, str]:
    """An `env` part."""
    return {str(key): text_of(evaluate(value, contexts)) for key, value in (evaluate(entry, contexts) or {}).items()}


def pairs(text: str) -> dict[str, str]:
    """Contents of a file for outputs or variables: name=value or name<<END."""
    found: dict[str, str] = {}
    lines = iter(text.splitlines())
    for line in lines:
        name, sign, rest = line.partition("<<")
        if sign and "=" not in name:
            found[name] = "\n".join(itertools.takewhile(lambda one, end=rest: one != end, lines))
        elif "=" in line:
            name, _, value = line.partition("=")
            found[name] = value
    return found
