"""Steps of a fixture's history on git and on what stands beside issues: commits, refs, releases, checks, protection."""

from collections.abc import Mapping
from typing import Final

from scylla_gha.errors import ConfigError
from scylla_gha.hub.actions_records import CheckRecord
from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.fixture_world import FixtureWorld, StepMaker
from scylla_gha.hub.git_objects import merged_tree, write_blob, write_commit, write_tree
from scylla_gha.hub.operations.refs import BRANCH, TAG, change_ref
from scylla_gha.hub.operations.release_assets import upload_asset
from scylla_gha.hub.operations.releases import ReleaseChange, create_release
from scylla_gha.hub.records import ProtectionRecord, ReleaseRecord
from scylla_gha.model.github_history import (
    FixtureCheck,
    FixtureCommit,
    FixtureProtection,
    FixtureRef,
    FixtureRelease,
)


def _commit(world: FixtureWorld, step: FixtureCommit) -> None:
    session, git = world.session(step.author), world.git
    tip = git.branch(step.branch)
    if tip is not None and step.start is not None:
        raise ConfigError(f"start: the branch {step.branch} exists; leave start out")
    default = world.repository.default_branch
    first = tip or (world.revision(step.start or default) if step.start or git.branch(default) else None)
    parents = [first] if first else []
    tree = first
    if step.merge is not None:
        other = world.revision(step.merge)
        tree = merged_tree(git, str(first), other)
        if tree is None and not step.files:
            raise ConfigError(f"merge: {step.merge} conflicts with {step.branch}")
        parents.append(other)
    contents = {path: None if text is None else text.encode() for path, text in step.files.items()}
    contents.update({path: world.beside(name) for path, name in step.copies.items()})
    changes = [(path, "100644", None if content is None else write_blob(git, content))
               for path, content in contents.items()]  # fmt: skip
    for path in contents:
        if not {"", ".", "..", ".git"}.isdisjoint(path.split("/")):
            raise ConfigError(f"files: {path!r} is not a path inside the repository")
    signature = session.signature()
    message = (world.text(step.message) or "").rstrip("\n") + "\n"
    sha = write_commit(git, write_tree(git, tree or first, changes), parents, message, signature, signature)
    change_ref(session, world.repository, f"{BRANCH}{step.branch}", sha)
    world.remember("commit", step.key, sha=sha, short=sha[:7], branch=step.branch)


def _branch(world: FixtureWorld, step: FixtureRef) -> None:
    ref = f"{BRANCH}{step.name}"
    if world.git.ref(ref) is not None:
        raise ConfigError(f"name: the branch {step.name} exists")
    change_ref(world.session(step.by), world.repository, ref, world.revision(step.target))


def _delete_branch(world: FixtureWorld, step: FixtureRef) -> None:
    change_ref(world.session(step.by), world.repository, f"{BRANCH}{step.name}", None)


def _tag(world: FixtureWorld, step: FixtureRef) -> None:
    session, sha = world.session(step.by), world.revision(step.target)
    if step.message is not None:
        sha = _annotated(world, session, step, sha)
    change_ref(session, world.repository, f"{TAG}{step.name}", sha)


def _annotated(world: FixtureWorld, session: HubSession, step: FixtureRef, sha: str) -> str:
    tagger = session.signature()
    head = f"object {sha}\ntype commit\ntag {step.name}\n"
    text = f"{head}tagger {tagger.name} <{tagger.email}> {int(tagger.date.timestamp())} +0000\n\n{step.message}\n"
    return world.git.run("mktag", stdin=text.encode()).decode().strip()


def _release(world: FixtureWorld, step: FixtureRelease) -> None:
    session = world.session(step.author)
    change = ReleaseChange(tag=step.tag, target=step.target, name=world.text(step.name), body=world.text(step.body),
                           draft=step.draft, prerelease=step.prerelease)  # fmt: skip
    release = create_release(session, world.repository, change, generate_notes=step.generate_notes)
    for asset in step.assets:
        content = asset.text.encode() if asset.text is not None else world.beside(asset.file or "")
        current = world.hub.state.need(ReleaseRecord, release.id)
        upload_asset(session, current, asset.name, content, asset.content_type)
    world.remember("release", step.key, release, tag=step.tag, name=release.name or step.tag)


def _check(world: FixtureWorld, step: FixtureCheck) -> None:
    session, state = world.session(step.by), world.hub.state
    session.require(world.repository, "write")
    now, is_done = state.now(), step.conclusion is not None
    check = CheckRecord(
        id=state.new_id(), created_at=now, repository=world.repository.id, sha=world.revision(step.target),
        name=step.name, kind=step.kind, status="completed" if is_done else "in_progress",
        conclusion=step.conclusion if is_done or step.kind == "check_run" else "pending",
        description=step.description, details_url=step.details_url, creator=session.user.id, started_at=now,
        completed_at=now if is_done else None,
    )  # fmt: skip
    state.create(session.user, check)
    world.remember("check", step.key, check, name=step.name)


def _protect(world: FixtureWorld, step: FixtureProtection) -> None:
    state = world.hub.state
    if state.first(ProtectionRecord, repository=world.repository.id, pattern=step.pattern) is not None:
        raise ConfigError(f"pattern: {step.pattern} has a rule already")
    rule = ProtectionRecord(id=state.new_id(), created_at=state.now(), repository=world.repository.id,
                            **step.model_dump())  # fmt: skip
    state.create(world.owner.user, rule)


STEPS: Final[Mapping[str, StepMaker]] = {
    "commit": _commit,
    "branch": _branch,
    "delete_branch": _delete_branch,
    "tag": _tag,
    "release": _release,
    "check": _check,
    "protect": _protect,
}
