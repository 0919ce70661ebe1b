"""Prove MCP servers: each starts in the sandbox and offers exactly the tools that its file declares.

A proof can be recorded under a digest of its inputs: the server's files, which pin its packages, the sandbox with its
image, the program that asks for the tools, and the system whose programs the server may start.
"""

import hashlib
import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from scylla_gha.agents import mcp_client
from scylla_gha.config.library import Library
from scylla_gha.config.materials import materials, server_folders
from scylla_gha.counting import counted
from scylla_gha.errors import ScenarioInvalidError
from scylla_gha.images import SandboxPool
from scylla_gha.model import digest
from scylla_gha.model.plan import Arm
from scylla_gha.model.sandbox import Tools
from scylla_gha.model.variant import AgentResources, McpServer, Treatment, Variant
from scylla_gha.prepare.mcp_packages import install_server, installed_programs, packaged_servers
from scylla_gha.prepare.tools import cache_root, search_path
from scylla_gha.prepare.workspace import scratch
from scylla_gha.providers.base import parse_object
from scylla_gha.sandboxes import SANDBOXES
from scylla_gha.sandboxes.base import SandboxMounts, SandboxTarget, names_inside
from scylla_gha.system import process
from scylla_gha.system.process import ProcessLimits, ProcessStreams
from scylla_gha.validate import Report, record_proof, recorded_proof, system_facts
from scylla_gha.variants import agent_resources

_SECONDS: Final = 60  # for a server to list its tools
_SHOWN: Final = 1000  # characters of a server's standard error
_MEGA: Final = 1_000_000


def servers_under(library: Library, path: Path) -> list[str]:
    """Return the names of the MCP servers in a folder, or in the folder of a file."""
    return [
        name
        for name, folder in server_folders(library.roots).items()
        if path in (folder, *folder.parents) or folder in path.parents
    ]


def used_servers(library: Library) -> list[str]:
    """Return the sorted names of the MCP servers that any variant uses."""
    return sorted({name for variant in library.variants().values() for name in variant.treatment.mcp_servers})


def check_servers(library: Library, names: Sequence[str]) -> None:
    """Check the files of MCP servers, without starting any.

    Raises:
        ConfigError: a file or a lock is invalid.
    """
    materials(Treatment(mcp_servers=tuple(names)), library.roots)


def prove_servers(
    library: Library, names: Sequence[str], sandboxes: SandboxPool, report: Report, *, skip_proved: bool
) -> None:
    """Start MCP servers one after the other, compare their tools with the declared ones, and report each.

    Args:
        library: library with the servers.
        names: names of the servers to start.
        sandboxes: sandbox in which the servers run.
        report: function that prints a line for each server.
        skip_proved: True: skip servers with a recorded proof, and record new proofs.

    Raises:
        ScenarioInvalidError: a server does not start, or offers other tools than declared.
        ToolError: a server's packages cannot be installed.
    """
    sandboxes.check()
    faults = []
    for name in names:
        variant = Variant(
            id=f"mcp/{name}",
            treatment=Treatment(mcp_servers=(name,)),
            materials=materials(Treatment(mcp_servers=(name,)), library.roots),
        )
        arm = Arm(id=f"mcp-{name}", agent="nop", version="1", variant=variant)
        key = _proof_key(variant, arm, sandboxes)
        if skip_proved and (earlier := recorded_proof(key)) is not None:
            report(f"ok, proved before: mcp/{name}: {earlier}")
            continue
        resources = agent_resources(variant, library.roots)
        answer = _start(name, resources, sandboxes.target(Tools(), arm))
        server, text = resources.mcp_servers[name], _description(answer, resources)
        fault = answer.get("fault") or _differences(server, answer["tools"])
        report(f"{'NOT OK' if fault else 'ok'}: mcp/{name}: {text}")
        if fault:
            faults.append(f"{resources.folders[f'mcp/{name}'] / 'server.yaml'}: {fault}")
        elif skip_proved:
            record_proof(key, text)
    if faults:
        raise ScenarioInvalidError("\n".join(faults))


def _start(name: str, resources: AgentResources, target: SandboxTarget) -> dict[str, Any]:
    """Start a server on an empty repository; return its tools and the seconds until they were listed, or the fault."""
    sandbox = target.sandbox
    programs = {} if sandbox.needs_image else installed_programs(resources, cache_root())
    on_host = {} if sandbox.isolates_files else {inside: str(path) for inside, path in programs.items()}
    with scratch() as root:
        workspace, home = root / "workspace", root / "home"
        process.capture(["git", "init", "--quiet", str(workspace)])
        folder = home / "mcp" / name
        shutil.copytree(resources.folders[f"mcp/{name}"], folder)
        mounts = SandboxMounts(
            workspace, home, search_path(Tools(), cache_root()), image=target.image, keep=False, programs=programs
        )
        names = names_inside(sandbox, mounts)
        inside = f"{names[home]}/mcp/{name}"
        command = resources.mcp_servers[name].started(name, inside, names[workspace], on_host)
        spec = json.dumps({**asdict(command), "seconds": _SECONDS})
        streams = ProcessStreams(root / "stdout", root / "stderr", Path(mcp_client.__file__))
        finished = sandbox.run(("python3", "-I", "-", "tools", spec), mounts, streams, ProcessLimits(2.0 * _SECONDS))
        errors = streams.stderr.read_text(encoding="utf-8", errors="replace").strip()[-_SHOWN:]
        lines = streams.stdout.read_text(encoding="utf-8", errors="replace").splitlines()
    answer = (parse_object(lines[-1]) if lines else None) or {"fault": f"exit code {finished.code}"}
    if "fault" in answer:
        advice = "correct its command, arguments or packages"
        return {"fault": f"{answer['fault']}; {advice}. It wrote: {errors or 'nothing'}"}
    return answer


def _differences(server: McpServer, tools: Sequence[str]) -> str | None:
    """Return how a server's tools differ from the declared ones; None if they are equal."""
    if server.tools is None:
        return None if tools else "tools: it offers none; correct its arguments, or remove it"
    missing, added = sorted(set(server.tools) - set(tools)), sorted(set(tools) - set(server.tools))
    parts = [("does not offer", missing), ("also offers", added)]
    faults = [f"{what} {', '.join(names)}" for what, names in parts if names]
    return f"tools: it {', and it '.join(faults)}; correct the list, or pin another version" if faults else None


def _description(answer: dict[str, Any], resources: AgentResources) -> str:
    """Return the number of tools, the time until they were listed, and the size and time of the installation."""
    if "fault" in answer:
        return "does not start"
    texts = [f"{counted(len(answer['tools']), 'tool')} in {answer['seconds']:.1f} s"]
    for server in packaged_servers(resources):
        installed = install_server(server, cache_root())
        texts.append(f"{installed.bytes / _MEGA:.0f} MB, installed in {installed.seconds:.1f} s")
    return ", ".join(texts)


def _proof_key(variant: Variant, arm: Arm, sandboxes: SandboxPool) -> str:
    image = sandboxes.image(Tools(), arm).digest if SANDBOXES[sandboxes.sandbox].needs_image else ""
    probe = hashlib.sha256(Path(mcp_client.__file__).read_bytes()).hexdigest()
    return digest(
        {
            "server": variant.materials,
            "sandbox": [sandboxes.sandbox, image],
            "probe": probe,
            "system": system_facts(),
        }
    )
