"""Runs that the toolkit starts: workflows by dispatch, and the tags that pin them to a commit."""

import datetime
from collections.abc import Mapping
from typing import Final

from scylla_gha.errors import GitHubError
from scylla_gha.github.answers import Dispatched, Ref, Run
from scylla_gha.github.channel import Ask, Channel
from scylla_gha.github.faults import Errand, RefusedRequestError

_NOT_FOUND: Final = 404
_EXISTS: Final = 422


def dispatch(channel: Channel, workflow: str, ref: str, inputs: Mapping[str, str]) -> Dispatched:
    """Start a workflow, once: a run that was started costs money.

    Where the answer is lost, a run of the workflow on the same ref that began since is taken for ours; two people who
    ask at the same moment of such a fault get one run, and may ask again.

    Args:
        channel: to the repository.
        workflow: its file's name.
        ref: branch or tag.
        inputs: of the dispatch.
    """
    since = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
    errand = Errand(f"dispatch {workflow} on {ref}", "actions: write")

    def search() -> Dispatched | None:
        query = {"event": "workflow_dispatch", "branch": ref, "created": f">={since:%Y-%m-%dT%H:%M:%SZ}"}
        found = channel.each(Ask("GET", f"/actions/workflows/{workflow}/runs", errand, query=query), Run,
                             "workflow_runs")  # fmt: skip
        run = next(found, None)
        return Dispatched(workflow_run_id=run.id, html_url=run.html_url) if run else None

    body = {"ref": ref, "inputs": dict(inputs), "return_run_details": True}
    ask = Ask("POST", f"/actions/workflows/{workflow}/dispatches", errand, body)
    made = channel.create(ask, Dispatched, search)
    return made if made.html_url else search() or made


def pin(channel: Channel, tag: str, sha: str) -> str:
    """Make a tag at a commit where there is none; the commit that it is at.

    Raises:
        GitHubError: the tag is no plain one.
    """
    found = _tagged(channel, tag)
    if found is None:
        body = {"ref": f"refs/tags/{tag}", "sha": sha}
        ask = Ask("POST", "/git/refs", Errand(f"make the tag {tag}", "contents: write"), body)
        try:
            found = channel.create(ask, Ref, lambda: _tagged(channel, tag))
        except RefusedRequestError as error:
            found = _tagged(channel, tag) if error.status == _EXISTS else None  # another run was faster
            if found is None:
                raise
    if found.object.type != "commit":
        raise GitHubError(f"{channel.repository}: the tag {tag} is an annotated one, which this toolkit never makes; "
                          "delete it, or name the campaign otherwise")  # fmt: skip
    return found.object.sha


def _tagged(channel: Channel, tag: str) -> Ref | None:
    try:
        return channel.read(Ask("GET", f"/git/ref/tags/{tag}", Errand(f"read the tag {tag}", "contents: read")), Ref)
    except RefusedRequestError as error:
        if error.status == _NOT_FOUND:
            return None
        raise
