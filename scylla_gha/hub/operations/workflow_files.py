"""Workflow files: what is read of them, and the records of those on the default branch."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Final

from scylla_gha.errors import ToolError
from scylla_gha.hub.actions_records import WorkflowRecord
from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.errors import HubError, not_found
from scylla_gha.hub.git_store import GitRepository
from scylla_gha.hub.operations.plain_yaml import list_of, mapping_of, read_mapping, text_of
from scylla_gha.hub.records import RepositoryRecord

_FOLDER: Final = ".github/workflows"
_MOST_FILES: Final = 50
NO_RIGHTS: Final = "Must have admin rights to Repository."  # what GitHub says, though write access is enough


@dataclass(frozen=True, slots=True)
class PlannedJob:
    """Job of a workflow file, by the names of its steps."""

    name: str
    steps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WorkflowFile:
    """Workflow file as far as the hub reads it; `triggers` by event, with what stands below each."""

    name: str
    triggers: Mapping[str, Any]
    jobs: tuple[PlannedJob, ...]
    run_name: str | None = None

    @property
    def inputs(self) -> Mapping[str, Mapping[str, Any]]:
        """The inputs of workflow_dispatch."""
        dispatch = self.triggers.get("workflow_dispatch")
        inputs = dispatch.get("inputs") if isinstance(dispatch, dict) else None
        return {text_of(name): mapping_of(value) for name, value in mapping_of(inputs).items()}


def read_workflow(content: bytes, path: str) -> WorkflowFile:
    """Return what a workflow file says; one that cannot be read has no triggers and no jobs."""
    document = read_mapping(content) or {}
    jobs = tuple(_planned(text_of(key), mapping_of(job)) for key, job in mapping_of(document.get("jobs")).items())
    name, run_name = text_of(document.get("name")), text_of(document.get("run-name"))
    return WorkflowFile(name or path, triggers_of(document), jobs, run_name or None)


def triggers_of(document: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return the triggers of a workflow by event, with what stands below each."""
    triggers = document.get("on", document.get(True))  # YAML 1.1 reads `on` as true
    if isinstance(triggers, str | list):
        return {text_of(event): None for event in list_of([triggers] if isinstance(triggers, str) else triggers)}
    return mapping_of(triggers)


def _planned(key: str, job: Mapping[Any, Any]) -> PlannedJob:
    names = [step_name(mapping_of(step)) for step in list_of(job.get("steps"))]
    return PlannedJob(text_of(job.get("name")) or key, ("Set up job", *names, "Complete job"))


def step_name(step: Mapping[Any, Any]) -> str:
    """Return the name of a step: its own, or its command's first line."""
    command = (text_of(step.get("run")) or text_of(step.get("uses"))).strip().partition("\n")[0]
    return text_of(step.get("name")) or f"Run {command}"


def workflow_file(session: HubSession, workflow: WorkflowRecord, sha: str) -> WorkflowFile | None:
    """Return a workflow's file in a commit; None if the commit has none."""
    content = session.git(workflow.repository).content(f"{sha}:{workflow.path}")
    return None if content is None else read_workflow(content, workflow.path)


def workflows_of(session: HubSession, repository: RepositoryRecord) -> list[WorkflowRecord]:
    """Return the workflows of a repository."""
    return session.state.where(WorkflowRecord, repository=repository.id)


def find_workflow(session: HubSession, repository: RepositoryRecord, name: str) -> WorkflowRecord:
    """Return a workflow by its id or the name of its file.

    Raises:
        HubError: there is none.
    """
    for workflow in workflows_of(session, repository):
        if name in (str(workflow.id), PurePosixPath(workflow.path).name, workflow.path):
            return workflow
    raise not_found()


def enable_workflow(
    session: HubSession, repository: RepositoryRecord, workflow: WorkflowRecord, *, enabled: bool
) -> None:
    """Enable or disable a workflow.

    Raises:
        HubError: the user may not.
    """
    session.require(repository, "write", NO_RIGHTS)
    session.state.update(session.user, workflow, state="active" if enabled else "disabled_manually")


def workflow_paths(git: GitRepository, commit: str) -> list[tuple[str, str]]:
    """Return the workflow files of a commit, as paths and names of their blobs; the first ones of very many."""
    try:
        entries = git.tree(f"{commit}:{_FOLDER}")
    except ToolError:
        return []
    files = [entry for entry in entries if entry.kind == "blob" and entry.path.endswith((".yml", ".yaml"))]
    return [(f"{_FOLDER}/{entry.path}", entry.sha) for entry in files[:_MOST_FILES]]


def register_workflows(session: HubSession, repository: RepositoryRecord) -> None:
    """Make the records agree with the workflow files of the default branch; that of a file that went away stays."""
    git, state = session.git(repository), session.state
    tip = git.branch(repository.default_branch)
    known = {workflow.path: workflow for workflow in workflows_of(session, repository)}
    for path, sha in workflow_paths(git, tip) if tip else ():
        name = read_workflow(git.content(sha) or b"", path).name
        if path in known:
            state.update(session.user, known[path], name=name)
        else:
            now = state.now()
            state.create(session.user, WorkflowRecord(id=state.new_id(), created_at=now, updated_at=now,
                                                      repository=repository.id, path=path, name=name))  # fmt: skip


def check_inputs(file: WorkflowFile, inputs: Mapping[str, Any]) -> None:
    """Refuse inputs of a dispatch that the workflow has not, lacks, or does not allow.

    Raises:
        HubError: 422 in GitHub's words.
    """
    if unexpected := [name for name in inputs if name not in file.inputs]:
        listed = ", ".join(f'"{name}"' for name in unexpected)
        raise HubError(422, f"Unexpected inputs provided: [{listed}]")
    for name, about in file.inputs.items():
        if about.get("required") is True and "default" not in about and not inputs.get(name):
            raise HubError(422, f"Required input '{name}' not provided")
        options = [text_of(option) for option in list_of(about.get("options"))]
        if about.get("type") == "choice" and name in inputs and inputs[name] not in options:
            raise HubError(422, f"Provided value '{inputs[name]}' for input '{name}' not in the list of allowed values")
