"""The list of skills that Claude Code sends is the predicted one, to the character, in each proved version."""

import json
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.agents import AGENTS
from scylla_gha.agents.skill_listing import ListedSkill
from scylla_gha.prepare.tools import cache_root
from tests.support.claude_versions import VERSIONS
from tests.support.command import scylla
from tests.support.provider import Body, Say, serve
from tests.support.repository import environment, make_repository, write_greet_experiment, write_tree

MODELS = ("claude-haiku-4-5-20251001", "claude-sonnet-5")
HEADING = "The following skills are available for use with the Skill tool:\n"
TEXTS = (
    "Sums ledgers. " * 9,
    "Line one\nline two\n\nline four " + "and so on " * 12,
    "Reads <b>markup</b> & more, " * 8,
    "表を合計する。" * 20,
    "Paints 🎨 and 👩‍🚀 " * 12,
    "Cafe\u0301 menus, cafe\u0301 bills " * 9,
    "Much too long. " * 120,
    "Short.",
    "Tabs\there, spaces   there " * 10,
    "Dashes — and arrows → " * 10,
)


def skills(factor: int) -> dict[str, ListedSkill]:
    """Thirty skills of all lengths and writings, whose texts are repeated so many times."""
    texts = [TEXTS[number % len(TEXTS)] * factor for number in range(30)]
    names = [f"{'a' if number % 2 else 'b'}{'-' if number % 3 else '_'}{number}" for number in range(30)]
    when = ["When asked. " * (number % 4) for number in range(30)]
    return {name: ListedSkill(name, text, use) for name, text, use in zip(names, texts, when, strict=True)}


def sent_list(body: Body) -> str:
    """Return the list in a request: its own skills come after the user's."""
    contents = [message["content"] for message in body["messages"]]
    texts = [
        each if isinstance(each, str) else block.get("text", "")
        for each in contents
        for block in ([{}] if isinstance(each, str) else each)
    ]
    return next(text.partition(HEADING)[2] for text in texts if HEADING in text)


@pytest.mark.parametrize("factor", [1, 6])
@pytest.mark.parametrize("version", VERSIONS)
def test_the_prediction_is_what_the_cli_sends(tmp_path: Path, version: str, factor: int) -> None:
    repo, given = make_repository(tmp_path / "repo").root, skills(factor)
    fronts = {
        name: json.dumps(
            {"name": name, "description": skill.description, "when_to_use": skill.when_to_use}, ensure_ascii=False
        )
        for name, skill in given.items()
    }
    write_tree(repo, {f"config/skills/{name}/SKILL.md": f"---\n{front}\n---\nDo.\n" for name, front in fronts.items()})
    tier: dict[str, Any] = {
        "id": "T1",
        "name": "Lists",
        "focus": "Lists of skills",
        "sub_tests": [
            {
                "id": "01-own",
                "description": "The own limit",
                "treatment": {"skills": [*given], "skill_listing": "default"},
            },
        ],
    }
    write_tree(repo, {"config/tiers/T1.yaml": json.dumps(tier)})
    write_greet_experiment(
        repo,
        agents=(f"claude-code@{version}",),
        variants=("T1/01-own",),
        models=MODELS,
        baseline=f"t1-01-own.claude-code.{MODELS[0]}",
        sandbox="host",
    )
    with serve(lambda _: Say("Done.")) as provider:
        env = environment(tmp_path, ANTHROPIC_API_KEY="sk-ant-canary-0123456789", ANTHROPIC_BASE_URL=provider.url)
        env |= {"SCYLLA_CACHE": str(cache_root())}
        said = scylla("evaluate", "greet", "--yes", "--json", "--jobs", "1", "--allow-exposed-keys", cwd=repo, env=env)
    listing = AGENTS["claude-code"].skill_listing
    assert listing is not None
    rules = listing.rules(version)
    assert rules.version == version, "each proved version is measured"
    sent = {body["model"]: sent_list(body) for body in provider.requests if body["model"] in MODELS}
    assert set(sent) == set(MODELS), said.err
    for model in MODELS:
        fitting = listing.fit(given.values(), rules, rules.room(rules.budget(model)))
        assert sent[model].strip()[: len(fitting.text) + 3] == f"{fitting.text}\n- ", model
        assert fitting.described
    for path in repo.glob("runs/greet/*/trial.json"):
        (attempt,) = json.loads(path.read_text())["attempts"]
        model = next(model for model in MODELS if model in path.parent.name)
        fitting = listing.fit(given.values(), rules, rules.room(rules.budget(model)))
        assert attempt["outcome"] == "completed", attempt["reason"]
        assert set(fitting.by_name_only) <= set(attempt["delivery"]["short_skills"])
