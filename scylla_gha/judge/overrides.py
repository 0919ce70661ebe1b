"""Judging with other judges, prompts or rubrics than the experiment's, and comparison of the results."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from scylla_gha.config.library import Library
from scylla_gha.config.materials import PromptTexts, prompt_texts
from scylla_gha.config.scenario_folder import ScenarioFolder
from scylla_gha.errors import ConfigError
from scylla_gha.model.judgment import Judgment, PanelSummary, Score

JudgmentsByCell = Mapping[str, Judgment | None]  # None: not judged


@dataclass(frozen=True, slots=True)
class JudgeOverrides:
    """Overrides for judging again; an empty field leaves the experiment's own setting."""

    judges: tuple[str, ...] = ()
    wording: PromptTexts | None = None
    scenarios: Mapping[str, ScenarioFolder] = field(default_factory=dict)  # with another rubric, by id
    name: str = ""

    def __bool__(self) -> bool:
        """Return whether anything is overridden."""
        return bool(self.judges or self.wording or self.scenarios)


def judge_overrides(
    library: Library, scenarios: Iterable[str], judges: tuple[str, ...], prompt: Path | None, rubric: Path | None
) -> JudgeOverrides:
    """Read overrides for judging.

    Args:
        library: library of the scenarios.
        scenarios: ids of the scenarios of the trials to judge.
        judges: model ids.
        prompt: a folder with `system_prompt.md` and `user_template.md`.
        rubric: the rubric of the only scenario, or a folder with `<scenario>.yaml` for each.

    Raises:
        ConfigError: a file is missing or invalid.
    """
    labels = [f"judges {', '.join(judges)}"] if judges else []
    labels += [f"prompt {prompt.name}"] if prompt else []
    labels += [f"rubric {rubric.stem}"] if rubric else []
    scenario_ids = list(dict.fromkeys(scenarios))
    files = _rubrics(rubric, scenario_ids) if rubric else {}
    return JudgeOverrides(
        judges=tuple(dict.fromkeys(judges)),
        wording=prompt_texts(prompt) if prompt else None,
        scenarios={name: library.scenario(name).with_rubric(file) for name, file in files.items()},
        name="; ".join(labels),
    )


def _rubrics(rubric: Path, scenarios: list[str]) -> dict[str, Path]:
    if rubric.is_dir():
        missing = [name for name in scenarios if not (rubric / f"{name}.yaml").is_file()]
        if missing:
            raise ConfigError(f"{rubric}: has no {missing[0]}.yaml; give a rubric for each scenario of the trials, or "
                              "choose trials with --only")  # fmt: skip
        return {name: rubric / f"{name}.yaml" for name in scenarios}
    if len(scenarios) > 1:
        raise ConfigError(f"{rubric}: is the rubric of one scenario, but the trials are of {len(scenarios)}: "
                          f"{', '.join(scenarios[:5])}; choose one with --only, or give a folder with a "
                          "<scenario>.yaml for each")  # fmt: skip
    return dict.fromkeys(scenarios, rubric)


def summarise_panels(
    panel: str, judges: Sequence[str], judgments: JudgmentsByCell, own: JudgmentsByCell | None = None
) -> PanelSummary:
    """Summarise a panel's judgments; compare them with the experiment's `own` panel if that is another."""
    results, own_results = _results(judgments), _results(own or {})
    scores, own_scores = _scores(results), _scores(own_results)
    gaps = [abs(score - own_scores[cell]) for cell, score in scores.items() if cell in own_scores]
    costs = [judgment.usage.usd for judgment in judgments.values() if judgment]
    known = [cost for cost in costs if cost is not None]
    return PanelSummary(
        panel=panel,
        judges=tuple(judges),
        trials=len(judgments),
        judged=len(results),
        passed=sum(result.passed for result in results.values()),
        mean_score=_mean(list(scores.values())),
        compared=len(gaps),
        difference=_mean(gaps),
        flips=tuple(
            cell for cell in results if cell in own_results and results[cell].passed != own_results[cell].passed
        ),
        usd=sum(known) if len(known) == len(costs) else None,
    )


def _results(judgments: JudgmentsByCell) -> dict[str, Score]:
    return {cell: judgment.result for cell, judgment in judgments.items() if judgment and judgment.result}


def _scores(results: Mapping[str, Score]) -> dict[str, float]:
    return {cell: result.score for cell, result in results.items() if result.score is not None}


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
