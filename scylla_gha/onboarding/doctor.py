"""Check this machine and a folder's workflows for `doctor`; `doctor_github` checks the settings on GitHub."""

import contextlib
import importlib.util
import platform
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from scylla_gha.agents import AGENTS, find_agent
from scylla_gha.config.installed_packages import installation
from scylla_gha.config.library import Library
from scylla_gha.config.model_names import LOCAL_PROVIDER
from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError, FixtureError, GitHubError, SandboxError, ToolError
from scylla_gha.gateway.settings import ProviderAccess
from scylla_gha.github_api.access import REPOSITORY
from scylla_gha.github_com import fixture_environment, token_variable
from scylla_gha.github_com.accounts import site_of
from scylla_gha.mining.repository import checkout_of, origin_of
from scylla_gha.model import slug
from scylla_gha.model.mode import Mode
from scylla_gha.onboarding.toolkit import Toolkit, host_and_name, toolkits_called
from scylla_gha.plan.checks import used_providers
from scylla_gha.prepare.tools import SYSTEM_PATH
from scylla_gha.providers import PROVIDERS, missing_key, shared_style
from scylla_gha.providers.local_servers import TOOLS_ADVICE, ModelServer, ServedModel, listed, local_servers
from scylla_gha.providers.openai import LocalServer
from scylla_gha.sandboxes import SANDBOXES
from scylla_gha.sandboxes.docker.engine import connect
from scylla_gha.system import process

_SECONDS: Final = 20.0  # for a program to print its version
_OLDEST_GIT: Final = (2, 38)
_OLDEST_NODE: Final = 18
_OLDEST_RUNNER: Final = (2, 336, 0)  # the first with `$/` paths (docs.github.com, workflow syntax, 2026-11-22)
_READINESS: Final = "readiness"  # id of findings
_PACKAGES: Final = ("tree_sitter", "tree_sitter_python", "numpy", "scipy")
_AGENT: Final = "claude-code"
_SCRIPTS: Final = ("node", "npm")
_MODELS: Final = "models"  # id of findings


@dataclass(frozen=True, slots=True)
class Finding:
    """A checked item.

    Attributes:
        id: short name of the item.
        state: `optional`: missing, but only some uses need it; `unknown`: could not be checked.
        what: result of the check.
        mend: command, address or advice that corrects it; empty: nothing to do.
    """

    id: str
    state: Literal["ok", "optional", "problem", "unknown"]
    what: str
    mend: str = ""


def repository_of(folder: Path, environ: Mapping[str, str]) -> str | None:
    """Return OWNER/NAME of the workflow run's repository, or of a folder's origin; None if neither is known."""
    named = environ.get("GITHUB_REPOSITORY", "")
    if REPOSITORY.fullmatch(named):
        return named
    try:
        origin = origin_of(checkout_of(folder))
    except FixtureError:
        return None
    host, name = host_and_name(origin or "") or ("", "")
    is_known = host == "github.com" or bool(environ.get("GITHUB_API_URL"))
    return name if is_known and REPOSITORY.fullmatch(name) else None


def machine_findings() -> Iterator[Finding]:
    """Yield findings about Python, git, node, the container engine, bubblewrap and runners of this machine."""
    yield Finding("python", "ok", platform.python_version())
    yield _git()
    yield _node()
    yield _engine()
    yield _bubblewrap()
    yield from _runners()


def _version(program: str) -> str | None:
    if shutil.which(program) is None:
        return None
    try:
        done = process.capture([program, "--version"], seconds=_SECONDS)
    except ToolError:
        return None
    return done.stdout.decode(errors="replace").strip() if done.code == 0 else None


def _git() -> Finding:
    """Check git's version: the hub merges pull requests with `git merge-tree --write-tree`."""
    printed = _version("git")
    if printed is None:
        return Finding("git", "problem", "is not on PATH, or does not start", "apt-get install git")
    version = printed.removeprefix("git version ")
    numbers = re.match(r"(\d+)\.(\d+)", version)
    if numbers and (int(numbers[1]), int(numbers[2])) >= _OLDEST_GIT:
        return Finding("git", "ok", version)
    oldest = ".".join(map(str, _OLDEST_GIT))
    what = f"{version} is older than {oldest}; scenarios with GitHub need {oldest}, others do not"
    return Finding("git", "optional", what, "https://git-scm.com/downloads")


def _node() -> Finding:
    version = _version("node")
    major = (version or "").removeprefix("v").partition(".")[0]
    if version and major.isdecimal() and int(major) >= _OLDEST_NODE:
        return Finding("node", "ok", version)
    what = f"{version} is older than {_OLDEST_NODE}" if version else "is not on PATH"
    return Finding(
        "node", "optional", f"{what}; Claude Code needs it, oracle and nop do not", "https://nodejs.org/en/download"
    )


def _engine() -> Finding:
    try:
        with contextlib.closing(connect()) as api:
            return Finding("docker", "ok", f"an engine answers, API version {api.api_version}")
    except SandboxError as error:
        return Finding("docker", "optional", "no container engine answers; containers isolate agents best", str(error))


def _bubblewrap() -> Finding:
    lack = SANDBOXES["bubblewrap"].missing_reason()
    if lack is None:
        return Finding("bubblewrap", "ok", "works here")
    return Finding("bubblewrap", "optional", "does not work here; it isolates agents without a container engine", lack)


def mode_findings(library: Library) -> Iterator[Finding]:
    """Yield findings about unreadable modes, and about modes' programs on this machine, which all modes can use."""
    modes: list[Mode] = []
    for name in library.mode_names():
        try:
            modes.append(library.mode(name))
        except ConfigError as error:
            yield Finding("modes", "problem", f"the mode {name} cannot be read: {error}", "correct its file")
    owners = {program: mode.id for mode in modes for program in mode.programs}
    paths = {program: shutil.which(program, path=SYSTEM_PATH) for program in owners}
    present = ", ".join(f"{path} (of the mode {owners[program]})" for program, path in paths.items() if path)
    if present:
        what = f"on PATH here, so every mode can use it, except in docker: {present}"
        yield Finding("modes", "optional", what, "set `sandbox: docker` in experiments with modes")
    elif modes:
        yield Finding("modes", "ok", ", ".join(mode.id for mode in modes))


def repositories_findings(library: Library, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Yield findings about tokens for resetting repositories on github.com; none if no repository is listed."""
    if not library.repositories_file().is_file():
        return
    try:
        pools, tokens = library.repositories().fixtures, fixture_environment(environ)
        site = site_of(tokens)
    except (ConfigError, GitHubError) as error:
        yield Finding("github.com", "problem", f"trials on github.com are not possible: {error}", "docs/github-com.md")
        return
    for fixture, pool in pools.items():
        variables = [token_variable(user) for user in (pool.admin, *pool.accounts)]
        missing = [name for name in dict.fromkeys(variables) if not tokens.get(name, "").strip()]
        lanes = counted(len(pool.repositories), "repository", "repositories")
        if missing:
            what = f"{fixture}, {lanes}: these tokens are not set here: {', '.join(missing)}"
            yield Finding("github.com", "optional", what, "docs/github-com.md lists the rights that they need")
        else:
            yield Finding("github.com", "ok", f"{fixture}, {lanes} at {site}: all tokens are set")


def _runners() -> Iterator[Finding]:
    """Yield findings about the versions of self-hosted runners on this machine: `$/` paths need a recent runner."""
    for listener in sorted(_listeners()):
        version = _version(str(listener)) or ""
        parts = version.split(".")
        oldest = ".".join(map(str, _OLDEST_RUNNER))
        if all(part.isdecimal() for part in parts) and tuple(map(int, parts)) >= _OLDEST_RUNNER:
            yield Finding("runner", "ok", f"{version}, in {listener.parent.parent}")
        else:
            what = f"{listener} has version {version or 'unknown'}; the workflows' $/ paths need {oldest} or newer"
            yield Finding("runner", "problem", what, "https://github.com/actions/runner/releases")


def _listeners() -> set[Path]:
    """Return the paths of the runner programs (`Runner.Listener`) that wait for jobs on this machine."""
    words: list[str] = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # the process has ended
            words += path.read_bytes().decode(errors="replace").split("\0")[:2]
    return {Path(word) for word in words if word.endswith("/bin/Runner.Listener")}


def model_server_findings(library: Library, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Yield findings about the model server that the environment names, or those at this machine's usual ports.

    Args:
        library: its models' files show which served models can be used.
        environ: environment variables, which may contain the server's key.
    """
    variable = LocalServer.base_url_variable
    access = ProviderAccess.of(LOCAL_PROVIDER, environ)
    if access is None:
        for program, server, models in local_servers():
            what = f"a server answers at {server.base_url}, the port of {program}: {listed(models)}"
            yield Finding(_MODELS, "optional", what, f"export {variable}={server.base_url}; {_use_of(models, library)}")
        return
    server = ModelServer(access.base_url, access.bearer)
    try:
        models = server.models()
    except ToolError as error:
        yield Finding(_MODELS, "problem", str(error), f"unset {variable}, if you need no server of your own")
        return
    what = f"{variable} is {access.base_url}: {listed(models)}"
    lacks_file = not any(model.id in library.models() for model in models)
    yield Finding(_MODELS, "optional" if lacks_file else "ok", what, _use_of(models, library))
    if server.drops_tools():
        yield Finding(_MODELS, "optional", f"{access.base_url} drops tools", TOOLS_ADVICE)


def _use_of(models: Iterable[ServedModel], library: Library) -> str:
    """Return how to use the first model that has a file, or else how to write the file of the first model."""
    known = library.models()
    model = next((model for model in models if model.id in known), None)
    if model is not None:
        return f"scylla-gha evaluate hello-local --model {model.id}"
    model = next(iter(models), None)
    if model is None:
        return "load a model into it"
    window = model.context_tokens or "NUMBER"
    text = rf"id: {model.id}\nprovider: {LOCAL_PROVIDER}\ncontext_tokens: {window}\n"
    file = f"config/models/{slug(model.id)}.yaml"
    return f"mkdir -p config/models; printf '{text}' > {file}; scylla-gha evaluate hello-local --model {model.id}"


def providers_in_use(library: Library) -> list[str]:
    """Return the providers of the models in the experiments of the library's first root."""
    files = sorted((library.roots[0] / "config" / "experiments").glob("*.yaml"))
    providers: dict[str, None] = {}
    for file in files:
        with contextlib.suppress(ConfigError):  # `plan` reports the error
            providers.update(dict.fromkeys(used_providers(library.experiment(str(file)), library)))
    return list(providers)


def caller_findings(root: Path) -> Iterator[Finding]:
    """Yield findings about the versions of the toolkit that a working tree's workflows call."""
    called = _called(root)
    if not called and not (root / ".github/workflows/evaluate.yml").is_file():
        yield Finding("caller", "problem", "no workflow in this folder calls the toolkit", "scylla-gha init")
    if len(called) > 1:
        what = f"workflows call several versions: {', '.join(map(str, called))}"
        yield Finding("caller", "problem", what, "name the same version in all files of .github/workflows/")
    for toolkit in called:
        if toolkit.is_pinned:
            yield Finding("caller", "ok", f"calls {toolkit}")
        else:
            yield Finding("caller", "optional", f"calls {toolkit}; a tag or branch can be moved", _pin(toolkit))


def unpassed_key_findings(root: Path, providers: Iterable[str]) -> Iterator[Finding]:
    """Yield a finding for each workflow that passes secrets to the toolkit, but not a provider's key."""
    for file in sorted((root / ".github/workflows").glob("*.y*ml")):
        text = file.read_text(encoding="utf-8", errors="replace")
        if not toolkits_called(text) or "secrets:" not in text or "secrets: inherit" in text:
            continue
        for provider in (name for name in providers if PROVIDERS[name].needs_key):
            key = PROVIDERS[provider].credential_variables[0]
            if key not in text:
                what = f"{file.name} does not pass the secret {key}, so models of {provider} cannot be asked with a key"
                yield Finding("caller", "optional", what, f"add to its secrets: {key}: ${{{{ secrets.{key} }}}}")


def refused_pins(root: Path) -> Iterator[Finding]:
    """Yield findings about calls that GitHub refuses, for a repository that accepts only full SHAs."""
    for toolkit in _called(root):
        if not toolkit.is_pinned:
            what = f"the workflows here call {toolkit}, but this repository accepts only full SHAs"
            yield Finding("pins", "problem", what, _pin(toolkit))


def _pin(toolkit: Toolkit) -> str:
    return f"pin the commit: gh api repos/{toolkit.repository}/commits/{toolkit.ref} --jq .sha"


def _called(root: Path) -> list[Toolkit]:
    """Return the distinct versions of the toolkit that the workflows call."""
    # Skip reusable workflows of other repositories.
    return list(
        dict.fromkeys(
            toolkit
            for file in sorted((root / ".github/workflows").glob("*.y*ml"))
            for toolkit in toolkits_called(file.read_text(encoding="utf-8", errors="replace"))
            if toolkit.repository.endswith("/scylla-gha") or file.stem.startswith("scylla")
        )
    )


def readiness_findings(environ: Mapping[str, str]) -> Iterator[Finding]:
    """Yield a finding for each missing requirement of `readiness`, or one finding that all are met.

    Args:
        environ: environment variables, which may contain credentials of providers.
    """
    scripts = [program for program in _SCRIPTS if shutil.which(program) is None]
    boxes = [name for name, sandbox in SANDBOXES.items() if name != "host" and sandbox.missing_reason() is None]
    lacks = [*_missing_packages(), *_missing_agent(), *_missing_access(environ)]
    if not boxes:
        lacks.append(
            _lack(
                "sandbox: neither docker nor bubblewrap works, so tests and agents are not isolated",
                "see docker and bubblewrap above",
            )
        )
    if scripts:
        lacks.append(
            _lack(
                f"{' and '.join(scripts)} not on PATH: tests in JavaScript and TypeScript cannot be run",
                "https://nodejs.org/en/download",
            )
        )
    if lacks:
        yield from lacks
        return
    what = f"can measure Python, JavaScript and TypeScript with their tests, in {' or '.join(boxes)}, with {_AGENT}"
    yield Finding(_READINESS, "ok", what)


def _lack(what: str, mend: str) -> Finding:
    return Finding(_READINESS, "optional", what, mend)


def _missing_packages() -> Iterator[Finding]:
    missing = [name for name in _PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        yield _lack(f"the extra `readiness` is not installed: {', '.join(missing)}", installation("readiness"))


def _missing_agent() -> Iterator[Finding]:
    package = AGENTS[_AGENT].package
    try:
        find_agent(_AGENT, install=True)
    except ToolError as error:
        name = f" {package.id}" if package else ""
        yield _lack(
            f"agent CLI: {str(error).partition(';')[0]}",
            f"npm install --global{name}, or --agent {_AGENT}@VERSION, which fetches it",
        )


def _missing_access(environ: Mapping[str, str]) -> Iterator[Finding]:
    styles = AGENTS[_AGENT].api_styles
    variables = [missing_key(name, environ) for name in PROVIDERS if shared_style(styles, name)]
    if missing := [name for name in variables if name] if None not in variables else []:
        what = "no key of a model provider is set, so questions can be listed but not asked"
        yield _lack(what, f"export {' or '.join(f'{name}=...' for name in missing)}; oracle and nop need none")
