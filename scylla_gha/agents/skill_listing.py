"""Lists of skills that agent CLIs show to their models: the text of an entry, and which descriptions fit.

The rules of Claude Code are from first requests of 2.1.197 and 2.1.332 (2026-11-28), to the character:

- The limit is 1 % of the model's context, at three characters for each token; four with Haiku 4.5, Opus 4.5 and 4.6,
  and Sonnet 4.5 and 4.6. For newer models, 2.1.332 computes with a context of 1,000,000 tokens, 2.1.197 with 200,000.
- Characters are columns of a terminal: two for wide ones and emoji, none for line ends and combining ones. Each entry
  has one more, its line end.
- All skills are listed by name. The CLI's own ones have their descriptions whatever the limit is. What is left goes to
  the others in the order of the list; one that does not fit is listed by its name, and a later one may still fit.
- The order is: skills of the user, those of the project, commands, and those of plugins, each sorted by name.
- A description with ` - ` and `when_to_use` is cut at 1,536 UTF-16 units, the last of which is then `…`.
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

_UNSEEN: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b\u2028\u2029\ufeff]+")
_ORDER: Final = "_-.0123456789abcdefghijklmnopqrstuvwxyz"
_SOURCES: Final = ("user", "project", "plugin")


@dataclass(frozen=True, slots=True)
class ModelBudget:
    """Limit of all entries together, in columns, for some models; no ids: for all others."""

    label: str
    characters: int
    models: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ListingRules:
    """Rules of one version of a CLI.

    Attributes:
        version: version of the CLI.
        own: columns of the CLI's own skills with their descriptions, its commands by name.
        budgets: limits by models.
        is_cleaned: invisible characters and line ends are listed as spaces, and `<` and `>` as entities.
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
    """List of skills.

    Attributes:
        text: the lines of the list, without the CLI's own skills.
        whole: names of skills that are listed with their descriptions.
        by_name_only: names of the others.
        used: columns that all would take with their descriptions.
    """

    text: str
    whole: tuple[str, ...]
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
        """Return the rules of a version; of one that was not measured, or None, those of the nearest older one."""
        wanted = _numbers(version) if version else ()
        older = [rules for rules in self.versions if not wanted or _numbers(rules.version) <= wanted]
        return older[-1] if older else self.versions[0]

    def entry(self, skill: ListedSkill, rules: ListingRules) -> str:
        """Return the text by which a skill is listed whole, with its cut if it is too long."""
        texts = [skill.description.strip(), *([skill.when_to_use] if skill.when_to_use else [])]
        text = " - ".join(texts)
        if rules.is_cleaned:
            text = _UNSEEN.sub(" ", text).replace("<", "&lt;").replace(">", "&gt;")
        units = text.encode("utf-16-le", "surrogatepass")
        if len(units) // 2 > self.longest:
            text = units[: 2 * (self.longest - 1)].decode("utf-16-le", "replace") + "…"
        return f"- {skill.name}: {text}"

    def fit(self, skills: Iterable[ListedSkill], rules: ListingRules, room: int) -> FittingSkills:
        """Return which of the skills that a model may call are listed whole within so many columns."""
        entries = {skill.name: self.entry(skill, rules) for skill in sorted(skills, key=_place)}
        sizes = {name: columns(entry) + 1 for name, entry in entries.items()}
        names = {name: columns(f"- {name}") + 1 for name in entries}
        left, lines = room - sum(names.values()), {name: f"- {name}" for name in entries}
        for name, size in sizes.items():
            if size - names[name] <= left:
                lines[name] = entries[name]
                left -= size - names[name]
        whole = tuple(name for name, line in lines.items() if line == entries[name])
        by_name_only = tuple(name for name in lines if name not in whole)
        return FittingSkills("\n".join(lines.values()), whole, by_name_only, sum(sizes.values()))

    def fraction(self, rules: ListingRules, budget: ModelBudget, used: int) -> float:
        """Return the value of the setting with which so many columns of skills are listed whole."""
        needed = (rules.own + used) / budget.characters * self.default_fraction
        return max(self.default_fraction, math.ceil(round(needed * 1000, 6)) / 1000)


def columns(text: str) -> int:
    """Return the columns of a text in a terminal, of which line ends have none."""
    from rich.cells import cell_len

    return len(text) if text.isascii() and text.isprintable() else cell_len(text)


def _place(skill: ListedSkill) -> tuple[int, Sequence[int], str]:
    """Return what skills are sorted by: where they come from, then their names as a dictionary has them."""
    letters = [_ORDER.find(letter) if letter in _ORDER else ord(letter) + 100 for letter in skill.name.lower()]
    return _SOURCES.index(skill.source), letters, skill.name.swapcase()


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])
