"""Experiments with agent CLIs that have a manifest, at the versions with which their manifests were measured."""

import json
from pathlib import Path
from typing import Any

from scylla_gha.agents import AGENTS
from scylla_gha.config.library import Library, toolkit_root
from scylla_gha.model.agent_manifest import AgentManifest
from scylla_gha.providers import PROVIDERS
from scylla_gha.providers.base import Body, ToolRequest
from scylla_gha.providers.scripted import next_answer
from scylla_gha.providers.scripted_style import ScriptedAnswer, ScriptedStyle
from tests.support.claude_versions import NEWEST
from tests.support.command import Said, scylla
from tests.support.engine import found_by
from tests.support.materials import SERVER
from tests.support.model_apis import Script
from tests.support.repository import write_tree

LIBRARY = Library((toolkit_root(),))
_CLI_NAMES = [name for name in LIBRARY.agent_names() if name != "claude-code"]  # which has tests of its own
MANIFESTS: dict[str, AgentManifest] = {name: LIBRARY.agent_manifest(name) for name in _CLI_NAMES}
# Model, variable of the provider's address, and variable of its key, by API style.
MODELS = {
    "anthropic-messages": ("claude-sonnet-5", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"),
    "openai-responses": ("gpt-5.5", "OPENAI_BASE_URL", "OPENAI_API_KEY"),
    "gemini": ("gemini-3.8-flash", "GOOGLE_GEMINI_BASE_URL", "GEMINI_API_KEY"),
    "openai-chat": ("gpt-5.5", "OPENAI_BASE_URL", "OPENAI_API_KEY"),
}
CLIS = tuple(sorted({"claude-code", *MANIFESTS}))
STYLES = [(name, style) for name, manifest in sorted(MANIFESTS.items()) for style in manifest.api_styles]
OPENAI_MODEL = """\
id: gpt-5.5
provider: openai
context_tokens: 400000
max_output_tokens: 128000
price:
  {input: 1.0, output: 10.0, cache_read: 0.1, cache_write_5m: 1.0, cache_write_1h: 1.0, date: 2026-11-28, source: none}
"""
WRITE = "printf 'print(\"Hello, World!\")\\n' > hello.py && python3 hello.py"
SUBMIT = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
EDIT = 'hello.py\n```\nprint("Hello, World!")\n```\n'
EXPERIMENT = """\
id: probe
question: What becomes of this?
scenarios: [001-hello-world]
agents: [{agent}]
variants: [{variants}]
models: [{models}]
repetitions: 1
baseline: {baseline}
sandbox: {sandbox}
limits: {{timeout_seconds: {seconds}, api_retries: 0, provider_retries: 0, rate_limit_seconds: 1{limits}}}
retry: {{attempts: 1, backoff_seconds: 0}}
"""
SENTENCE = "Always greet the reviewers of this repository in Esperanto."
FILES = {
    "AGENTS.md": f"# Rules\n\n{SENTENCE}\n",
    "config/mcp/clock/server.yaml": "description: A clock\ncommand: python3\nargs: ['{folder}/clock.py']\n",
    "config/mcp/clock/clock.py": SERVER,
    "config/skills/greeting/SKILL.md": "---\nname: greeting\ndescription: How to greet reviewers\n---\nSay hello.\n",
    "config/agents/reader.md": "---\nname: reader\ndescription: Reads the proofs\n---\nYou read all proofs.\n",
}
TREATMENTS = {
    "00-none": "agent_files: []",
    "01-instructions": "agent_files: [AGENTS.md]",
    "02-skill": "{agent_files: [], skills: [greeting]}",
    "03-server": "{agent_files: [], mcp_servers: [clock]}",
    "04-agent": "{agent_files: [], agents: [reader]}",
    "05-append": "{agent_files: [], system_prompt: {append: You work with great care today.}}",
    "06-replace": "{agent_files: [], system_prompt: {replace: You are a careful engineer.}}",
}
PART = {
    "02-skill": "skills",
    "03-server": "mcp_servers",
    "04-agent": "agents",
    "05-append": "system_prompt_append",
    "06-replace": "system_prompt_replace",
}


def pinned(name: str) -> str:
    """The agent at the newest version that its manifest, or for Claude Code its inventory, was measured with."""
    if name not in MANIFESTS:
        return f"{name}@{NEWEST}"
    return f"{name}@{max(MANIFESTS[name].package.dates, key=lambda version: MANIFESTS[name].package.dates[version])}"


def takes(name: str, sub_test: str) -> bool:
    """Whether the CLI can take the treatment of a sub-test."""
    if name not in MANIFESTS:
        return sub_test != "01-instructions"  # its own file is CLAUDE.md
    own = MANIFESTS[name].treatment
    if sub_test in PART:
        return getattr(own, PART[sub_test]) is not None
    return sub_test == "00-none" or bool({"AGENTS.md", "/AGENTS.md"} & {*(own.agent_files or ())})


def diligent(name: str) -> Script:
    """Write the file by the CLI's own shell, or in an answer to a CLI without tools; then end."""
    is_mini = name == "mini-swe-agent"

    def script(style: ScriptedStyle, body: Body, _: str = "") -> ScriptedAnswer:
        answer = next_answer(style, body, WRITE)
        if answer.call:
            return answer
        if not style.has_result(body):
            return ScriptedAnswer(EDIT)
        return ScriptedAnswer("I end.", ToolRequest("submit", "bash", {"command": SUBMIT})) if is_mini else answer

    return script


def style(name: str) -> str:
    """The API style of a CLI's models in tests of treatments and faults."""
    return next(style for style in MODELS if style in AGENTS[name].api_styles)


def arm(name: str, variant: str, model: str = "") -> str:
    """The id of an arm."""
    return f"{variant.lower().replace('/', '-')}.{name}.{model or MODELS[style(name)][0]}"


def evaluate(
    root: Path,
    name: str,
    url: str,
    *,
    variants: tuple[str, ...] = ("T0/01-vanilla",),
    seconds: int = 100,
    limits: str = "",
    api_style: str = "",
    sandbox: str = "bubblewrap",
    models: tuple[str, ...] = (),
    options: tuple[str, ...] = (),
) -> Said:
    """Evaluate an agent in a folder, with the provider at an address."""
    write_experiment(
        root, name, variants, seconds=seconds, limits=limits, api_style=api_style, sandbox=sandbox, models=models
    )
    _, address, key = MODELS[api_style or style(name)]
    env = {address: url, key: "sk-ant-canary-0123456789", **(found_by() if sandbox == "docker" else {})}
    return scylla("evaluate", "probe.yaml", "--yes", "--json", *options, cwd=root, env=env)


def write_experiment(
    root: Path,
    name: str,
    variants: tuple[str, ...],
    *,
    seconds: int = 100,
    limits: str = "",
    api_style: str = "",
    sandbox: str = "bubblewrap",
    models: tuple[str, ...] = (),
) -> None:
    """Write the experiment of an agent, with one model, or with models of its API that have these names."""
    used = api_style or style(name)
    provider = next(provider for provider, kind in PROVIDERS.items() if used in kind.styles)
    for model in models:
        text = OPENAI_MODEL.replace("gpt-5.5", model).replace("openai", provider)
        write_tree(root, {f"config/models/{model}.yaml": text})
    text = EXPERIMENT.format(
        agent=pinned(name),
        variants=", ".join(variants),
        models=", ".join(models or [MODELS[used][0]]),
        baseline=arm(name, variants[0], model=models[0] if models else MODELS[used][0]),
        seconds=seconds,
        limits=limits,
        sandbox=sandbox,
    )
    write_tree(root, {"probe.yaml": text, "config/models/gpt-5.5.yaml": OPENAI_MODEL})


def write_treatments(root: Path) -> Path:
    """Write a repository with a tier of treatments, and the files that they name."""
    tests = "".join(
        f"  - {{id: {name}, description: x, treatment: {text}}}\n"
        if text.startswith("{")
        else f"  - {{id: {name}, description: x, treatment: {{{text}}}}}\n"
        for name, text in TREATMENTS.items()
    )
    tier = f"id: T1\nname: Ours\nfocus: Does it arrive?\nsub_tests:\n{tests}"
    return write_tree(root, {**FILES, "config/tiers/T1.yaml": tier})


def attempts(root: Path, run: str = "probe") -> dict[str, dict[str, Any]]:
    """The last attempt of each arm's trial, by the arm's id."""
    paths = sorted(root.glob(f"runs/{run}/*/trial.json"))
    return {path.parent.name.split("--")[1]: json.loads(path.read_text())["attempts"][-1] for path in paths}


def first_requests(root: Path) -> dict[str, str]:
    """The text of each arm's first request."""
    return {
        path.parent.parent.name.split("--")[1]: path.read_text()
        for path in sorted(root.glob("runs/probe/*/attempt-1/first-request.json"))
    }
