"""Report whether a skill helps: sentences for each comparison, and sections for terminal, Markdown and page."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from scylla_gha.counting import counted, dollars
from scylla_gha.model import one_line
from scylla_gha.model.analysis import Ruling
from scylla_gha.model.skill_help import (
    ArmTotals,
    AssertionResult,
    HelpContrast,
    HereClaim,
    Ratio,
    SkillArm,
    SkillHelp,
)
from scylla_gha.report.document import (
    UNDEFINED,
    Block,
    Bullets,
    Columns,
    Section,
    Table,
    clipped,
    escape,
    p_value,
    percent,
    seconds,
    section,
    section_markdown,
    table_of,
    tidy,
)
from scylla_gha.report.summary import marked

_LONGEST_TEXT: Final = 120
_MOST_ASSERTIONS: Final = 80
_NAMES: Final[dict[SkillArm, str]] = {"with": "with it", "without": "without", "base": "last version"}
_AGAINST: Final = {"none": "without it", "base": "with its last version"}
_COST_NAMES: Final = {"usd": "USD", "seconds": "seconds", "tokens": "tokens"}
_GROUPS: Final = ("holds less", "tells apart", "no difference", "always holds", "never holds", "not judged")
_MEANINGS: Final = {
    "holds less": "holds less with the skill",
    "tells apart": "holds more with the skill",
    "no difference": "no difference",
    "always holds": "always holds in both, so it shows no difference",
    "never holds": "never holds in either: too hard, broken or vague",
    "not judged": "not judged in one or both of the compared groups",
}


def help_sentences(answer: SkillHelp) -> Iterator[str]:
    """Yield the answer for a skill: a sentence on help and one on cost for each comparison."""
    if not answer.contrasts:
        yield "No comparison was made, so it is not known whether the skill helps."
    for contrast in answer.contrasts:
        yield f"{_help_text(contrast)}{_alike_text(contrast)}."
    if text := _cost_text(answer):
        yield text


def _help_text(contrast: HelpContrast) -> str:
    here, other = contrast.here, "" if contrast.against == "none" else " than with its last version"
    if here is None:
        return f"Not enough data to compare it with {_other_noun(contrast)}: {contrast.no_claim}"
    evals = f"on these {counted(here.evals, 'eval')}" if here.evals > 1 else "on this eval"
    limits = f"({_points(here.low)} to {_points(here.high)})"
    size = counted(round(100 * abs(here.value)), "point")
    if here.verdict == "equivalent":
        return f"As many assertions hold with it as {_AGAINST[contrast.against]} {evals} {limits}"
    if here.verdict == "not_enough_data":
        than = _AGAINST[contrast.against]
        difference = f"{_size(here.value)} {limits}"
        return f"Not enough data to tell it from trials {than} {evals}: {difference}; {here.why}"
    return f"With it {size} {'more' if here.value > 0 else 'fewer'} assertions hold{other} {evals} {limits}"


def _other_noun(contrast: HelpContrast) -> str:
    return _noun(contrast.against)


def _noun(against: str | None) -> str:
    return "its last version" if against == "base" else "no skill"


def _alike_text(contrast: HelpContrast) -> str:
    alike = contrast.alike
    if alike is None or alike.verdict == "not_enough_data":
        is_clear = contrast.here is not None and contrast.here.verdict != "not_enough_data"
        return f"; {contrast.too_few}" if contrast.too_few and is_clear else ""
    value, low, high = (limit or 0.0 for limit in (alike.contrast.value, alike.contrast.low, alike.contrast.high))
    return f", and on tasks like these {_points(value)} ({_points(low)} to {_points(high)})"


def _points(value: float) -> str:
    return f"{100 * value:+.0f}" if round(100 * value) else "0"


def _size(value: float) -> str:
    points = round(100 * value)
    return counted(points, "point", form="+d" if points else "d")


def _cost_text(answer: SkillHelp) -> str:
    """Return the skill's cost as a multiple of its first baseline's, and the share of trials that used it."""
    first = answer.contrasts[0] if answer.contrasts else None
    ratio = first.ratios.get("usd") if first else None
    parts = [f"costs {_ratio(ratio)} as much as trials {_AGAINST[first.against]}"] if first and ratio else []
    with_skill = next((arm for arm in answer.arms if arm.arm == "with"), None)
    if with_skill and with_skill.uptake is not None:
        parts.append(f"was used in {percent(with_skill.uptake)} of trials")
    return f"It {' and '.join(parts)}." if parts else ""


def _ratio(ratio: Ratio) -> str:
    limits = "" if ratio.low is None or ratio.high is None else f" ({ratio.low:.1f} to {ratio.high:.1f})"
    return f"{ratio.value:.1f} x{limits}"


def help_sections(answer: SkillHelp) -> tuple[Section, ...]:
    """Return the sections of a skill's report, without the answer's sentences."""
    return (
        section(f"Does {answer.skill} help?", *_answer(answer), is_news=True),
        section("Assertions", *_assertions(answer)),
        section("How to read the evals", Bullets([*answer.notes, *_legend(answer)])),
    )


def help_page_sections(answer: SkillHelp) -> tuple[Section, ...]:
    """Return the sections of a skill's report, with the answer's sentences as the first."""
    return (section("Answer", Bullets(list(help_sentences(answer))), is_news=True), *help_sections(answer))


def help_markdown(answer: SkillHelp) -> str:
    """Return the whole report as Markdown."""
    parts = (section_markdown(part, is_open=part.is_news) for part in help_sections(answer))
    sentences = "\n".join(f"- {escape(sentence)}" for sentence in help_sentences(answer))
    return tidy("\n\n".join((f"# {escape(f'Evals of {answer.skill}')}", sentences, *parts)))


def _answer(answer: SkillHelp) -> Iterator[Block]:
    yield table_of(
        answer.arms,
        {
            "arm": lambda arm: _NAMES[arm.arm],
            "trials": lambda arm: str(arm.trials),
            "assertions that hold": lambda arm: percent(arm.share),
            "all hold": lambda arm: percent(arm.all_hold),
            "used": _uptake,
            "USD": lambda arm: dollars(arm.usd),
            "time": lambda arm: seconds(arm.seconds),
            "tokens": lambda arm: UNDEFINED if arm.tokens is None else f"{arm.tokens:,.0f}",
        },
    )
    for contrast in answer.contrasts:
        yield Bullets([f"against {_other_noun(contrast)}: {line}" for line in _lines(contrast)])


def _uptake(arm: ArmTotals) -> str:
    if arm.uptake is None:
        return UNDEFINED
    has_limits = arm.uptake_low is not None and arm.uptake_high is not None
    limits = f" [{100 * (arm.uptake_low or 0):.0f}, {100 * (arm.uptake_high or 0):.0f}]" if has_limits else ""
    return f"{percent(arm.uptake)}{limits}"


def _lines(contrast: HelpContrast) -> Iterator[str]:
    claims = {
        "on these evals": contrast.here,
        "without assertions that always or never hold": contrast.informative,
        "on evals that should not trigger it": contrast.other_work,
        "trials in which all assertions hold": contrast.all_hold,
    }
    yield from (_claim(what, claim) for what, claim in claims.items() if claim)
    if contrast.alike:
        yield _ruling(contrast.alike)
    if contrast.too_few:
        yield f"on tasks like these: {contrast.too_few}"
    if used := contrast.where_used:
        yield (
            f"effect where it was used: {_size(used.value)} ({_points(used.low)} to {_points(used.high)}), "
            "if an unused skill changes nothing"
        )
    costs = [f"{_COST_NAMES[name]} {_ratio(ratio)}" for name, ratio in contrast.ratios.items()]
    if costs:
        yield f"cost: {', '.join(costs)}"


def _claim(what: str, claim: HereClaim) -> str:
    shown = f"{_size(claim.value)} [{_points(claim.low)}, {_points(claim.high)}], p {p_value(claim.p)}"
    verdict = claim.verdict.replace("_", " ")
    return marked(claim.verdict, f"{what}: {verdict}: {shown}{f'; {claim.why}' if claim.why else ''}")


def _ruling(ruling: Ruling) -> str:
    why = ruling.why.replace("scenarios", "evals").replace("scenario", "eval")
    return marked(ruling.verdict, f"on tasks like these: {ruling.verdict.replace('_', ' ')}: {why}")


def _assertions(answer: SkillHelp) -> Iterator[Block]:
    results = [result for result in answer.assertions if not result.assertion.about_skill]
    for against, own in _by_contrast(results).items():
        counts = Counter(result.group for result in own)
        prefix = f"against {_noun(against)}: " if len(answer.contrasts) > 1 else ""
        yield Bullets([f"{prefix}{_MEANINGS[group]}: {counts[group]}" for group in _GROUPS if counts[group]])
    unclear = {_key(result) for result in answer.assertions if result.is_unclear}
    if unclear:
        yield Bullets([f"judges disagree on {counted(len(unclear), 'assertion')} (alpha below 0.4): reword them"])
    yield _assertion_table(answer, results)
    about = [result for result in answer.assertions if result.assertion.about_skill]
    if about:
        has_none = any(contrast.against == "none" for contrast in answer.contrasts)
        left_out = ", so not in the comparison with no skill" if has_none else ""
        yield Bullets([f"About the skill itself{left_out}:"])
        yield _assertion_table(answer, about)


def _by_contrast(results: Iterable[AssertionResult]) -> dict[str | None, list[AssertionResult]]:
    """Return the results by what they are compared with."""
    groups: dict[str | None, list[AssertionResult]] = {}
    for result in results:
        groups.setdefault(result.against, []).append(result)
    return groups


def _key(result: AssertionResult) -> tuple[str, str]:
    return result.assertion.eval, result.assertion.id


def _assertion_table(answer: SkillHelp, results: Iterable[AssertionResult]) -> Table:
    """Return a row for each assertion, most informative first, with the result of each comparison."""
    rows: dict[tuple[str, str], list[AssertionResult]] = {}
    for result in results:
        rows.setdefault(_key(result), []).append(result)
    ordered = sorted(
        rows.values(),
        key=lambda row: min((_GROUPS.index(result.group), -abs(result.difference or 0.0)) for result in row),
    )
    return table_of(ordered, _columns(answer), _MOST_ASSERTIONS, "assertion", "help.json")


def _columns(answer: SkillHelp) -> Columns[list[AssertionResult]]:
    columns: Columns[list[AssertionResult]] = {
        "eval": lambda row: row[0].assertion.eval,
        "assertion": lambda row: clipped(one_line(row[0].assertion.text), _LONGEST_TEXT),
        "by": lambda row: "code" if row[0].assertion.by_code else "judges",
    }
    for arm in (arm.arm for arm in answer.arms):
        columns = {**columns, _NAMES[arm]: lambda row, arm=arm: _held(row[0], arm)}  # type: ignore[misc]
    if len(answer.contrasts) > 1:
        for number, contrast in enumerate(answer.contrasts):
            title = f"against {_other_noun(contrast)}"
            columns = {**columns, title: lambda row, at=number: f"{_difference(row[at])} {row[at].group}"}  # type: ignore[misc]
    else:
        columns = {**columns, "difference": lambda row: _difference(row[0]), "group": lambda row: row[0].group}
    return {**columns, "judges agree (alpha)": lambda row: _agreement(row[0])}


def _agreement(result: AssertionResult) -> str:
    if result.alpha is None:
        return UNDEFINED
    return f"{result.alpha:.2f}{', judges disagree' if result.is_unclear else ''}"


def _held(result: AssertionResult, arm: SkillArm) -> str:
    held, judged = result.counts.get(arm, (0, 0))
    return f"{held}/{judged}" if judged else UNDEFINED


def _difference(result: AssertionResult) -> str:
    if result.difference is None or result.low is None or result.high is None:
        return UNDEFINED
    return f"{_points(result.difference)} [{_points(result.low)}, {_points(result.high)}]"


def _legend(answer: SkillHelp) -> Iterator[str]:
    judged = sum(arm.trials for arm in answer.arms)
    yield (
        f"{answer.model} by {answer.agent}, {counted(answer.evals, 'eval')}; {answer.planned} planned, "
        f"{counted(judged, 'judged trial')}. All trials count, whether the skill was used or not."
    )
    yield (
        'The measure is the share of assertions that hold, mean over evals. "On these evals": only repetitions are '
        'random, and nothing is said about other tasks. "On tasks like these": the evals are a sample, so at least six '
        "are needed."
    )
    yield ("Assertions that always or never hold count in the verdict: to remove them would select on the outcome.")
