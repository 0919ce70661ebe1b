"""Local server of a folder of runs: their progress, their pages and their files, on loopback only.

A web site cannot read it through a name that it points to loopback (DNS rebinding): the Host header must be loopback's.
Files of trials were written by agents, so all but the toolkit's pages are served as plain text in a sandbox.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler

from scylla_gha.errors import ToolError
from scylla_gha.pipeline.run_progress import live_trial, run_progress, runs_in
from scylla_gha.providers import KEYS, provider_environment
from scylla_gha.redaction import Redactor
from scylla_gha.redaction.patterns import secrets_in
from scylla_gha.report.page.progress_page import live_page, run_progress_page, runs_page
from scylla_gha.store.run_folder import RunFolder

_HEADERS: Final = {
    "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin", "X-Frame-Options": "DENY",
}  # fmt: skip
_TEXT: Final = {"Content-Type": "text/plain; charset=utf-8", "Content-Security-Policy": "default-src 'none'; sandbox"}
_PAGE: Final = {"Content-Type": "text/html; charset=utf-8"}  # it has a policy of its own inside


def serve_runs(root: Path, port: int, announce: Callable[[str], None]) -> None:
    """Serve the runs in a folder until the process is interrupted.

    Args:
        root: folder that holds one folder for each run.
        port: on loopback; 0 is a free one.
        announce: gets the address when it is served.

    Raises:
        ToolError: the port is not free.
    """
    asyncio.run(_serve(root.resolve(), port, announce))


async def _serve(root: Path, port: int, announce: Callable[[str], None]) -> None:
    server = _RunServer(root)
    application = web.Application(middlewares=[server.guard])
    application.add_routes([web.get("/", server.runs), web.get("/{run}/", server.progress),
                            web.get("/{run}/{cell}/live", server.live),
                            web.get("/{run}/{path:.+}", server.file)])  # fmt: skip
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
    """Handlers of the server, which share the folder and the port."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._redactor = Redactor(secrets_in(provider_environment(), KEYS)[0].values())
        self.port = 0

    @web.middleware
    async def guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuse requests by another name of this machine, and set headers on every answer."""
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
        """Answer with the newest messages of a trial that goes on."""
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
