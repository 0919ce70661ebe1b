"""Local server of a folder of runs: their progress, their pages and their files, on loopback only.

The Host header must name loopback, so that no web site can read the server by DNS rebinding. Agents wrote the files of
trials, so all files except the toolkit's pages are served as plain text in a sandbox.
"""

import asyncio
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler

from scylla_gha.agents import AGENTS
from scylla_gha.errors import ConfigError, ToolError
from scylla_gha.gateway.log import summarise_traffic
from scylla_gha.model.judgment import Judgment
from scylla_gha.model.plan import Cell, Plan
from scylla_gha.model.trial import Trajectory, Trial
from scylla_gha.providers import CREDENTIAL_VARIABLES, provider_environment
from scylla_gha.redaction import RedactionSession, Redactor
from scylla_gha.redaction.patterns import secrets_in
from scylla_gha.report.page.progress_page import (
    CellProgress,
    CellState,
    LiveTrial,
    RunProgress,
    live_page,
    run_progress_page,
    runs_page,
)
from scylla_gha.store import read_record
from scylla_gha.store.run_folder import CellFolder, RunFolder, lock_holder

_HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Frame-Options": "DENY",
}
_TEXT: Final = {"Content-Type": "text/plain; charset=utf-8", "Content-Security-Policy": "default-src 'none'; sandbox"}
_PAGE: Final = {"Content-Type": "text/html; charset=utf-8"}  # the page contains its own policy
_SHOWN_STEPS: Final = 30  # latest steps of a running trial
_REMEMBERED: Final = 100_000  # maximum number of judged cells whose state is cached


def serve_runs(root: Path, port: int, announce: Callable[[str], None]) -> None:
    """Serve the runs in a folder until the process is interrupted.

    Args:
        root: folder with one folder per run.
        port: port on loopback; 0: any free port.
        announce: called with the address once the server listens.

    Raises:
        ToolError: the port is not free.
    """
    asyncio.run(_serve(root.resolve(), port, announce))


async def _serve(root: Path, port: int, announce: Callable[[str], None]) -> None:
    server = _RunServer(root)
    application = web.Application(middlewares=[server.guard])
    application.add_routes(
        [
            web.get("/", server.runs),
            web.get("/{run}/", server.progress),
            web.get("/{run}/{cell}/live", server.live),
            web.get("/{run}/{path:.+}", server.file),
        ]
    )
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", port).start()
        server.port = runner.addresses[0][1]
        announce(f"http://127.0.0.1:{server.port}/")
        await asyncio.Event().wait()
    except OSError as error:
        raise ToolError(f"127.0.0.1:{port}: {error.strerror}; choose another port with --port") from None
    finally:
        await runner.cleanup()


class _RunServer:
    """Request handlers of the server, with its folder and port."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._redactor = Redactor(secrets_in(provider_environment(), CREDENTIAL_VARIABLES)[0].values())
        self.port = 0

    @web.middleware
    async def guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuse requests with another host name, and set headers on every answer."""
        if request.headers.get("Host") not in {f"127.0.0.1:{self.port}", f"localhost:{self.port}"}:
            return web.Response(status=403, text="use 127.0.0.1 or localhost as host name\n", headers=_HEADERS)
        response = await handler(request)
        response.headers.update(_HEADERS)
        return response

    async def runs(self, _: web.Request) -> web.Response:
        """Answer with the list of runs."""
        text = await asyncio.to_thread(lambda: runs_page([run_progress(folder) for folder in runs_in(self._root)]))
        return web.Response(text=text, headers=_PAGE)

    async def progress(self, request: web.Request) -> web.Response:
        """Answer with the progress of one run."""
        folder = self._folder(request)
        text = await asyncio.to_thread(lambda: run_progress_page(run_progress(folder)))
        return web.Response(text=text, headers=_PAGE)

    async def live(self, request: web.Request) -> web.Response:
        """Answer with the newest messages of a running trial."""
        folder, cell = self._folder(request), request.match_info["cell"]
        trial = await asyncio.to_thread(lambda: live_trial(folder, cell, self._redactor))
        if trial is None:
            raise web.HTTPNotFound(text="no agent was started on such a cell\n")
        return web.Response(text=live_page(trial), headers=_PAGE)

    async def file(self, request: web.Request) -> web.StreamResponse:
        """Answer with a file of a run; links are not followed."""
        folder, name = self._folder(request), request.match_info["path"]
        path = folder.root / name
        if path.is_dir() and path.resolve() == path:
            listing = "".join(f"{entry.relative_to(path)}\n" for entry in sorted(path.rglob("*")) if entry.is_file())
            return web.Response(text=listing, headers=_TEXT)
        if path.resolve() != path or not path.is_file():
            raise web.HTTPNotFound(text="there is no such file\n")
        return web.FileResponse(path, headers=_PAGE if path == folder.report("html") else _TEXT)

    def _folder(self, request: web.Request) -> RunFolder:
        name = request.match_info["run"]
        folder = next((folder for folder in runs_in(self._root) if folder.root.name == name), None)
        if folder is None:
            raise web.HTTPNotFound(text="there is no such run\n")
        return folder


def runs_in(root: Path) -> list[RunFolder]:
    """Return the folders below `root` with a plan, the newest plan first."""
    folders = [RunFolder(path) for path in root.glob("*/") if not path.is_symlink()]
    planned = [folder for folder in folders if folder.plan.is_file()]
    return sorted(planned, key=lambda folder: -folder.plan.stat().st_mtime)


def run_progress(folder: RunFolder) -> RunProgress:
    """Read the progress of a run; an unreadable plan counts as empty."""
    cells = tuple(CellProgress(cell.id, _cell_state(folder.cell(cell.id), cell)) for cell in _cells(folder))
    is_locked = lock_holder(folder.root.stat()) is not None
    return RunProgress(folder.root.name, cells, is_locked, folder.report("html").is_file())


def _cells(folder: RunFolder) -> tuple[Cell, ...]:
    try:
        return _planned(folder.plan, folder.plan.stat().st_mtime_ns)
    except (ConfigError, OSError):
        return ()


@functools.lru_cache(maxsize=100)
def _planned(path: Path, changed: int) -> tuple[Cell, ...]:  # noqa: ARG001 a changed file is another key
    plan = read_record(path, Plan)
    return plan.cells if plan else ()


def _cell_state(folder: CellFolder, cell: Cell) -> CellState:
    try:
        if folder.judgment.is_file() and folder.trial.is_file():
            return _judged_state(folder, folder.judgment.stat().st_mtime_ns, folder.trial.stat().st_mtime_ns, cell.key)
        trial = read_record(folder.trial, Trial)
    except (ConfigError, OSError):
        return "unreadable"
    if trial is not None and trial.key == cell.key:
        return "judging" if trial.outcome.measures_agent else "excluded"
    return "working" if folder.cell.is_file() else "waiting"


@functools.lru_cache(maxsize=_REMEMBERED)
def _judged_state(folder: CellFolder, judged: int, ended: int, key: str) -> CellState:  # noqa: ARG001 parts of the cache's key
    trial, judgment = read_record(folder.trial, Trial), read_record(folder.judgment, Judgment)
    if trial is None or trial.key != key:
        return "working"
    if not trial.outcome.measures_agent:
        return "excluded"
    if judgment is None or judgment.trial_key != key:
        return "judging"
    if judgment.result is None:
        return "unjudged"
    return "passed" if judgment.result.passed else "failed"


def live_trial(folder: RunFolder, cell_id: str, redactor: Redactor) -> LiveTrial | None:
    """Read the conversation of a cell's last attempt so far, without secrets; None: no attempt was started.

    Secrets are removed in memory, since they are removed from the file only when the attempt ends.
    """
    plan = read_record(folder.plan, Plan)
    cell = next((cell for cell in plan.cells if cell.id == cell_id), None) if plan else None
    attempts = folder.cell(cell_id).attempts() if cell else []
    if plan is None or cell is None or not attempts:
        return None
    transcript = attempts[-1].file("transcript.jsonl")
    is_plain = transcript.is_file() and not transcript.is_symlink()  # the agent may have replaced it
    steps = AGENTS[plan.arm(cell.arm).agent].conversation(transcript).steps if is_plain else ()
    newest = RedactionSession(redactor).record(Trajectory(steps=steps[-_SHOWN_STEPS:])).steps
    traffic = summarise_traffic(attempts[-1].file("traffic.jsonl"))
    prompt = attempts[-1].file("prompt.md")
    return LiveTrial(
        cell=cell_id,
        task=prompt.read_text(encoding="utf-8", errors="replace") if prompt.is_file() else None,
        steps=len(steps),
        newest=newest,
        requests=traffic.requests,
        usd=traffic.usage.usd,
        is_running=lock_holder(folder.root.stat()) is not None and _cell_state(folder.cell(cell_id), cell) == "working",
    )
