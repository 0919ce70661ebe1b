"""How far judges agree, and what that means."""

from collections.abc import Iterator
from typing import Final

from scylla_gha.model.analysis import Agreement, Pair
from scylla_gha.render.grid import fold, more, table
from scylla_gha.render.page import Page
from scylla_gha.render.text import UNDEFINED, number, percent

_GOOD: Final = 0.8  # Krippendorff 2004, Content Analysis, 241
_FAIR: Final = 0.667
_BIASED: Final = 0.05  # a twentieth of the scale
_MOST: Final = 10


def judges(page: Page) -> Iterator[str]:
    """Only where several judges scored the same trials."""
    found = page.analysis.agreement if page.analysis else None
    if found is None:
        return
    yield "\n## Judges\n"
    yield f"{len(found.judges)} judges scored {found.trials:,} trials. {_meaning(found)}"
    yield from _decisive(found)
    yield from table(("measure of agreement", "value", "what it is"), _numbers(found))
    if found.pairs:
        yield "Who scores higher, on average:"
        yield from table(
            ("judges", "difference of scores", "its standard deviation", "trials"), map(_pair, found.pairs)
        )
    known = sorted(((alpha, name) for name, alpha in found.by_scenario.items() if alpha is not None))
    rows = [(name, number(alpha)) for alpha, name in known[:_MOST]]
    if len(found.by_scenario) > 1 and rows:
        lines = [*table(("scenario", "alpha"), rows), *more(len(known) - _MOST, "more scenarios")]
        without = len(found.by_scenario) - len(known)
        lines += [f"{without} scenarios have no alpha: all scores are alike."] if without else []
        yield from fold("Alpha of each scenario, least agreement first", lines)


def _decisive(found: Agreement) -> Iterator[str]:
    if found.decisive == 0:
        yield "In none of them did the pass hang on the rule of consensus: judges stood on one side of the threshold."
    elif found.decisive is not None:
        yield (f"In {percent(found.decisive)} of them, judges stood on both sides of the threshold: there the rule of "
               "consensus had a say in whether the trial passed.")  # fmt: skip


def _meaning(found: Agreement) -> str:
    if found.alpha is None:
        return "Whether they agree cannot be told: all scores are alike, or too few."
    said = f"**They {_word(found.alpha)}** (Krippendorff's alpha {number(found.alpha)}{_limits(found)})"
    if found.alpha >= _GOOD:
        return f"{said}: who judged hardly matters to a score."
    if found.alpha >= _FAIR:
        return f"{said}: good enough for careful conclusions."
    return f"{said}: read what they wrote before you rely on scores."


def _word(alpha: float) -> str:
    return "agree" if alpha >= _GOOD else "mostly agree" if alpha >= _FAIR else "do not agree well"


def _limits(found: Agreement) -> str:
    if found.alpha_low is None or found.alpha_high is None:
        return ""
    return f" [{number(found.alpha_low)}, {number(found.alpha_high)}]"


def _numbers(found: Agreement) -> Iterator[tuple[str, str, str]]:
    yield "alpha", f"{number(found.alpha)}{_limits(found)}", "Krippendorff's, interval scale: 1 is perfect, 0 is chance"
    yield "ICC(2,1)", number(found.icc_single), "how well one judge alone stands for any judge"
    yield f"ICC(2,{len(found.judges)})", number(found.icc_panel), "how well the panel's mean stands for any panel's"
    yield "kappa", number(found.kappa), "of grades, quadratic weights, mean over pairs of judges"


def _pair(pair: Pair) -> tuple[str, ...]:
    tilt = "" if abs(pair.bias) < _BIASED else f" (the {'first' if pair.bias > 0 else 'second'} is more generous)"
    sd = UNDEFINED if pair.sd is None else number(pair.sd)
    return f"{pair.first} - {pair.second}", f"{pair.bias:+.2f}{tilt}", sd, str(pair.n)
