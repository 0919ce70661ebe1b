"""Claude Code: what its manifest (`config/agent-clis/claude-code.yaml`) cannot say of versions 2.1.197 and 2.1.332.

That is its transcript, the proof of its treatment, the safety net as its hook, and its rules for lists of skills.
"""

import dataclasses
import re
from pathlib import Path
from typing import Final

from scylla_gha.agents.base import AgentCommand, AgentTask, ProcessResult, TranscriptSummary
from scylla_gha.agents.claude import safety_hook
from scylla_gha.agents.claude.delivery import declared_delivery, observed_delivery
from scylla_gha.agents.claude.transcript import classify_session, read_transcript
from scylla_gha.agents.manifest import ManifestAgent
from scylla_gha.agents.manifest.command import manifest_command
from scylla_gha.agents.skill_listing import ListingRules, ModelBudget, SkillListing
from scylla_gha.model.trial import Declared, Observed, Source, Trajectory

_OLDER: Final = "Haiku 4.5, Opus 4.5 and 4.6, Sonnet 4.5 and 4.6"
_OLDER_MODELS: Final = (
    "claude-haiku-4-5-20251001",
    "claude-opus-4-5-20251101",
    "claude-opus-4-6",
    "claude-sonnet-4-5-20250929",
    "claude-sonnet-4-6",
)
_LISTING: Final = SkillListing(
    versions=(
        ListingRules(
            version="2.1.197",
            own=4_247,
            budgets=(ModelBudget(_OLDER, 8_000, _OLDER_MODELS), ModelBudget("newer models", 6_000)),
            is_cleaned=False,
        ),
        ListingRules(
            version="2.1.332",
            own=6_074,
            budgets=(ModelBudget(_OLDER, 8_000, _OLDER_MODELS), ModelBudget("newer models", 30_000)),
            is_cleaned=True,
        ),
    ),
    longest=1_536,
    setting="skillListingBudgetFraction",
    default_fraction=0.01,
)
# Others end the session without a request, as `/clear` and `/context` do (2.1.197 and 2.1.332, 2026-11-28).
_COMMANDS: Final = ("goal", "init", "insights", "review", "security-review", "team-onboarding")


@dataclasses.dataclass(frozen=True, slots=True)
class ClaudeCode(ManifestAgent):
    """The `claude` command."""

    @property
    def digest(self) -> None:
        """None: the CLI's version identifies its behaviour, so that keys of trials from before its manifest hold."""

    @property
    def skill_listing(self) -> SkillListing:
        """Rules of measured versions."""
        return _LISTING

    @property
    def prompt_commands(self) -> tuple[str, ...]:
        """Built-in commands that ask the model."""
        return _COMMANDS

    @property
    def delivery_sources(self) -> tuple[Source, ...]:
        """Both sources."""
        return ("start event", "first request")

    @property
    def guarded_tools(self) -> None:
        """None: its safety net is a hook."""

    def path_aliases(self, workspace: str) -> dict[str, str]:
        """Return the session folder's name: the path, with a dash for each character that is no letter or digit."""
        return {re.sub(r"[^A-Za-z0-9]", "-", workspace): "-scylla-workspace"}

    def command(self, task: AgentTask, program: str) -> AgentCommand:
        """Return the command with the additions of the manifest, and with the safety net's hook."""
        (task.home / ".claude").mkdir(exist_ok=True)
        managed = safety_hook.write_managed_settings(task)
        if task.limits.safety_net and task.managed is None:
            settings = safety_hook.install_hook(task.treatment.settings, task.home)
            task = dataclasses.replace(task, treatment=task.treatment.model_copy(update={"settings": settings}))
        command = manifest_command(self.manifest, task, program)
        events = ("--include-hook-events",) if task.limits.safety_net else ()
        return AgentCommand((*command.argv, *events), command.env, managed=managed)

    def read(self, ended: ProcessResult) -> TranscriptSummary:
        """Summarise the transcript, with the outcome that it claims."""
        session = read_transcript(ended.transcript)
        outcome, reason, retryable = classify_session(session, ended)
        safety_net = safety_hook.safety_net_summary(ended.transcript)
        return TranscriptSummary(
            outcome, reason, retryable, session.trajectory, session.turns, session.version, safety_net
        )

    def conversation(self, transcript: Path) -> Trajectory:
        """Return the messages and tool calls so far."""
        return read_transcript(transcript).trajectory

    def stated_usd(self, transcript: Path) -> float | None:
        """Return the cost in the result event."""
        usd = (read_transcript(transcript).result or {}).get("total_cost_usd")
        return float(usd) if isinstance(usd, int | float) else None

    def declare(self, task: AgentTask, workspace: Path) -> Declared:
        """Return the treatment in the CLI's names."""
        return declared_delivery(task, workspace)

    def observe(self, transcript: Path, request: Path) -> tuple[Observed, ...]:
        """Return the treatment that the start event, the first request and the hooks show."""
        return observed_delivery(transcript, request)
