"""Answer of a run of evals: its judged trials are read, compared, and written as `help.json` and `help.md`."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from scylla_gha.analysis.skill_help import (
    HelpData,
    arm_totals,
    assertion_results,
    contrast_of,
    discoveries,
    uptake_notes,
)
from scylla_gha.counting import counted, first_of
from scylla_gha.model.judgment import Judgment
from scylla_gha.model.plan import Plan
from scylla_gha.model.result import Result
from scylla_gha.model.skill_help import HELP_FILE, AssertionText, EvalTrial, SkillArm, SkillHelp
from scylla_gha.report.help_sections import help_markdown, help_sections, help_sentences
from scylla_gha.skills.session import PartReport
from scylla_gha.skills.suites import ABOUT_SKILL, ARMS
from scylla_gha.store import read_lines, read_record, write_record, write_text
from scylla_gha.store.run_folder import RunFolder

_SEVERAL: Final = 2
_MOST_NAMED: Final = 20
_TOKENS: Final = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")


@dataclass(frozen=True, slots=True)
class MeasuredEvals:
    """Evals of a skill: their ids by those of their scenarios, and those whose label says that it should not trigger.

    A scenario without an eval is shown by its own id.
    """

    ids: Mapping[str, str] = field(default_factory=dict)
    unrelated: frozenset[str] = frozenset()


def help_report(name: str, evals: MeasuredEvals, plan: Plan, folder: RunFolder) -> PartReport:
    """Return the answer of a run, complete or not, and write it beside the run's own report.

    Args:
        name: name of the skill.
        evals: all evals of the suite.
        plan: plan of the run.
        folder: folder of the run.
    """
    answer = skill_help(name, evals, plan, folder)
    write_record(folder.root / HELP_FILE, answer)
    write_text(folder.root / "help.md", help_markdown(answer))
    return PartReport(
        sentences=tuple(f"{name}: {sentence}" for sentence in help_sentences(answer)),
        sections=help_sections(answer),
        data=answer.model_dump(mode="json"),
        is_worse=any(contrast.here and contrast.here.verdict == "worse" for contrast in answer.contrasts),
    )


def discovery_sentence(reports: Iterable[PartReport]) -> str:
    """Return a line on which of several skills differ from what they are compared with; empty for fewer than two."""
    answers = [SkillHelp.model_validate(report.data, strict=False) for report in reports if "contrasts" in report.data]
    firsts = {answer.skill: answer.contrasts[0].here for answer in answers if answer.contrasts}
    claims = {name: here.p for name, here in firsts.items() if here is not None}
    if len(claims) < _SEVERAL:
        return ""
    names = discoveries(claims)
    which = f"{first_of(names, _MOST_NAMED)} {'differs' if len(names) == 1 else 'differ'}" if names else "none differs"
    return f"Of {counted(len(claims), 'skill')}, {which} with a false discovery rate of 10 % (Benjamini-Hochberg).\n"


def skill_help(name: str, evals: MeasuredEvals, plan: Plan, folder: RunFolder) -> SkillHelp:
    """Compare the arms of a run by the judged trials that it has; see `help_report` for the arguments."""
    judged = list(_judged(plan, folder, evals))
    texts = {(text.eval, text.id): text for _, judgment, eval_id in judged for text in _texts(judgment, eval_id)}
    trials = [
        _trial(row, judgment, eval_id, name, ARMS[plan.arm(row.arm).variant.id])  # type: ignore[union-attr]
        for row, judgment, eval_id in judged
    ]
    order = {eval_id: number for number, (_, _, eval_id) in enumerate(judged)}
    assertions = sorted(texts.values(), key=lambda text: (order[text.eval], int(text.id[1:])))
    data = HelpData(trials, assertions, unrelated=evals.unrelated)
    others: list[SkillArm] = [arm for arm in data.arms if arm != "with"] if "with" in data.arms else []
    arm, compared = plan.arms[0], list[SkillArm | None](others) or [None]
    return SkillHelp(
        skill=name,
        agent=" ".join(filter(None, (arm.agent, arm.version))),
        model=arm.model or "",
        evals=len({cell.scenario for cell in plan.cells}),
        planned=len(plan.cells),
        arms=tuple(arm_totals(data, arm) for arm in data.arms),
        contrasts=tuple(contrast_of(data, other) for other in others),
        assertions=tuple(result for other in compared for result in assertion_results(data, other)),
        notes=tuple(uptake_notes(data)),
    )


def _judged(plan: Plan, folder: RunFolder, evals: MeasuredEvals) -> Iterator[tuple[Result, Judgment, str]]:
    """Yield the rows of judged trials with their judgments and the ids of their evals."""
    rows = {row.cell: row for row in read_lines(folder.results, Result)} if folder.results.exists() else {}
    for cell in plan.cells:
        row, judgment = rows.get(cell.id), read_record(folder.cell(cell.id).judgment, Judgment)
        if row and row.measures_agent and row.judged and judgment and judgment.trial_key == cell.key:
            yield row, judgment, evals.ids.get(cell.scenario, cell.scenario)


def _texts(judgment: Judgment, eval_id: str) -> Iterator[AssertionText]:
    for item in judgment.items:
        is_about = item.id.startswith(ABOUT_SKILL)
        yield AssertionText(
            eval=eval_id, id=item.id, text=item.text or item.id, by_code=item.by == "check", about_skill=is_about
        )


def _trial(row: Result, judgment: Judgment, eval_id: str, name: str, arm: SkillArm) -> EvalTrial:
    uses = None if row.uses is None or arm == "without" else row.uses.get(f"skill/{name}")
    tokens = [getattr(row, name) for name in _TOKENS]
    votes = {
        item.id: tuple(score.value if (score := answer.score(item.id)) else None for answer in judgment.answers)
        for item in judgment.items
        if item.by == "judge" and judgment.answers
    }
    return EvalTrial(
        eval=eval_id,
        arm=arm,
        items={item.id: item.value for item in judgment.items},
        votes=votes,
        usd=row.usd,
        seconds=row.seconds,
        tokens=row.total_tokens if None in tokens else sum(tokens),
        used=None if uses is None else uses > 0,
    )
