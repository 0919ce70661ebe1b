"""Carry out `init`: find and prove tasks, and make the files of a suite with its workflows."""

import json
import os
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Final

from scylla_gha.config.library import Library, toolkit_root
from scylla_gha.counting import counted, duration
from scylla_gha.errors import ConfigError, RefusedError, SandboxError
from scylla_gha.images import SandboxPool
from scylla_gha.mining.project_tests import ProjectStates
from scylla_gha.mining.repository import RepositoryCheckout
from scylla_gha.model import slug
from scylla_gha.model.experiment import SandboxName
from scylla_gha.onboarding.find_tasks import TaskTrial, Tried, find_tasks
from scylla_gha.onboarding.scaffold import (
    FileState,
    ScaffoldFile,
    ScaffoldTask,
    beside_files,
    example_key,
    filled,
    fixture_of,
    scenario_files,
    suite_files,
    write_files,
)
from scylla_gha.onboarding.toolkit import CALLER, SKILLS, Toolkit, repository_of_checkout, running_toolkit, toolkit_here
from scylla_gha.plan.checks import used_providers
from scylla_gha.prepare.workspace import scratch
from scylla_gha.providers import PROVIDERS
from scylla_gha.sandboxes import SANDBOXES
from scylla_gha.validate.scenario import stop as stop_proofs
from scylla_gha.validate.scenario import validate_scenario

AFTER_SUITE: Final = "Now run: scylla-gha evaluate {}\nThen commit, push, and run: scylla-gha doctor"
AFTER_SKILLS: Final = (
    "Now run: scylla-gha skill .\nThen commit and push; each pull request that changes a skill is checked.\n"
    "To measure skills there, store the model's key as scylla-gha doctor says; then set the label skill-eval on a pull "
    "request, or comment /scylla skill"
)
_LONGEST_PAUSE: Final = 16.0  # seconds between two lines of progress


def default_name(root: Path) -> str:
    """Return the default name of a repository's suite: a slug of the folder's name."""
    return slug(root.name.replace("_", "-"))[:60].strip("-.") or "mine"


def toolkit_for(root: Path, ask: Callable[[str | None], Toolkit | None]) -> Toolkit:
    """Return the toolkit that the repository calls, otherwise the running one, otherwise the user's answer.

    Args:
        root: the repository.
        ask: function that asks for the toolkit and proposes a repository; returns None if nobody can be asked.

    Raises:
        ConfigError: nothing names a repository on GitHub, and nobody can be asked.
    """
    toolkit = toolkit_here(root) or running_toolkit() or ask(repository_of_checkout(toolkit_root()))
    if toolkit is None:
        raise ConfigError(
            "init: the workflows must call the toolkit's repository on GitHub, but this installation does not name it; "
            "give --toolkit OWNER/REPO@SHA, such as your fork at a pushed commit"
        )
    return toolkit


@dataclass(frozen=True, slots=True)
class InitSettings:
    """Choices of the user of `init`.

    Attributes:
        name: name of the suite and its experiment.
        toolkit: toolkit that the workflows call.
        tasks: number of scenarios that the suite should have; 0: the small example.
        tests: patterns of test files, as in `.gitignore`; empty: the test files of the project's test runner.
        setup: command that installs what tests need; None: it is detected.
    """

    name: str
    toolkit: Toolkit
    tasks: int
    tests: tuple[str, ...] = ()
    setup: str | None = None


def init_files(
    checkout: RepositoryCheckout,
    settings: InitSettings,
    report: Callable[[str], None],
    keep: Callable[[list[ScaffoldFile]], None] = lambda _: None,
) -> list[ScaffoldFile]:
    """Return all files of the suite, except those of scenarios that exist already.

    Args:
        checkout: the repository.
        settings: the user's choices.
        report: function that prints a line of progress.
        keep: function that writes the files of an accepted task, so that an interrupted search does not lose them.

    Raises:
        RefusedError: the folder of a fixture contains other files.
    """
    name, toolkit = settings.name, settings.toolkit
    scenarios = suite_scenarios(checkout.root, name)
    for scenario in scenarios:
        report(f"scenarios/{name}/{scenario}: exists and is kept")
    files: list[ScaffoldFile] = []

    def accept(task: ScaffoldTask) -> None:
        new = scenario_files(task, name, toolkit.schemas)
        _refuse_other_files(checkout.root, fixture_of(task.id, name), new)
        new = [*beside_files(task, checkout.root), *new]
        files.extend(new)
        scenarios.append(task.id)
        keep(new)

    if not scenarios or len(scenarios) < settings.tasks:
        try:
            _find(checkout, settings, list(scenarios), report, accept)
        except KeyboardInterrupt:
            if scenarios:
                keep(_common_files(settings, scenarios, checkout.root))
            raise
    return [*files, *_common_files(settings, scenarios, checkout.root)]


def _common_files(settings: InitSettings, scenarios: list[str], root: Path) -> list[ScaffoldFile]:
    """Return the files that are common to a suite's scenarios: experiment and workflows."""
    return [*suite_files(settings.name, scenarios, settings.toolkit.schemas), *suite_workflows(settings, root)]


def suite_workflows(settings: InitSettings, root: Path) -> list[ScaffoldFile]:
    """Return the workflows of a suite, with the keys that its experiment in the repository `root` needs."""
    return workflow_files(settings.name, settings.toolkit, _keys_of_experiment(root, settings.name))


def _keys_of_experiment(root: Path, name: str) -> list[str]:
    """Return the names of the experiment's provider keys; without models, the key of the proposed model."""
    library = Library.here(root)
    providers: list[str] = []
    if (root / "config" / "experiments" / f"{name}.yaml").is_file():
        with suppress(ConfigError):  # `plan` reports the error
            providers = used_providers(library.experiment(name), library)
    return [PROVIDERS[provider].credential_variables[0] for provider in providers] or [example_key()]


def suite_scenarios(root: Path, name: str) -> list[str]:
    """Return the ids of the suite's existing scenarios."""
    return sorted(path.parent.name for path in (root / "scenarios" / name).glob("*/scenario.yaml"))


def workflow_files(name: str, toolkit: Toolkit, keys: Sequence[str] = ()) -> list[ScaffoldFile]:
    """Return the workflows: manual, comment, schedule, pull request, readiness; automatic triggers are off.

    They pass the secrets `keys`, or, if empty, the key of the model that the experiment's file proposes.
    """
    secrets = _secret_lines(keys or [example_key()])
    words = {"name": name, "toolkit": toolkit.repository, "ref": toolkit.ref, "secrets": secrets}
    files = (
        CALLER,
        "scylla-comment.yml",
        "scylla-regression.yml",
        "scylla-pull-request.yml",
        "scylla-readiness.yml",
    )
    return [ScaffoldFile(f".github/workflows/{file}", filled(file, **words).encode()) for file in files]


def skills_workflows(toolkit: Toolkit, folders: Iterable[str]) -> list[ScaffoldFile]:
    """Return the workflows for a repository's Agent Skills: checks and measurements, and the comment command.

    Args:
        toolkit: toolkit that the workflows call.
        folders: folders of the skills, relative to the repository; a change in them starts the checks.
    """
    tops = {PurePosixPath(folder).parts[:1] for folder in folders}
    patterns = sorted(f"{top[0]}/**" for top in tops if top and re.fullmatch(r"[\w.-]+", top[0]))
    paths = '"**"' if () in tops else ", ".join(map(json.dumps, ["**/SKILL.md", "**/evals/**", *patterns]))
    words = {
        "toolkit": toolkit.repository,
        "ref": toolkit.ref,
        "secrets": _secret_lines([example_key()]),
        "paths": paths,
    }
    names = (SKILLS, "scylla-skills-comment.yml")
    return [ScaffoldFile(f".github/workflows/{name}", filled(name, **words).encode()) for name in names]


def _secret_lines(keys: Sequence[str]) -> str:
    return "\n      ".join(f"{key}: ${{{{ secrets.{key} }}}}" for key in keys)


def _find(
    checkout: RepositoryCheckout,
    settings: InitSettings,
    scenarios: list[str],
    report: Callable[[str], None],
    accept: Callable[[ScaffoldTask], None],
) -> None:
    """Find tasks in the history, and prove each of them."""
    missing = max(settings.tasks - len(scenarios), 0)
    states = ProjectStates(checkout, settings.tests, settings.setup)
    with proving(settings.name, settings.toolkit, report) as trial:
        trial.say("looking for commits that changed code and its tests" if missing else "taking the example")
        tasks = find_tasks(states, settings.name, replace(trial, keep=accept), missing, scenarios)
        if any(task.is_example for task in tasks):
            reason = "since no commit gave a task" if missing else "as --example asks"
            trial.say(f"the small example is used, {reason}: it shows the parts of a scenario, but measures little")


@contextmanager
def proving(name: str, toolkit: Toolkit, report: Callable[[str], None]) -> Iterator[TaskTrial]:
    """Provide settings that prove tasks of a suite, in bubblewrap if it works here, else on the host."""
    sandboxes = SandboxPool(_proof_sandbox(), Library((toolkit_root(),)))
    with progress_pulse(report) as print_step, ThreadPoolExecutor(os.cpu_count()) as executor:

        def prove(task: ScaffoldTask) -> Tried:
            with scratch() as root:
                write_files(root, scenario_files(task, name, toolkit.schemas))
                library = Library((root, toolkit_root()))
                return validate_scenario(library.scenario(task.id), library, sandboxes, executor).tried

        try:
            yield TaskTrial(prove, print_step)
        except KeyboardInterrupt:
            stop_proofs()
            raise


def _proof_sandbox() -> SandboxName:
    """Return the sandbox for proofs: bubblewrap, without a network as in trials, if it works; else the host."""
    try:
        SANDBOXES["bubblewrap"].check()
    except SandboxError:
        return "host"
    return "bubblewrap"


@contextmanager
def progress_pulse(print_line: Callable[[str], None], every_seconds: float = 2.0) -> Iterator[Callable[[str], None]]:
    """Provide a function that prints a step, and print the elapsed time at intervals while the step is running."""
    step_started = time.monotonic()
    ended = threading.Event()

    def print_step(text: str) -> None:
        nonlocal step_started
        step_started = time.monotonic()
        print_line(text)

    def repeat_time() -> None:
        pause = every_seconds
        while not ended.wait(pause):
            print_line(f"  ... {duration(time.monotonic() - step_started)}")
            pause = min(2 * pause, _LONGEST_PAUSE)

    thread = threading.Thread(target=repeat_time, daemon=True)
    thread.start()
    try:
        yield print_step
    finally:
        ended.set()
        thread.join()


def _refuse_other_files(root: Path, fixture: str, files: list[ScaffoldFile]) -> None:
    """Raise if a fixture's folder contains other files, since they would be part of the start state."""
    existing = (path for path in (root / "fixtures" / fixture).rglob("*") if path.is_symlink() or not path.is_dir())
    others = sorted({str(path.relative_to(root)) for path in existing} - {file.path for file in files})
    if others:
        raise RefusedError(
            f"fixtures/{fixture}/ has files that `init` did not write, such as {others[0]}; "
            "remove that folder, or give another --name"
        )


def states_json(states: dict[FileState, list[ScaffoldFile]], name: str) -> str:
    """Return the paths of new, overwritten and unchanged files as JSON."""
    paths = {state: [file.path for file in files] for state, files in states.items()}
    return json.dumps({"experiment": name, **paths})


def states_text(states: dict[FileState, list[ScaffoldFile]], next_steps: str, *, dry_run: bool) -> str:
    """Return a line for each file (for fixtures: for each folder), and the next steps."""
    if not (states["new"] or states["overwritten"]):
        return "nothing to do: all files exist already"
    verb = "would be " if dry_run else ""
    fixtures = Counter[str]()
    lines = []
    for file in states["new"]:
        folder, _, rest = file.path.partition("/")
        if folder == "fixtures" and "/" in rest:
            fixtures[rest.partition("/")[0]] += 1
        else:
            lines.append(f"{verb}new: {file.path}")
    lines += [f"{verb}new: fixtures/{fixture}/ ({counted(count, 'file')})" for fixture, count in fixtures.items()]
    lines += [f"{verb}overwritten: {file.path}" for file in states["overwritten"]]
    if not dry_run:
        lines.append(f"\n{next_steps}")
    return "\n".join(lines)
