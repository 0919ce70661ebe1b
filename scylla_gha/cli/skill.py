"""Command for authors of Agent Skills: `scylla-gha skill`."""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from scylla_gha.cli import options
from scylla_gha.counting import counted, first_of

if TYPE_CHECKING:
    from scylla_gha.skills.report import SkillsCheck
    from scylla_gha.skills.session import SkillsAnswer

_PROGRESS_SECONDS: Final = 2.0
_AGENT: Final = "claude-code"
_CHECK: Final = "check"
_MOST_NAMED: Final = 3
_JUDGES: Final = "claude-sonnet-5,claude-haiku-4-5-20251001,claude-haiku-5-5"


def _names(_: click.Context, __: click.Parameter, value: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in value.split(",") if name.strip())


def _arms(_: click.Context, __: click.Parameter, value: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in value.split(","))
    if not names or set(names) - {"none", "base"}:
        raise click.BadParameter(f"{value!r} is not none, base, or both with a comma between")
    return names


def _workspace(_: click.Context, __: click.Parameter, value: str | None) -> Path | None:
    form, sign, folder = (value or "").partition("=")
    if value and (form != "skill-creator" or not sign or not folder):
        raise click.BadParameter(f"{value!r} is not skill-creator=DIR")
    return Path(folder) if value else None


def _folder(_: click.Context, __: click.Parameter, value: Path) -> Path:
    if value.is_file():
        raise click.BadParameter(f"{value} is a file; name its folder: {value.parent}")
    return value


@click.command()
@click.argument("path", type=click.Path(path_type=Path, exists=True), callback=_folder)
@click.option(
    "--only",
    type=click.Choice([_CHECK, "triggers", "evals"]),
    help="Part to do: check reads the files, without a key (default: all that PATH has).",
)
@click.option(
    "--eval", "evals", multiple=True, metavar="ID", help="Eval to run; may be repeated (default: all of each skill)."
)
@click.option(
    "--base",
    default="",
    metavar="REF",
    help="Branch, tag or hash with the last version of the skill (default: a pull request's merge base, else none).",
)
@click.option(
    "--skill", "names", multiple=True, metavar="NAME", help="Skill to measure; may be repeated (default: all in PATH)."
)
@click.option(
    "--changed",
    is_flag=True,
    help="Measure only skills that differ from their last version; their evals are those of the last version if both "
    "differ, and new ones.",
)
@click.option(
    "--against",
    default="none,base",
    callback=_arms,
    show_default=True,
    metavar="none,base",
    help="What the skill is compared with: no skill, its last version if that differs, or both.",
)
@click.option(
    "--distractors",
    default="repo",
    show_default=True,
    metavar="repo|none|DIR",
    help="Other skills that are installed beside it: all others in PATH, none, or those in a folder.",
)
@click.option("--model", default="claude-sonnet-5", show_default=True, help="Model of the agent.")
@click.option(
    "--agent",
    default="claude-code",
    show_default=True,
    metavar="NAME[@VERSION]",
    help="Agent, at the newest version that this toolkit has measured if none is named.",
)
@click.option(
    "--judges",
    default=_JUDGES,
    callback=_names,
    show_default=True,
    metavar="M,M,M",
    help="Models of the judge panel, which decides what no command or pattern can.",
)
@click.option(
    "--repetitions",
    type=click.IntRange(1, 999),
    default=3,
    show_default=True,
    help="Number of repetitions of each eval with and without the skill.",
)
@click.option(
    "--query",
    "queries",
    multiple=True,
    metavar="TEXT",
    help="Trigger queries to run: those that have this text; may be repeated (default: all).",
)
@click.option(
    "--trigger-repetitions",
    type=click.IntRange(1, 999),
    default=3,
    show_default=True,
    help="Number of repetitions of each trigger query.",
)
@click.option(
    "--trigger-turns",
    type=click.IntRange(1, 99),
    default=5,
    show_default=True,
    help="Number of answers of the model after which a query counts as not triggered, if it still works.",
)
@click.option(
    "--strict",
    is_flag=True,
    help="Count a skill as triggered only if the Skill tool called it, not if its SKILL.md was read.",
)
@click.option(
    "--budget-usd",
    type=click.FloatRange(0, min_open=True),
    default=5.0,
    show_default=True,
    help="Budget of all runs in the output folder in USD; parts that do not fit are left out, the cheapest run first.",
)
@options.sandbox("auto", "Sandbox of the agent and of checks.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("runs"),
    show_default=True,
    help="Folder that holds one folder for each run; the same command resumes runs in it.",
)
@options.jobs("trials")
@options.yes("paid requests")
@options.exposed("agents work")
@options.as_json
@click.option(
    "--sarif",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="File to write the findings of the checks to as SARIF, for code scanning (default: none).",
)
@click.option(
    "--export",
    "workspace",
    callback=_workspace,
    metavar="skill-creator=DIR",
    help="Folder to write the results of evals to as a workspace that skill-creator's viewer opens; of several skills, "
    "one folder in it for each (default: none).",
)
@click.option(
    "--fail-on",
    type=click.Choice(["regression", "checks", "none"]),
    default="checks",
    show_default=True,
    help="What makes the command fail: errors of checks; or these, and a skill that does worse than what it is "
    "compared with; or nothing that is found.",
)
def skill(path: Path, **values: object) -> None:
    """Check the skill in PATH, or all skills below it, and measure whether they help.

    Each eval is run with the skill and without it. Each trigger query is asked until the model has called the skill, or
    has worked on without it. Without a key, only the checks are made, and the cost of the rest is
    estimated. The same command resumes a run, and pays for nothing twice. In GitHub
    Actions, errors and warnings of checks are shown beside their lines.

    Exit codes: 0 no errors; 3 a file has an error, which is printed; 5, 6, 8 and 9 as of `evaluate`; 10 a skill does
    worse, and --fail-on is regression.

    \b
    scylla-gha skill .claude/skills
    scylla-gha skill skills/pdf --only check --sarif skill.sarif
    scylla-gha skill skills/pdf --repetitions 5 --budget-usd 10
    scylla-gha skill skills/pdf --only triggers --trigger-repetitions 5
    """  # noqa: D301
    from scylla_gha.agents import AGENTS
    from scylla_gha.skills.report import check_skills
    from scylla_gha.skills.session import SkillsAnswer

    as_json, sarif = bool(values.pop("as_json")), values.pop("sarif")
    only, fail_on, workspace = values.pop("only"), values.pop("fail_on"), values.pop("workspace")
    out = values["out"]
    _reject_opposites(only, values)
    check = check_skills(path, AGENTS[_AGENT].skill_listing, _progress())
    _show_check(path, check, sarif, as_json=as_json)
    answer = SkillsAnswer() if only == _CHECK else _measured(path, check, only, values)
    _print_answer(check, answer, as_json=as_json)
    if isinstance(workspace, Path) and isinstance(out, Path):
        _export(out, answer, workspace)
    if answer.failure is not None:
        raise answer.failure
    _require_quality(path, check, answer, fail_on)


def _reject_opposites(only: object, values: dict[str, object]) -> None:
    """Reject a choice of evals or queries beside --only that runs none of them."""
    for option, chosen, kind in (("--eval", values["evals"], "evals"), ("--query", values["queries"], "triggers")):
        if chosen and only not in {None, kind}:
            raise click.UsageError(
                f"{option} chooses {kind} to run, and --only {only} runs none; leave one of them out"
            )


def _show_check(path: Path, check: "SkillsCheck", sarif: object, *, as_json: bool) -> None:
    """Print the check, annotate the lines in GitHub Actions, and write the SARIF file if it was asked for."""
    from scylla_gha.github_api.actions import escape_command
    from scylla_gha.publish.actions_output import annotate
    from scylla_gha.skills.report import annotations, check_lines, check_sarif
    from scylla_gha.store import write_text

    if os.environ.get("GITHUB_ACTIONS") == "true":
        for level, finding in annotations(check):
            annotate(level, finding.message, f"skill: {finding.rule}", finding.path, finding.line)
    if isinstance(sarif, Path):
        write_text(sarif, check_sarif(check))
    if not as_json:
        for line in check_lines(check, path):
            click.echo(escape_command(line))


def _measured(path: Path, check: "SkillsCheck", only: object, values: dict[str, object]) -> "SkillsAnswer":
    """Run what there is a key for, in the order of the price."""
    from scylla_gha.errors import ToolError
    from scylla_gha.model import one_line
    from scylla_gha.plan.checks import require_statistics
    from scylla_gha.skills.session import SkillsAnswer

    try:
        require_statistics()
    except ToolError as error:
        options.report(f"triggers and evals were not run: {error}")
        return SkillsAnswer()
    from scylla_gha.skills.evals import eval_parts
    from scylla_gha.skills.pull_request import measure_changes
    from scylla_gha.skills.report import error_lines
    from scylla_gha.skills.session import KINDS, SkillRequest, measure_skills, newest_agent
    from scylla_gha.skills.triggers import trigger_parts

    library = options.library()
    model = next(iter(library.model_ids([str(values.pop("model"))]).values()))
    wanted = {kind for kind, chosen in (("evals", values["evals"]), ("triggers", values["queries"])) if chosen}
    if only is not None:
        check.require_entries(str(only))
    kinds = tuple(kind for kind in KINDS if only in {None, kind} and (only or not wanted or kind in wanted))
    agent = newest_agent(library, str(values.pop("agent")))
    own = {"root": path, "library": library, "kinds": kinds, "model": model, "agent": agent}
    only_changed, names = bool(values.pop("changed")), values.pop("names")
    request = SkillRequest(**own, **values)  # type: ignore[arg-type]

    def say(line: str) -> None:
        options.report(one_line(line))

    for line in error_lines(check, path, kinds):
        say(line)

    def measure(chosen: "SkillsCheck") -> "SkillsAnswer":
        return measure_skills(request, (trigger_parts, eval_parts), chosen, say)

    return measure_changes(request, check, names, measure, say, only_changed=only_changed)  # type: ignore[arg-type]


def _print_answer(check: "SkillsCheck", answer: "SkillsAnswer", *, as_json: bool) -> None:
    from scylla_gha.github_api.actions import escape_command
    from scylla_gha.model import one_line
    from scylla_gha.report.document import plain_lines
    from scylla_gha.skills.report import check_data

    if as_json:
        measured = [{"skill": part.skill, "part": part.kind, **report.data} for part, report in answer.reports]
        click.echo(json.dumps({**check_data(check), "measured": measured}, indent=1))
        return
    for part, report in answer.reports:
        for line in plain_lines(report.sections):
            click.echo(escape_command(line))
        options.report(f"{part.skill}: {part.kind}: page of all trials: {part.suite.parent / 'report.html'}")
    for sentence in (sentence for _, report in answer.reports for sentence in report.sentences):
        click.echo(escape_command(one_line(sentence)))
    if answer.reports:
        from scylla_gha.skills.eval_answer import discovery_sentence

        click.echo(discovery_sentence(report for _, report in answer.reports), nl=False)


def _export(out: Path, answer: "SkillsAnswer", target: Path) -> None:
    """Write the results of evals as workspaces of skill-creator."""
    from scylla_gha.interop.exporters import RunExport
    from scylla_gha.store.run_folder import RunFolder, stored_plan

    parts = [part for part, _ in answer.reports if part.kind == "evals"]
    for part in parts:
        run = RunFolder(out / part.experiment)
        folder = target / part.skill if len(parts) > 1 else target
        note = RunExport(run, stored_plan(run), folder).write("skill-creator")
        options.report(f"{folder}{f': {note}' if note else ''}")


def _require_quality(path: Path, check: "SkillsCheck", answer: "SkillsAnswer", fail_on: object) -> None:
    """Check that what --fail-on names was not found.

    Raises:
        ConfigError: a check found an error.
        GateError: a skill does worse than what it is compared with.
    """
    from scylla_gha.errors import ConfigError, GateError

    errors = [f"{path / found.path}:{found.line}" for found in check.all_findings if found.level == "error"]
    if errors and fail_on != "none":
        first = first_of(dict.fromkeys(errors), _MOST_NAMED)
        raise ConfigError(f"{counted(len(errors), 'error')}: {first}; correct what the lines with `error:` say")
    worse = [part.skill for part, report in answer.reports if report.is_worse]
    if worse and fail_on == "regression":
        raise GateError(f"{', '.join(worse)}: does worse; the report says by how much")


def _progress() -> Callable[[int, int], None]:
    """Return a function that prints a line on standard error every two seconds."""
    last = time.monotonic()

    def show(done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last > _PROGRESS_SECONDS:
            last = time.monotonic()
            click.echo(f"checked {done} of {counted(total, 'skill')}", err=True)

    return show
