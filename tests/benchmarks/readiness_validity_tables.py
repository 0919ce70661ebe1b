"""Tables of the validity page, from stored figures."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from scylla_gha.counting import counted
from scylla_gha.model.readiness import DIMENSIONS
from tests.benchmarks.readiness_validity_offline import FORMS, QUESTIONS
from tests.benchmarks.readiness_validity_product import CLAUDE, ORACLE, Measured, measured_from
from tests.benchmarks.readiness_validity_sources import SOURCES

Figures = Mapping[str, Any]
STEPS: Final = {ORACLE: "the oracle's sessions", "agents": "guessers and lexical agent",
                CLAUDE: "Claude Code's sessions", "twins": "twins"}  # fmt: skip
YIELDS: Final = {
    "intent-clarity": (
        "functions with an intent from history", "functions with an intent from documentation",
        "functions tried for questions on tests", "functions with two failing and two passing tests",
        "functions with one to eight certain callers",
    ),
    "modification-confidence": (
        "functions under test", "functions with guards under test", "functions tried for a repair",
        "functions without a fault that a test notices", "functions whose tests cannot be controlled",
        "guards whose removal a test notices", "faults that a test notices",
    ),
    "cross-file-coherence": (
        "entries with a chain over files", "questions on chains", "questions on failing test files",
    ),
    "semantic-completeness": (
        "bodies that can be masked", "bodies tried", "bodies whose faults no test notices",
        "bodies whose tests cannot be controlled", "bodies under test",
    ),
}  # fmt: skip


def tables(known: Sequence[Figures]) -> str:
    """Return all tables as Markdown."""
    failures = list(unmeasured(known))
    sections = [
        ("### Code bases", table(("code base", "version", "language", "functions", "stable + other tests",
                                  "1", "2", "3", "4"), (yield_row(figures) for figures in measured(known, "facts")))),
        ("### Sessions", table(
            ("code base", "agent", "sessions", "with an answer", "parts with all points", "1", "2", "3", "4",
             "readiness", "tool calls", "tokens", "seconds"), session_rows(known))),
        ("### What could be made, and what not", table(("code base", "dimension", "counts", "anchors", "not made"),
                                                       made_rows(known))),
        ("### Guessing levels and lexical agent", table(
            ("code base", *FORMS, "lexical agent: 1", "3", "among first five"),
            (agent_row(figures) for figures in measured(known, "agents")))),
        ("### Twins", table(("code base", "twin", "tests pass", "among first five", "1", "3",
                             "sign where a fall is expected"), twin_rows(known))),
        ("### Not measured", "\n".join(failures) or "Nothing was left out."),
    ]  # fmt: skip
    return "\n\n".join(f"{title}\n\n{text}" for title, text in sections)


def table(heads: Sequence[str], rows: Iterator[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def measured(known: Sequence[Figures], step: str) -> Iterator[Figures]:
    """Yield the code bases of which a step was measured."""
    return (figures for figures in known if step in figures and "failed" not in figures[step])


def yield_row(figures: Figures) -> list[str]:
    facts = figures["facts"]
    counts = facts["yields"]
    tests = f"{counts['stable tests']} + {counts['unstable tests']}"
    anchors = [str(facts["planned"].get(name, "n/a")) for name in DIMENSIONS]
    return [figures["name"], figures["version"]["version"], facts["language"], f"{counts['functions']:,}", tests,
            *anchors]  # fmt: skip


def session_rows(known: Sequence[Figures]) -> Iterator[list[str]]:
    for agent in (ORACLE, CLAUDE):
        for figures in measured(known, agent):
            step = dict(figures[agent])
            step.pop("took")
            yield [figures["name"], *session_cells(measured_from(step))]


def session_cells(run: Measured) -> list[str]:
    scores = [f"{run.scores[name]:.0f}" if name in run.scores else "n/a" for name in DIMENSIONS]
    whole = "n/a" if run.score is None else f"{run.score:.0f}"
    tokens = "-" if run.tokens is None else f"{run.tokens:,.0f}"
    return [run.agent, str(run.sessions), str(run.completed), f"{run.full_parts} of {run.parts}", *scores, whole,
            f"{run.calls:.0f}", tokens, f"{run.seconds:.0f}"]  # fmt: skip


def made_rows(known: Sequence[Figures]) -> Iterator[list[str]]:
    for figures in measured(known, "facts"):
        facts = figures["facts"]
        for number, (name, title) in enumerate(DIMENSIONS.items(), 1):
            counts = ", ".join(f"{text}: {facts['yields'][text]:,}" for text in YIELDS[name] if text in facts["yields"])
            anchors = facts["yields"].get(f"anchors of {title}", 0)
            yield [figures["name"], str(number), counts or "-", str(anchors), facts["missing"].get(title, "-")]


def agent_row(figures: Figures) -> list[str]:
    step = figures["agents"]
    levels = ["-" if step["levels"][form] is None else f"{step['levels'][form]:.2f}" for form in FORMS]
    lexical = [f"{step['lexical'][name]:.0f}" if name in step["lexical"] else "n/a" for name in QUESTIONS]
    return [figures["name"], *levels, *lexical, f"{step['hits']:.2f} of {step['intents']}"]


def twin_rows(known: Sequence[Figures]) -> Iterator[list[str]]:
    for figures in measured(known, "twins"):
        for row in figures["twins"]["rows"]:
            if "pairs" not in row:
                yield [figures["name"], row["twin"], row["holds"], "-", "-", "-", "-"]
                continue
            pairs = [f"{pair[0]:.0f} to {pair[1]:.0f}" if pair else "n/a" for pair in row["pairs"].values()]
            yield [figures["name"], row["twin"], row["holds"], f"{row['hits']:.2f} of {row['intents']}", *pairs,
                   "-" if row["holds"] == "NO" else row["sign"]]  # fmt: skip


def unmeasured(known: Sequence[Figures]) -> Iterator[str]:
    """Yield a line for each step without figures, and for each session or part without all points."""
    by_name = {figures["name"]: figures for figures in known}
    for name in (source.name for source in SOURCES):
        figures = by_name.get(name, {})
        for step, words in STEPS.items():
            if step not in figures:
                yield f"- {name}: {words} were not measured in this run."
            elif "failed" in figures[step]:
                yield f"- {name}: {words} could not be measured: {figures[step]['failed']}"
            elif faults := figures[step].get("faults"):
                yield (f"- {name}, {step}: {counted(len(faults), 'part or session', 'parts or sessions')} without all "
                       f"points: {'; '.join(faults[:8])}.")  # fmt: skip
