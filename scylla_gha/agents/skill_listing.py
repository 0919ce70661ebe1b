"""Lists of skills that agent CLIs show to their models: text of the entries, and which descriptions fit.

The rules of Claude Code are from first requests of 2.1.197 and 2.1.332 (2026-11-28), to the character:

- The limit is 1 % of the model's context, at three characters for each token; four with Haiku 4.5, Opus 4.5 and 4.6,
  and Sonnet 4.5 and 4.6. For newer models, 2.1.332 computes with a context of 1,000,000 tokens, 2.1.197 with 200,000.
- Characters are columns of a terminal: two for wide ones and emoji, none for line ends and combining ones. Each entry
  has one more for its line end.
- All skills are listed by name. The CLI's own skills always have their descriptions. The remaining columns go to the
  other skills in the order of the list; one that does not fit has no description, and a later one may still fit.
- The order is: skills of the user, those of the project, commands, and those of plugins, each sorted by name.
- A description with ` - ` and `when_to_use` is cut at 1,536 UTF-16 units, the last of which is then `…`.
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

_INVISIBLE: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b\u2028\u2029\ufeff]+")
_ORDER: Final = "_-.0123456789abcdefghijklmnopqrstuvwxyz"
_SOURCES: Final = ("user", "project", "plugin")


@dataclass(frozen=True, slots=True)
class ModelBudget:
    """Limit of all entries together, in columns, for some models; `models` empty: for all other models."""

    label: str
    characters: int
    models: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ListingRules:
    """Rules of one version of a CLI.

    Attributes:
        version: version of the CLI.
        own: columns that the CLI's own skills (with descriptions) and commands (names only) take.
        budgets: limits by models.
        is_cleaned: the CLI lists invisible characters and line ends as spaces, and `<` and `>` as entities.
    """

    version: str
    own: int
    budgets: tuple[ModelBudget, ...]
    is_cleaned: bool

    def budget(self, model: str) -> ModelBudget:
        """Return the limit for a model."""
        others = next(budget for budget in self.budgets if not budget.models)
        return next((budget for budget in self.budgets if model in budget.models), others)

    def room(self, budget: ModelBudget) -> int:
        """Return the columns that are left for other skills, with a line end for each of them."""
        return budget.characters - self.own


@dataclass(frozen=True, slots=True)
class ListedSkill:
    """A skill that a CLI lists: its name there, its description, its `when_to_use`, and where it comes from."""

    name: str
    description: str
    when_to_use: str = ""
    source: Literal["user", "project", "plugin"] = "user"


@dataclass(frozen=True, slots=True)
class FittingSkills:
    """Skills, as listed within a limit.

    Attributes:
        text: the lines of the list, without the CLI's own skills.
        described: names of skills that are listed with their descriptions.
        by_name_only: names of the other skills.
        used: columns that all skills would take with their descriptions.
    """

    text: str
    described: tuple[str, ...]
    by_name_only: tuple[str, ...]
    used: int


@dataclass(frozen=True, slots=True)
class SkillListing:
    """Rules by which an agent CLI lists the descriptions of skills to its model.

    Attributes:
        versions: rules of measured versions, the newest last.
        longest: UTF-16 units of a description and its `when_to_use`; the rest is cut.
        setting: name of the setting that raises the limit, as a fraction of the model's context.
        default_fraction: the setting's default, which gives the limits of `versions`.
    """

    versions: tuple[ListingRules, ...]
    longest: int
    setting: str
    default_fraction: float

    def rules(self, version: str | None = None) -> ListingRules:
        """Return the rules of a version, or of the nearest older measured one; for None, the newest rules."""
        wanted = _numbers(version) if version else ()
        older = [rules for rules in self.versions if not wanted or _numbers(rules.version) <= wanted]
        return older[-1] if older else self.versions[0]

    def entry(self, skill: ListedSkill, rules: ListingRules) -> str:
        """Return a skill's entry with its description, which is cut if it is too long."""
        texts = [skill.description.strip(), *([skill.when_to_use] if skill.when_to_use else [])]
        text = " - ".join(texts)
        if rules.is_cleaned:
            text = _INVISIBLE.sub(" ", text).replace("<", "&lt;").replace(">", "&gt;")
        units = text.encode("utf-16-le", "surrogatepass")
        if len(units) // 2 > self.longest:
            text = units[: 2 * (self.longest - 1)].decode("utf-16-le", "replace") + "…"
        return f"- {skill.name}: {text}"

    def fit(self, skills: Iterable[ListedSkill], rules: ListingRules, room: int) -> FittingSkills:
        """Return which of the skills that a model may call have descriptions in a list of `room` columns."""
        entries = {skill.name: self.entry(skill, rules) for skill in sorted(skills, key=_sort_key)}
        sizes = {name: columns(entry) + 1 for name, entry in entries.items()}
        names = {name: columns(f"- {name}") + 1 for name in entries}
        left, lines = room - sum(names.values()), {name: f"- {name}" for name in entries}
        for name, size in sizes.items():
            if size - names[name] <= left:
                lines[name] = entries[name]
                left -= size - names[name]
        described = tuple(name for name, line in lines.items() if line == entries[name])
        by_name_only = tuple(name for name in lines if name not in described)
        return FittingSkills("\n".join(lines.values()), described, by_name_only, sum(sizes.values()))

    def fraction(self, rules: ListingRules, budget: ModelBudget, used: int) -> float:
        """Return the value of the setting with which all skills, of `used` columns, have descriptions."""
        needed = (rules.own + used) / budget.characters * self.default_fraction
        return max(self.default_fraction, math.ceil(round(needed * 1000, 6)) / 1000)


def columns(text: str) -> int:
    """Return a text's width in columns of a terminal; line ends have none."""
    from rich.cells import cell_len

    return len(text) if text.isascii() and text.isprintable() else cell_len(text)


def _sort_key(skill: ListedSkill) -> tuple[int, Sequence[int], str]:
    """Return a skill's sort key: its source, then its name in the order of a dictionary."""
    letters = [_ORDER.find(letter) if letter in _ORDER else ord(letter) + 100 for letter in skill.name.lower()]
    return _SOURCES.index(skill.source), letters, skill.name.swapcase()


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])
