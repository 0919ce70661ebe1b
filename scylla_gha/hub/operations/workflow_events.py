"""Events that start workflows where the hub has a runner: pushes, and what happens to pull requests.

The workflow files are those of the pushed commit, or of the merge of a pull request's branches, as on GitHub. See
https://docs.github.com/en/actions/reference/workflows-and-actions/events-that-trigger-workflows
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from scylla_gha.errors import ToolError
from scylla_gha.hub.actions_records import WorkflowRecord
from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.git_diff import ChangedFile
from scylla_gha.hub.git_objects import merged_tree, write_commit
from scylla_gha.hub.git_store import GitRepository
from scylla_gha.hub.operations.actions import as_github
from scylla_gha.hub.operations.pull_facts import base_sha, head_sha, pull_files, repository_of
from scylla_gha.hub.operations.run_start import RunStart, start_run
from scylla_gha.hub.operations.workflow_files import WorkflowFile, read_workflow, workflow_paths
from scylla_gha.hub.operations.workflow_filters import TriggerEvent, is_triggered
from scylla_gha.hub.records import PullRequestRecord, RepositoryRecord

_BRANCH: Final = "refs/heads/"
_SKIPS: Final = re.compile(r"\[(?:skip ci|ci skip|no ci|skip actions|actions skip)\]", re.IGNORECASE)
_SKIPS_CHECKS: Final = re.compile(r"^skip-checks: *true", re.IGNORECASE | re.MULTILINE)  # below the first paragraph
_EMPTY_TREE: Final = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


def start_for_push(
    session: HubSession, repository: RepositoryRecord, ref: str, old: str | None, new: str | None
) -> None:
    """Start the workflows that a push of a branch or tag starts; a deletion starts none."""
    git = session.git(repository)
    sha = git.commit_of(new) if new is not None and session.hub.runner is not None else None
    if sha is None or _is_skipped(git, sha):
        return
    is_branch = ref.startswith(_BRANCH)
    name = ref.removeprefix(_BRANCH).removeprefix("refs/tags/")
    event = TriggerEvent("push", branch=name if is_branch else None, tag=None if is_branch else name,
                         paths=lambda: _pushed_paths(git, ref, old, sha))  # fmt: skip
    start = RunStart("push", sha, name, git.commit(sha).headline, session.user.id, ref)
    _start_all(session, repository, event, start)


def start_for_pull(session: HubSession, pull: PullRequestRecord, activity: str) -> None:
    """Start the workflows of a pull request that was opened or reopened, or whose head was pushed (`synchronize`).

    None is started while its branches conflict. See
    https://docs.github.com/en/actions/reference/workflows-and-actions/events-that-trigger-workflows#pull_request
    """
    if session.hub.runner is None:
        return
    git, head, base = session.git(pull.repository), head_sha(session, pull), base_sha(session, pull)
    tree = merged_tree(git, base, head)
    if tree is None or _is_skipped(git, head):
        return
    signature = session.signature()
    merge = write_commit(git, tree, [base, head], f"Merge {head} into {base}", signature, signature)
    event = TriggerEvent("pull_request", branch=pull.base_ref, activity=activity,
                         paths=lambda: _names(pull_files(session, pull)))  # fmt: skip
    start = RunStart("pull_request", head, pull.head_ref, pull.title, session.user.id,
                     f"refs/pull/{pull.number}/merge", commit=merge, base_ref=pull.base_ref)  # fmt: skip
    _start_all(session, repository_of(session, pull), event, start)


def _start_all(session: HubSession, repository: RepositoryRecord, event: TriggerEvent, start: RunStart) -> None:
    github = as_github(session)
    for path, content in _files(session.git(repository), start.commit or start.sha):
        file = read_workflow(content, path)
        workflow = session.state.first(WorkflowRecord, repository=repository.id, path=path)
        if (workflow is None or workflow.state == "active") and _starts(file, content, event):
            start_run(github, workflow or _new_workflow(github, repository, path, file.name), start)


def _starts(file: WorkflowFile, content: bytes, event: TriggerEvent) -> bool:
    """Return whether an event starts a workflow; every push starts a file that cannot be read, to show that."""
    if not file.triggers:
        return event.name == "push" and event.tag is None and bool(content.strip())
    return is_triggered(file.triggers, event)


def _new_workflow(session: HubSession, repository: RepositoryRecord, path: str, name: str) -> WorkflowRecord:
    state = session.state
    now = state.now()
    return state.create(session.user, WorkflowRecord(id=state.new_id(), created_at=now, updated_at=now,
                                                     repository=repository.id, path=path, name=name))  # fmt: skip


def _files(git: GitRepository, commit: str) -> Iterator[tuple[str, bytes]]:
    for path, sha in workflow_paths(git, commit):
        yield path, git.content(sha) or b""


def _is_skipped(git: GitRepository, sha: str) -> bool:
    """Return whether a commit's message asks for no runs.

    See https://docs.github.com/en/actions/how-tos/manage-workflow-runs/skip-workflow-runs
    """
    message = git.commit(sha).message
    return bool(_SKIPS.search(message) or _SKIPS_CHECKS.search(message.partition("\n\n")[2]))


def _pushed_paths(git: GitRepository, ref: str, old: str | None, new: str) -> Sequence[str]:
    """Return the files that a push changed: of a new branch, since the commit before its first own one.

    See https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-syntax#git-diff-comparisons
    """
    if old is None:
        others = [f"^{tip}" for name, tip in git.refs().items() if name.startswith(_BRANCH) and name != ref]
        own = git.text("rev-list", "--topo-order", new, *others).split() or [new]
        parents = git.commit(own[-1]).parents
        old = parents[0] if parents else _EMPTY_TREE
    try:
        return _names(git.changed_files(old, new))
    except ToolError:  # more than can be compared: GitHub runs the workflow then
        return ("",)


def _names(files: Sequence[ChangedFile]) -> Sequence[str]:
    return [file.path for file in files]
