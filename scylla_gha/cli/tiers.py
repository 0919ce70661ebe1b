"""Commands that list, show, compare and measure the sub-tests of the tiers."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, cast

import click

from scylla_gha.cli import options
from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError, ScenarioInvalidError
from scylla_gha.model import one_line
from scylla_gha.model.variant import BEST_OF
from scylla_gha.report.document import Table, lines_of

if TYPE_CHECKING:
    from scylla_gha.config.library import Library
    from scylla_gha.model.experiment import SandboxWish
    from scylla_gha.model.trial import Attempt
    from scylla_gha.model.variant import Tier, Variant

_DIGITS: Final = 12  # shown characters of a digest
_PARTS: Final = ("prompt", "skills", "agents", "mcp", "tools")
_LEGEND: Final = (
    "in full: tools with their definitions; by name: tools whose definitions the model may load; prompt to tools: "
    "characters of the first request; tokens: estimated total of these; short skills: listed by name only, or cut"
)


@click.group(cls=options.CommandGroup)
def tiers() -> None:
    """List, show, compare and measure the sub-tests of the tiers T0 to T6.

    \b
    scylla-gha tiers list
    scylla-gha tiers show T3/07-code-reviewer
    """  # noqa: D301


@tiers.command("list")
@click.argument("tier", required=False)
@options.as_json
def list_(tier: str | None, *, as_json: bool) -> None:
    """Print each tier's number of sub-tests and of distinct configurations; with TIER, list its sub-tests.

    \b
    scylla-gha tiers list
    scylla-gha tiers list T1
    """  # noqa: D301
    library = options.library()
    rows = [_sub_test(name, library) for name in library.tiers.names if tier in {None, name.partition("/")[0]}]
    if not rows:
        raise ConfigError(f"{tier}: there is no such tier; there are: {', '.join(library.tiers.tiers)}")
    if as_json:
        click.echo(json.dumps(rows, indent=2))
    elif tier:
        width = max(len(row["id"]) for row in rows)
        lines = (f"{row['id']:{width}}  {row['digest'][:_DIGITS]}  {row['description']}" for row in rows)
        click.echo("\n".join((*_facts(library.tiers.tiers[tier]), *lines)))
    else:
        click.echo("\n".join(_summary(rows, library)))


def _sub_test(name: str, library: "Library") -> dict[str, str]:
    declaration = library.tiers.declaration(name)
    return {"id": name, "description": declaration.sub_test.description, "digest": library.tiers.declared_digest(name)}


def _facts(tier: "Tier") -> Iterator[str]:
    """Yield the tier's focus, and its hypothesis and representative if it has them."""
    yield one_line(f"{tier.id} {tier.name}: {tier.focus}")
    if tier.hypothesis:
        yield one_line(f"hypothesis: {tier.hypothesis}")
    if tier.representative:
        yield f"representative: {tier.representative}"


def _summary(rows: list[dict[str, str]], library: "Library") -> list[str]:
    """Return one line for each tier, and a line of totals."""
    lines = []
    for name, tier in library.tiers.tiers.items():
        digests = [row["digest"] for row in rows if row["id"].startswith(f"{name}/")]
        lines.append((f"{name} {tier.name}", str(len(digests)), str(len(set(digests)))))
    lines.append(("all", str(len(rows)), str(len({row["digest"] for row in rows}))))
    focuses = ("focus", *(tier.focus for tier in library.tiers.tiers.values()), "")
    counts = lines_of(Table(("tier", "sub-tests", "distinct digests"), lines))
    return [f"{count}  {one_line(focus)}".rstrip() for count, focus in zip(counts, focuses, strict=True)]


@tiers.command()
@click.argument("name")
@options.as_json
def show(name: str, *, as_json: bool) -> None:
    """Print the sub-test NAME: what it declares, what it resolves to, and how large its files are.

    \b
    scylla-gha tiers show T0/02-core
    """  # noqa: D301
    from scylla_gha.evaluate.measure_agents import file_sizes

    library = options.library()
    sub_test, variant = library.tiers.declaration(name).sub_test, library.tiers.variant(name)
    if as_json:
        click.echo(variant.model_dump_json(indent=2))
        return
    click.echo(f"{name}: {sub_test.description}")
    for parent in sub_test.inherits:
        choice = variant.chosen.get(parent.removeprefix(BEST_OF))
        click.echo(f"inherits: {parent}{f', which is {choice} until results decide' if choice else ''}")
    for key, value in _settings(variant).items():
        click.echo(f"{key}: {value}")
    for kind, size in file_sizes(variant, library).items():
        click.echo(
            f"{kind}: {counted(size.parts, 'part')} in {counted(size.files, 'file')}, {counted(size.lines, 'line')}, "
            f"{counted(size.bytes, 'byte')}"
        )
    click.echo(f"digest: {library.tiers.declared_digest(name)}")


def _settings(variant: "Variant") -> dict[str, str]:
    """Return the settings that a variant changes, as JSON."""
    fields = variant.treatment.model_dump(mode="json", exclude_defaults=True, exclude_none=True)
    return {key: json.dumps(value, ensure_ascii=False) for key, value in fields.items()}


@tiers.command()
@click.argument("first")
@click.argument("second")
def diff(first: str, second: str) -> None:
    """Print the differences between the sub-tests FIRST and SECOND.

    \b
    scylla-gha tiers diff T0/01-vanilla T0/02-core
    """  # noqa: D301
    library = options.library()
    variants = [library.tiers.variant(name) for name in (first, second)]
    before, after = ({*variant.materials.items(), *_settings(variant).items()} for variant in variants)
    if before == after:
        click.echo(f"{first} and {second} are the same configuration")
    lines = [
        *((key, "-", value) for key, value in before - after),
        *((key, "+", value) for key, value in after - before),
    ]
    for key, sign, value in sorted(lines):
        click.echo(f"{sign} {key}" if "/" in key else f"{sign} {key}: {value}")


@tiers.command()
@click.argument("names", nargs=-1)
@click.option("--agent", default="claude-code@2.1.332", show_default=True, help="Agent CLI as name@version.")
@click.option("--model", default="claude-sonnet-5", show_default=True, help="Model of the agent.")
@options.agents_at_once
@options.sandbox("auto", "Sandbox that the agent is started in; auto: the one that trials get.")
@options.as_json
def measure(
    names: tuple[str, ...], *, agent: str, model: str, jobs: int, sandbox: "SandboxWish", as_json: bool
) -> None:
    """Start the agent once with each sub-test (globs; default: all) and print the content of its first request.

    No provider is asked, so there is no cost. The command fails if the delivery of a sub-test is not proved, or
    contradicts the assumptions of the tier's hypothesis.

    \b
    scylla-gha tiers measure 'T1/*'
    """  # noqa: D301
    from scylla_gha.evaluate.measure_agents import start_variants, startable
    from scylla_gha.plan.selection import select

    library = options.library()
    model = library.model_ids([model])[model]
    chosen = [library.tiers.variant(name) for name in select("sub-tests", names or ("*",), library.tiers.names)]
    rows: list[dict[str, object]] = []
    faults: list[str] = []
    with startable(agent, sandbox, library) as start:
        for variant, attempt in start_variants(chosen, model, start, library, jobs):
            rows.append(_measured(variant, attempt))
            faults += _faults(variant.id, library.tiers.declaration(variant.id).tier, attempt)
            click.echo(f"{len(rows)}/{len(chosen)} {variant.id}", err=True)
    click.echo(json.dumps(rows, indent=2) if as_json else "\n".join(_measures(rows)))
    if faults:
        raise ScenarioInvalidError("delivery is not proved:\n" + "\n".join(faults))


def _faults(name: str, tier: "Tier", attempt: "Attempt") -> Iterator[str]:
    """Yield the reason why the delivery is not proved, and facts that contradict the tier's hypothesis."""
    delivery = attempt.delivery
    if delivery is None or not delivery.proved:
        yield f"{name}: {delivery.shortfall if delivery else attempt.reason}"
    for assumption in tier.assumes if delivery else ():
        if delivery and (fact := delivery.contradiction(assumption)):
            yield f"{name}: contradicts the hypothesis of {tier.id} ({assumption}): {fact}"


def _measured(variant: "Variant", attempt: "Attempt") -> dict[str, object]:
    from scylla_gha.evaluate.measure_agents import tokens_of

    delivery = attempt.delivery
    return {
        "id": variant.id,
        "proved": bool(delivery and delivery.proved),
        "seconds": round(attempt.seconds, 2),
        "tools": delivery.tools if delivery else None,
        "deferred_tools": len(delivery.deferred_tools) if delivery else None,
        "characters": dict(delivery.characters) if delivery else {},
        "tokens": tokens_of(sum(delivery.characters.values())) if delivery else None,
        "short_skills": len(delivery.short_skills) if delivery else None,
        "unverified": list(delivery.unverified) if delivery else [],
    }


def _measures(rows: list[dict[str, object]]) -> list[str]:
    lines = []
    for row in rows:
        characters = row["characters"] if isinstance(row["characters"], dict) else {}
        facts = ("proved" if row["proved"] else "not proved", row["seconds"], row["tools"], row["deferred_tools"])
        sizes = (characters.get(part, 0) for part in _PARTS)
        lines.append([str(value) for value in (row["id"], *facts, *sizes, row["tokens"], row["short_skills"])])
    unverified = Counter(fact for row in rows for fact in cast("list[str]", row["unverified"]))
    notes = [f"unverified in {counted(count, 'sub-test')}: {fact}" for fact, count in unverified.items()]
    headings = ("sub-test", "delivery", "seconds", "in full", "by name", *_PARTS, "tokens", "short skills")
    return [*lines_of(Table(headings, lines)), _LEGEND, *notes]
