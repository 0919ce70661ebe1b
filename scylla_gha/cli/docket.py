"""How trials are judged otherwise than their experiment says: by other judges, in other words, by another rubric."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from scylla_gha.config.library import Library, ScenarioFolder
from scylla_gha.errors import ConfigError
from scylla_gha.judges.blind import Wording, wording_in


@dataclass(frozen=True, slots=True)
class Docket:
    """What is given instead; whatever is empty is as the experiment says."""

    judges: tuple[str, ...] = ()
    wording: Wording | None = None
    scenarios: Mapping[str, ScenarioFolder] = field(default_factory=dict)  # with another rubric, by id
    name: str = ""

    def __bool__(self) -> bool:
        """Whether anything is given."""
        return bool(self.judges or self.wording or self.scenarios)


def make_docket(
    library: Library, scenarios: Iterable[str], judges: tuple[str, ...], prompt: Path | None, rubric: Path | None
) -> Docket:
    """Read what is given.

    Args:
        library: where the scenarios are found.
        scenarios: those of the trials that are to be judged.
        judges: model ids.
        prompt: a folder with `system_prompt.md` and `user_template.md`.
        rubric: the rubric of the one scenario, or a folder with `<scenario>.yaml` for each.

    Raises:
        ConfigError: a file is missing, or is not what it must be.
    """
    named = [f"judges {', '.join(judges)}"] if judges else []
    named += [f"prompt {prompt.name}"] if prompt else []
    named += [f"rubric {rubric.stem}"] if rubric else []
    wanted = list(dict.fromkeys(scenarios))
    files = _rubrics(rubric, wanted) if rubric else {}
    return Docket(
        judges=tuple(dict.fromkeys(judges)),
        wording=wording_in(prompt) if prompt else None,
        scenarios={name: library.scenario(name).with_rubric(file) for name, file in files.items()},
        name="; ".join(named),
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
