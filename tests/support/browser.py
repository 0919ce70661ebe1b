"""Chromium of the system, driven by Playwright, that notes errors and requests; and axe-core from npm."""

import contextlib
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import Browser, Page, expect, sync_playwright

from scylla_gha.prepare.tools import cache_root, locked

AXE_VERSION = "4.14.1"
WAIT_MILLISECONDS = 60_000
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync")  # fmt: skip
ColorScheme = Literal["light", "dark"]


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    assert program, "the tests of pages need Chromium: sudo apt-get install chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(FLAGS))
        yield browser
        browser.close()


@dataclass
class OpenPage:
    """A page in the browser, with what it complained about and asked for."""

    page: Page
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def texts(self, selector: str) -> list[str]:
        return self.page.locator(selector).all_inner_texts()

    def axe(self) -> list[str]:
        """The rules of axe-core that the page violates, each with the first element that does."""
        self.page.evaluate(_axe())
        violations: list[dict[str, Any]] = self.page.evaluate("axe.run().then(result => result.violations)")
        return [f"{violation['id']}: {violation['nodes'][0]['html'][:300]}" for violation in violations]


@contextlib.contextmanager
def opened(
    browser: Browser, url: str, *, width: int = 1100, scheme: ColorScheme = "light", further: Path | None = None
) -> Iterator[OpenPage]:
    """Open an address; afterwards, require that nothing complained and that no request left the page.

    Requests for files of the folder `further` are allowed too.
    """
    with contextlib.closing(
        browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    ) as context:
        context.set_default_timeout(WAIT_MILLISECONDS)
        expect.set_options(timeout=WAIT_MILLISECONDS)
        open_page = OpenPage(context.new_page())
        open_page.page.on("console", lambda message: open_page.errors.append(f"{message.type}: {message.text}"))
        open_page.page.on("pageerror", lambda error: open_page.errors.append(str(error)))
        open_page.page.on("dialog", lambda dialog: open_page.errors.append(f"dialog: {dialog.message}"))
        open_page.page.on("request", lambda request: open_page.requests.append(request.url))
        open_page.page.goto(url)
        open_page.page.wait_for_selector("html[data-ready]")
        yield open_page
        assert open_page.errors == []
        address = url.partition("#")[0]
        inside = f"{further.as_uri()}/" if further else address
        left = {request.partition("#")[0] for request in open_page.requests} - {address, "data:,"}
        assert {request for request in left if not request.startswith(inside)} == set()


def _axe() -> str:
    stored = cache_root() / "axe" / f"axe-{AXE_VERSION}.js"
    with locked(stored):
        if not stored.exists():
            stored.parent.mkdir(parents=True, exist_ok=True)
            stored.write_bytes(_packed_axe(stored.parent))
    return stored.read_text(encoding="utf-8")


def _packed_axe(folder: Path) -> bytes:
    argv = ["npm", "pack", "--silent", "--pack-destination", str(folder), f"axe-core@{AXE_VERSION}"]
    subprocess.run(argv, check=True, capture_output=True, timeout=600)
    package = folder / f"axe-core-{AXE_VERSION}.tgz"
    with tarfile.open(package) as packed:
        file = packed.extractfile("package/axe.min.js")
        assert file is not None
        source = file.read()
    package.unlink()
    return source
