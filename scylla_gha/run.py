"""run: the agent works on a cell, once; what it did becomes an Attempt, a transcript, a trajectory and a diff."""

import datetime
import re
import stat
from collections import Counter
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from scylla_gha.agents.base import Access, Agent, Command, Ended, Reading, Task
from scylla_gha.agents.ruling import Traffic, rule
from scylla_gha.errors import is_lack_of_the_host
from scylla_gha.gateway.client import Door, Gateway
from scylla_gha.gateway.journal import Account
from scylla_gha.gateway.settings import Lane
from scylla_gha.model.delivery import Declared, Delivery, Inventory
from scylla_gha.model.experiment import Limits
from scylla_gha.model.outfit import Outfit
from scylla_gha.model.plan import Arm
from scylla_gha.model.trial import Attempt, Outcome, Step, Trajectory
from scylla_gha.model.variant import Treatment
from scylla_gha.proc import Cancel, Finished, Streams
from scylla_gha.proc import Limits as ProcessLimits
from scylla_gha.proxy.journal import FILE as NETWORK
from scylla_gha.proxy.journal import account as reached
from scylla_gha.proxy.permit import Permit, environment
from scylla_gha.redaction.redactor import Redactor
from scylla_gha.redaction.sweep import Sweep
from scylla_gha.sandboxes.base import Box, Place, told
from scylla_gha.sandboxes.container import GATEWAY_SOCKET, socket_folder
from scylla_gha.seals import seals_of
from scylla_gha.seeding.ground import Ground
from scylla_gha.seeding.manifest import TooLargeError
from scylla_gha.seeding.workspace import NoPatchError, Workspace, snapshot
from scylla_gha.store import AttemptFolder, write_bytes, write_record, write_text
from scylla_gha.variants.delivery import prove
from scylla_gha.variants.outfit import allowed_models

_MEGA: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Runner:
    """How one arm's agent is run on this machine. `patch` is what an oracle applies instead of the solution."""

    arm: Arm
    agent: Agent
    program: str
    gateway: Gateway | None
    place: Place
    limits: Limits
    cancel: Cancel
    patch: Path | None = None
    outfit: Outfit = Outfit()
    inventory: Inventory | None = None
    redactor: Redactor = field(default_factory=Redactor)
    share_usd: float | None = None  # of shared budgets, of a trial without a limit of its own


def run(runner: Runner, ground: Ground, workspace: Workspace, folder: AttemptFolder) -> Attempt:
    """Run the agent in a fresh workspace and keep what it did; the agent's failures are outcomes, not errors.

    Raises:
        ToolError: the agent cannot be started at all.
    """
    by_socket = runner.place.address and runner.gateway and runner.agent.package
    with socket_folder() if by_socket else nullcontext() as sockets:
        box = replace(box_of(runner, ground, workspace), sockets=sockets)
        door = _open(runner, ground, box, folder)
        access = Access(runner.place.address or door.url, door.token) if door else None
        gear = equip(runner, ground, box, access)
        sweep = Sweep(_redactor(runner, ground, gear.command))
        with sweep.guarding(folder.root):
            attempt = _work(runner, ground, workspace, folder, _Start(gear, door, sweep))
    attempt = sweep.record(attempt).model_copy(update={"redactions": sweep.found, "files": seals_of(folder)})
    write_record(folder.file("attempt.json"), attempt)
    return attempt


@dataclass(frozen=True, slots=True)
class Equipped:
    """What an agent begins with: the task, the command that it is started by, and its box with its environment."""

    task: Task
    command: Command
    box: Box


@dataclass(frozen=True, slots=True)
class _Start:
    """What an attempt begins with: the agent's part, its way to a model, and what keeps secrets out of the records."""

    gear: Equipped
    door: Door | None
    sweep: Sweep


def _redactor(runner: Runner, ground: Ground, command: Command) -> Redactor:
    """What the task itself holds stays: it only looks like a token, and the agent may have been told to write it."""
    given = runner.patch.read_bytes() if runner.patch and runner.patch.is_file() else b""
    redactor = runner.redactor.with_secrets(command.secrets)
    return redactor.knowing(lambda token: token in given or ground.holds(token))


def _work(runner: Runner, ground: Ground, workspace: Workspace, folder: AttemptFolder, start: _Start) -> Attempt:
    declared = _declared(runner, start)
    prompt = folder.file("prompt.md")
    write_text(prompt, ground.folder.prompt)
    streams = Streams(folder.file("transcript.jsonl"), folder.file("stderr.txt"), prompt)
    seconds = time_limit(runner.limits, ground)
    started = datetime.datetime.now(datetime.UTC)
    try:
        limits = ProcessLimits(seconds, runner.limits.file_mb * _MEGA)
        finished = runner.place.sandbox.run(start.gear.command.argv, start.gear.box, streams, limits, runner.cancel)
    finally:
        traffic = _settle(runner, start.door, folder)
    ended = Ended(finished, seconds, streams.stdout, streams.stderr)
    reading, delivery = _read(runner, ended, declared, folder, start.sweep)
    traffic = replace(traffic, kept_waiting=traffic.account.evidence.kept_waiting(started, finished.seconds))
    reading = rule(reading, finished, delivery, traffic, runner.limits.turns)
    attempt = _attempt(folder.number, started, finished, reading, traffic, delivery)
    attempt = _keep_diff(attempt, ground, workspace, folder, runner.limits, start.sweep)
    _keep_trajectory(reading.trajectory, ground, folder)
    return attempt.model_copy(update={
        "base_commit": ground.start.commit,
        "workspace_digest": ground.start.manifest.tree,
        "safety_net": reading.safety_net if runner.limits.safety_net else None,
        **{f"side_{name}": value for name, value in traffic.account.beside(runner.arm.model)},
    })  # fmt: skip


def box_of(runner: Runner, ground: Ground, workspace: Workspace) -> Box:
    """The box, but for the environment, which names what is in it; a solution is only with built-in agents."""
    patch = runner.patch or ground.folder.solution
    there = (patch.parent,) if runner.agent.package is None and patch.is_file() else ()
    return Box(workspace.repo, workspace.home, ground.path, read_only=there, image=runner.place.image)


def equip(runner: Runner, ground: Ground, box: Box, access: Access | None) -> Equipped:
    """Lay into the box's HOME what the variant gives the agent, and tell how it is started there."""
    task = _task(runner, ground, box, access)
    command = runner.agent.command(task, runner.program)
    return Equipped(task, command, replace(box, extra={**command.env, **_way_out(access)}, managed=command.managed))


def _declared(runner: Runner, start: _Start) -> Declared | None:
    """What is to be delivered, with the places that instructions may come from as the agent calls them."""
    declared = runner.agent.declare(start.gear.task, start.gear.box.cwd)
    if declared is None:
        return None
    places = dict.fromkeys(told(place, start.gear.task.names) for place in declared.places)
    return declared.model_copy(update={"places": tuple(places)})


def _open(runner: Runner, ground: Ground, box: Box, folder: AttemptFolder) -> Door | None:
    """Open a lane of the gateway for this attempt, where the agent uses a model."""
    package = runner.agent.package
    if runner.gateway is None or package is None:
        return None
    repo, home = (runner.place.sandbox.inside(box)[folder] for folder in (box.cwd, box.home))
    # Claude Code names a folder after the workspace, with a dash for whatever is no letter or digit.
    paths = {repo: "/scylla-workspace", re.sub(r"[^A-Za-z0-9]", "-", repo): "-scylla-workspace",
             home: "/scylla-home"}  # fmt: skip
    lane = Lane(cell=folder.root.parent.name, role="agent", journal=folder.file("traffic.jsonl"),
                first_request=folder.file("first-request.json"), budget_usd=runner.limits.usd,
                models=allowed_models(runner.arm, runner.outfit, package.side_models, package.aliases),
                server_tools=runner.arm.variant.treatment.server_tools if runner.arm.variant else (),
                budget_tokens=runner.limits.tokens, turns=runner.limits.turns, requests=runner.limits.requests,
                share_usd=runner.share_usd, paths=paths, permit=Permit(hosts=ground.folder.scenario.network.hosts),
                socket=box.sockets / GATEWAY_SOCKET if box.sockets else None)  # fmt: skip
    return runner.gateway.open(lane)


def _way_out(access: Access | None) -> Mapping[str, str]:
    """The proxy's variables, of an agent that has a lane; on the host they bind only programs that heed them."""
    return environment(access.url, access.token) if access else {}


def _settle(runner: Runner, door: Door | None, folder: AttemptFolder) -> Traffic:
    if runner.gateway is None or door is None:
        return Traffic(Account(), lost=False)
    lost = runner.gateway.lost(door)
    return Traffic(runner.gateway.close(door), lost, runner.gateway.is_subscription, reached(folder.file(NETWORK)))


def _read(
    runner: Runner, ended: Ended, declared: Declared | None, folder: AttemptFolder, sweep: Sweep
) -> tuple[Reading, Delivery | None]:
    """What the agent said and had; where its outputs cannot be read, it made them so."""
    try:
        for path in (ended.transcript, ended.stderr):
            if not stat.S_ISREG(path.lstat().st_mode):
                return Reading(Outcome.AGENT_ERROR, f"{path.name} is no plain file any more"), None
            sweep.file(path)  # before a reason is cut out of them, and perhaps a secret in two
        return runner.agent.read(ended), _delivery(runner, declared, folder)
    except OSError as error:
        if is_lack_of_the_host(error):
            raise
        return Reading(Outcome.AGENT_ERROR, f"what it said cannot be read: {error.strerror}"), None


def _delivery(runner: Runner, declared: Declared | None, folder: AttemptFolder) -> Delivery | None:
    """The proof, of an agent that reached for a model through the gateway."""
    if declared is None or runner.gateway is None:
        return None
    seen = runner.agent.observe(folder.file("transcript.jsonl"), folder.file("first-request.json"))
    is_out_of_reach = runner.place.sandbox.isolation.files == "own"
    return prove(declared, seen, runner.inventory, is_out_of_reach=is_out_of_reach)


def time_limit(limits: Limits, ground: Ground) -> float:
    """Seconds that a trial may take: the experiment's, or else the scenario's."""
    return float(limits.timeout_seconds or ground.folder.scenario.task.timeout_seconds)


def _task(runner: Runner, ground: Ground, box: Box, access: Access | None) -> Task:
    return Task(
        prompt=ground.folder.prompt,
        home=box.home,
        patch=runner.patch or ground.folder.solution,
        limits=runner.limits,
        access=access,
        model=runner.arm.model,
        treatment=runner.arm.variant.treatment if runner.arm.variant else Treatment(),
        outfit=runner.outfit,
        names=runner.place.sandbox.inside(box),
        managed=box.home.with_name("managed") if runner.place.sandbox.isolation.files == "own" else None,
    )


def _attempt(
    number: int,
    started: datetime.datetime,
    finished: Finished,
    reading: Reading,
    traffic: Traffic,
    delivery: Delivery | None,
) -> Attempt:
    calls = [call for step in reading.trajectory.steps for call in step.tool_calls]
    account, tool_seconds = traffic.account, traffic.account.tool_seconds
    return Attempt(
        number=number,
        outcome=reading.outcome,
        reason=reading.reason,
        retryable=reading.retryable,
        started_at=started,
        seconds=round(finished.seconds, 3),
        usage=account.usage,
        requests=account.requests,
        repeated_requests=account.retries,
        first_byte_seconds=account.first_byte_seconds,
        generation_seconds=account.generation_seconds,
        tool_seconds=None if tool_seconds is None else round(min(finished.seconds, tool_seconds), 3),
        characters={str(part): count for part, count in account.characters.items()},
        adjusted=account.adjusted,
        unadjusted=account.unadjusted,
        subscription=traffic.subscription,
        network=traffic.network,
        turns=reading.turns if traffic.network is None else account.turns,  # an agent's own word where it has no lane
        tool_calls=dict(Counter(call.name for call in calls)),
        failed_tool_calls=sum(1 for call in calls if call.failed),
        agent_version=reading.version,
        exit_code=finished.code,
        delivery=delivery,
    )


def _keep_diff(
    attempt: Attempt, ground: Ground, workspace: Workspace, folder: AttemptFolder, limits: Limits, sweep: Sweep
) -> Attempt:
    try:
        made, patch = snapshot(ground.start, workspace, limits.diff_mb * _MEGA, sweep.clean, limits.diff_files)
    except TooLargeError as error:
        return _without_diff(attempt, f"{error} beyond the start state, the limit of a diff ({error.limit})")
    except NoPatchError as error:
        return _without_diff(attempt, str(error))
    except OSError as error:
        if is_lack_of_the_host(error):
            raise
        return _without_diff(attempt, f"a workspace that cannot be read: {error.strerror}")
    if patch:
        write_bytes(folder.file("diff.patch"), patch)
    return attempt.model_copy(update={"diff": made})


def _without_diff(attempt: Attempt, left: str) -> Attempt:
    """What it left cannot be kept as a diff: its own failure, unless it is not measured anyhow."""
    outcome = Outcome.AGENT_ERROR if attempt.outcome.measures_agent else attempt.outcome
    return attempt.model_copy(update={"outcome": outcome, "reason": f"left {left}; {attempt.reason}"})


def _keep_trajectory(trajectory: Trajectory, ground: Ground, folder: AttemptFolder) -> None:
    if trajectory.steps:
        prompt = Step(source="user", text=ground.folder.prompt)
        whole = trajectory.model_copy(update={"steps": (prompt, *trajectory.steps)})
        write_record(folder.file("trajectory.json"), whole)
