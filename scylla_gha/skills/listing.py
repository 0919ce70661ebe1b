"""Checks of all skills of a folder together: which descriptions an agent shows to its model, and which are similar."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from scylla_gha.agents.skill_listing import ListedSkill, SkillListing
from scylla_gha.counting import counted, first_of
from scylla_gha.skills import SkillFinding
from scylla_gha.skills.find import SkillFolder
from scylla_gha.skills.skill_file import SkillFile

_GRAM: Final = 4  # characters in a gram
_ALIKE: Final = 0.6  # cosine from which two descriptions count as similar
_MOST_PAIRS: Final = 10
_MOST_NAMED: Final = 12
_FREQUENT: Final = 50  # a gram in this many descriptions is too frequent to find pairs

ReadSkill = tuple[SkillFolder, SkillFile]


@dataclass(frozen=True, slots=True)
class ShownDescriptions:
    """Names of skills whose description a model sees if all are installed, and of skills listed by name only.

    Attributes:
        models: names of the models for which this holds.
        version: version of the CLI whose rules these are.
        room: characters available for the skills.
        used: characters of all descriptions together.
        fraction: value of the CLI's setting with which all descriptions are shown.
    """

    models: str
    version: str
    room: int
    used: int
    whole: tuple[str, ...]
    by_name_only: tuple[str, ...]
    fraction: float


def shown_descriptions(skills: Sequence[ReadSkill], listing: SkillListing) -> list[ShownDescriptions]:
    """Return the descriptions that the models see of skills that they may invoke, most room first."""
    rules, listed = listing.rules(), [listed_skill(skill.name, file) for skill, file in skills if is_listed(file)]
    shown = []
    for budget in sorted(rules.budgets, key=lambda budget: -budget.characters):
        fitting = listing.fit(listed, rules, rules.room(budget))
        fraction = listing.fraction(rules, budget, fitting.used)
        room, version = rules.room(budget), rules.version
        names = (fitting.described, fitting.by_name_only)
        shown.append(ShownDescriptions(budget.label, version, room, fitting.used, *names, fraction))
    return shown


def is_listed(file: SkillFile) -> bool:
    """Return whether a model is told of a skill at the start of a session, as far as it has a description."""
    return bool(file.text("description")) and not file.is_true("disable-model-invocation") and not _waits(file)


def _waits(file: SkillFile) -> bool:
    field = file.fields.get("paths")
    return field is not None and field.text not in {"", "**"}


def listed_skill(name: str, file: SkillFile) -> ListedSkill:
    """Return a skill as its users have it: in the list under its own name."""
    when_to_use = file.fields.get("when_to_use")
    return ListedSkill(name, file.text("description"), (when_to_use.text or "") if when_to_use else "")


def listing_findings(
    skills: Sequence[ReadSkill], shown: Sequence[ShownDescriptions], rules: SkillListing
) -> Iterator[SkillFinding]:
    """Yield descriptions that are cut, and those that some model does not see if all skills are installed."""
    for skill, file in skills:
        texts = len(file.text("description")) + len(file.text("when_to_use"))
        if texts > rules.longest:
            message = (
                f"description and when_to_use have {counted(texts, 'character')}; only {rules.longest:,} are "
                "listed; shorten them"
            )
            path = skill.shown(skill.file)
            yield SkillFinding("listing", "warning", path, file.line("description"), message)
    hidden = [listing for listing in shown if listing.by_name_only]
    if not hidden:
        return
    worst = max(hidden, key=lambda listing: len(listing.by_name_only))
    skill, file = next(each for each in skills if each[0].name == worst.by_name_only[0])
    models = "" if len(hidden) == len(shown) else f" for {worst.models}"
    message = (
        f"description: listed by name only{models} if all skills here are installed: "
        f"{first_of(worst.by_name_only, _MOST_NAMED)}; shorten descriptions, or set {rules.setting} to "
        f"{worst.fraction:g}"
    )
    is_one = len({each.plugin for each, _ in skills}) == 1  # several plugins are rarely installed together
    path = skill.shown(skill.file)
    yield SkillFinding("listing", "warning" if is_one else "note", path, file.line("description"), message)


def overlap_findings(skills: Sequence[ReadSkill]) -> Iterator[SkillFinding]:
    """Yield the pairs of skills with the most similar descriptions, where a model may choose the wrong one."""
    texts: dict[str, ReadSkill] = {}
    for skill, file in skills:
        if file.text("description"):
            texts.setdefault(file.text("description").lower(), (skill, file))
    pairs = _alike(list(texts))
    named = list(texts.values())
    for cosine, first, second in sorted(pairs, reverse=True)[:_MOST_PAIRS]:
        (one, file), (other, _) = named[first], named[second]
        message = (
            f"description: is similar to that of {other.name} (cosine {cosine:.2f}); test the queries of both "
            "with both installed"
        )
        yield SkillFinding("overlap", "note", one.shown(one.file), file.line("description"), message)


def _alike(texts: Sequence[str]) -> list[tuple[float, int, int]]:
    """Return pairs of texts with the cosine of their grams, weighted by rarity."""
    grams = {number: Counter(_grams(text)) for number, text in enumerate(texts)}
    homes: dict[str, list[int]] = defaultdict(list)
    for number, counts in grams.items():
        for gram in counts:
            homes[gram].append(number)
    rarity = {gram: math.log((1 + len(texts)) / (1 + len(numbers))) + 1 for gram, numbers in homes.items()}
    weights = {number: _normed(counts, rarity) for number, counts in grams.items()}
    shared: Counter[tuple[int, int]] = Counter()
    for numbers in homes.values():
        if len(numbers) <= _FREQUENT:
            shared.update(combinations(numbers, 2))
    enough = _GRAM * 2  # similar descriptions share far more rare grams
    cosines = (
        (_cosine(weights[one], weights[two]), one, two) for (one, two), count in shared.items() if count > enough
    )
    return [pair for pair in cosines if pair[0] > _ALIKE]


def _grams(text: str) -> Iterable[str]:
    plain = " ".join(text.split())
    return (plain[at : at + _GRAM] for at in range(max(1, len(plain) - _GRAM + 1)))


def _normed(counts: Mapping[str, int], rarity: Mapping[str, float]) -> dict[str, float]:
    weights = {gram: count * rarity[gram] for gram, count in counts.items()}
    norm = math.sqrt(sum(weight**2 for weight in weights.values()))
    return {gram: weight / norm for gram, weight in weights.items()}


def _cosine(first: Mapping[str, float], second: Mapping[str, float]) -> float:
    return sum(weight * second.get(gram, 0.0) for gram, weight in first.items())
