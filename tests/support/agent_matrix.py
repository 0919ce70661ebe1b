"""What each agent CLI does in a plain run, with faults of the provider, with treatments, and in a replay.

One definition for the tests in CI, which run a part of it, and for `tests/benchmarks/agent_matrix.py`, which runs all.
"""

import datetime
import itertools
import platform
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from scylla_gha.agents import AGENTS
from scylla_gha.config.library import toolkit_root
from scylla_gha.providers import PROVIDERS
from scylla_gha.providers.base import Body
from scylla_gha.providers.scripted import shell_call
from scylla_gha.providers.scripted_style import ScriptedAnswer, ScriptedStyle
from tests.support.agent_clis import MANIFESTS, WRITE, arm, attempts, diligent, evaluate, style, takes, write_treatments
from tests.support.git import shell
from tests.support.model_apis import Fault, Script, serving
from tests.support.repository import write_tree

Attempt = dict[str, Any]
ASKS_ONCE = ("aider",)  # it asks again only if it cannot read the edits of the answer
UNREADABLE_EDIT = "```\nprint(1)\n```\n"
NUMBERS = itertools.count()
PROVED = {"instruction file": "01-instructions", "skill": "02-skill", "MCP server": "03-server"}
TAKEN_AWAY = ("02-skill", "03-server")
# Spellings of a day, of which CLIs use several.
DATE_FORMS = (
    "%Y-%m-%d",
    "%A, %B %d, %Y",
    "%A, %d %B %Y",
    "%A, %b %d, %Y",
    "%a %b %d %Y",
    "%B %d, %Y",
    "%m/%d/%Y",
    "%Y/%m/%d",
    "%d.%m.%Y",
)


@dataclass(frozen=True)
class FaultCase:
    """A fault that the model of this name has, and the outcome that a trial with it must have.

    fault: None: the model asks for the shell without an end.
    """

    model: str
    title: str
    outcome: str
    fault: Fault | None


@dataclass(frozen=True)
class FaultRun:
    """Faults that one experiment meets, in arms that differ by their model: at once, or when the agent has worked.

    limits: limits of trials in the experiment, as YAML.
    """

    cases: tuple[FaultCase, ...]
    is_late: bool
    seconds: int
    limits: str = ""

    def script(self, name: str) -> Script:
        """Return the script of the models for a CLI."""
        work, by_model = diligent(name), {case.model: case for case in self.cases}

        def script(kind: ScriptedStyle, body: Body, model: str) -> ScriptedAnswer | Fault:
            case = by_model[model]
            if case.fault is None:
                return endless(name, kind, body)
            is_due = not self.is_late or name in ASKS_ONCE or kind.has_result(body)
            return case.fault if is_due else work(kind, body, model)

        return script


# An experiment stops at a key that the provider refuses, so this has no other arm.
DENIED = FaultRun((FaultCase("fault-401", "401", "provider_error", Fault(401)),), is_late=False, seconds=40)
EARLY = FaultRun(
    (
        FaultCase("fault-429", "429", "provider_error", Fault(429)),
        FaultCase("fault-429-wait", "429 with a wait", "provider_error", Fault(429, {"retry-after": "1"})),
        FaultCase("fault-500", "500", "provider_error", Fault(500)),
        FaultCase("fault-silence", "silence", "provider_error", Fault(hangs=True)),
    ),
    is_late=False,
    seconds=40,
)
LATE = FaultRun(
    (
        FaultCase("fault-late-400", "400 after work", "agent_error", Fault(400)),
        FaultCase("fault-cut", "cut answer", "provider_error", Fault(cut_after=1)),
        FaultCase("fault-late-silence", "silence in an answer", "provider_error", Fault(cut_after=1, hangs=True)),
    ),
    is_late=True,
    seconds=90,
)
# It also stops at a provider that cannot be reached, as for a CLI that asks once.
CLOSED = FaultRun(
    (FaultCase("fault-closed", "closed connection", "provider_error", Fault(hangs_up=True)),),
    is_late=True,
    seconds=60,
)
SPENT = FaultRun(
    (FaultCase("fault-budget", "refusal by a budget", "budget_exceeded", None),),
    is_late=True,
    seconds=100,
    limits=", requests: 2",
)
FAULT_RUNS = (DENIED, EARLY, LATE, CLOSED, SPENT)


def endless(name: str, kind: ScriptedStyle, body: Body) -> ScriptedAnswer:
    """Ask for the shell in each answer, or answer with an edit that cannot be read."""
    if name in ASKS_ONCE:
        return ScriptedAnswer(UNREADABLE_EDIT)
    return ScriptedAnswer(call=shell_call(kind, body, WRITE, f"scripted{next(NUMBERS)}"))


def run_plain(root: Path, name: str, api_style: str = "", sandbox: str = "bubblewrap") -> Attempt:
    """Let a CLI write a file; return the attempt. Its recording is in the folder `recording`."""
    with serving(script=diligent(name)) as apis:
        said = evaluate(root, name, apis.url, api_style=api_style, sandbox=sandbox, options=("--record", "recording"))
    assert said.code == 0, said.err
    (attempt,) = attempts(root).values()
    return attempt


def run_replay(root: Path, name: str, recorded: Path) -> Attempt:
    """Replay the plain run that was recorded in another folder, without a provider; return the attempt."""
    shutil.copytree(recorded / "recording", root / "config/recordings/probe")
    said = evaluate(root, name, "http://127.0.0.1:9", options=("--replay",))
    made = attempts(root, "probe-replay")
    assert made, said.err
    (attempt,) = made.values()
    return attempt


def run_faults(root: Path, name: str, faults: FaultRun) -> dict[str, Attempt]:
    """Run a CLI with each fault; return the attempts by the fault's model."""
    models = tuple(case.model for case in faults.cases)
    with serving(script=faults.script(name)) as apis:
        said = evaluate(
            root,
            name,
            apis.url,
            seconds=faults.seconds,
            limits=faults.limits,
            models=models,
            options=("--jobs", "2"),
        )
    made = attempts(root)
    assert len(made) == len(models), said.err
    return {model: made[arm(name, "t0-01-vanilla", model)] for model in models}


def run_treatments(root: Path, name: str, sub_tests: tuple[str, ...], *, broken: bool = False) -> dict[str, Attempt]:
    """Run a CLI with those treatments that it takes; return the attempts by sub-test.

    With `broken`, its manifest has skills and MCP servers put where the CLI does not look for them.
    """
    taken = [sub_test for sub_test in sub_tests if takes(name, sub_test)]
    if not taken or (broken and name not in MANIFESTS):
        return {}
    write_treatments(root)
    if broken:
        write_tree(root, {f"config/agent-clis/{name}.yaml": yaml.safe_dump(_misplacing(name), sort_keys=False)})
    shell(root, "git init -q && git add -A")
    with serving(script=diligent(name)) as apis:
        said = evaluate(root, name, apis.url, variants=tuple(f"T1/{sub_test}" for sub_test in taken))
    made = attempts(root)
    assert len(made) == len(taken), said.err
    return {sub_test: made[arm(name, f"t1-{sub_test}")] for sub_test in taken}


def _misplacing(name: str) -> Any:
    manifest = yaml.safe_load((toolkit_root() / "config/agent-clis" / f"{name}.yaml").read_text())
    treatment = manifest["treatment"]
    if "skills" in treatment:
        treatment["skills"] |= {"folder": "unread/skills", "flags": []}
    if "mcp_servers" in treatment:
        treatment["mcp_servers"] |= {"file": "unread.json", "flags": [], "each": []}
    return manifest


def is_same_elsewhere(root: Path, name: str) -> bool:
    """Tell if the first request of a run is recognised in a recording of another day, time zone and kernel."""
    (path,) = root.glob("runs/probe/*/attempt-1/first-request.json")
    text, today = path.read_text(), datetime.datetime.now(datetime.UTC)
    other = today + datetime.timedelta(days=100, hours=7, minutes=11)
    for form in DATE_FORMS:
        text = text.replace(today.strftime(form), other.strftime(form))
    text = text.replace(platform.release(), "7.0.1-other").replace("Etc/UTC", "Asia/Kathmandu")
    return _digest(path.read_text(), name) == _digest(text, name)


def _digest(text: str, name: str) -> str:
    used = style(name)
    parse = next(provider.styles[used].parse for provider in PROVIDERS.values() if used in provider.styles)
    patterns = tuple((re.compile(key.encode()), value.encode()) for key, value in AGENTS[name].circumstances.items())
    return parse("/v1beta/models/m:streamGenerateContent", text.encode(), lambda body: body, patterns).digest
