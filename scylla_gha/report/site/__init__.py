"""Build a page of the site: its path, its sections with charts, and tables that scripts fill.

Names of experiments and scenarios are untrusted, so unsafe names are replaced by hashes in paths.
"""

import base64
import hashlib
import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from scylla_gha.model import slug
from scylla_gha.model.publication import CommentFacts, RunName
from scylla_gha.report.charts.theme import Chart
from scylla_gha.report.document import Markdown, Section, escape
from scylla_gha.report.page import KeyFigure
from scylla_gha.report.page.html import PageLocation, blocks_html, data_script, html

OVERVIEW: Final = "index.html"
GLOSSARY: Final = "glossary.html"
_SAFE: Final = re.compile(r"[a-z0-9]+([._-][a-z0-9]+)*")
_LIKE_HASHED: Final = re.compile(r".*-[0-9a-f]{8}")
_RUN_FOLDER: Final = re.compile(r"v1/runs/[0-9]+/[0-9]+/(?P<experiment>[^/]+)/(?P<run>[^/]+)-(?P<attempt>[0-9]+)")
_MOST_CHARACTERS: Final = 80
_MOST_READABLE: Final = 40
Widget = Literal["", "trials", "pairs"]
HOME: Final = "Results"
_SCRIPTS: Final[dict[Widget, tuple[str, ...]]] = {
    "": ("basics.js", "plain.js"),
    "trials": ("basics.js", "side_by_side.js", "page.js"),
    "pairs": ("basics.js", "pairs.js"),
}


def file_name(name: str) -> str:
    """Return a unique file name for a name, safe on every file system."""
    if len(name) <= _MOST_CHARACTERS and _SAFE.fullmatch(name) and not _LIKE_HASHED.fullmatch(name):
        return name
    readable = slug(name)[:_MOST_READABLE].strip("-.").replace("..", ".") or "name"
    return f"{readable}-{hashlib.sha256(name.encode(errors='surrogatepass')).hexdigest()[:8]}"


def relative(target: str, page: str) -> str:
    """Return the relative address of a site's file for a link in `page`."""
    return posixpath.relpath(target, posixpath.dirname(page) or ".")


def page_link(text: str, target: str, page: str) -> Markdown:
    """Return a link to another page as Markdown."""
    return Markdown(f"[{escape(text) or 'without a name'}]({relative(target, page)})")


def data_path(page: str) -> str:
    """Return the path of the script with a page's data."""
    return f"data/{page.removesuffix('.html')}.js"


@dataclass(frozen=True, slots=True)
class ExperimentPaths:
    """Paths of an experiment's pages on the site."""

    experiment: str

    @property
    def home(self) -> str:
        """Path of the experiment's main page."""
        return self._path("index")

    @property
    def arms(self) -> str:
        """Path of the page that compares arms."""
        return self._path("arms")

    @property
    def tiers(self) -> str:
        """Path of the page on tiers."""
        return self._path("tiers")

    @property
    def judges(self) -> str:
        """Path of the page on judges."""
        return self._path("judges")

    def scenario(self, name: str) -> str:
        """Return the path of a scenario's page."""
        return self._path(f"scenarios/{file_name(name)}")

    def run(self, name: RunName) -> str:
        """Return the path of a run's page."""
        return self._path(f"runs/{file_name(f'{name.run}-{name.attempt}')}")

    def _path(self, name: str) -> str:
        return f"experiments/{file_name(self.experiment)}/{name}.html"


def report_page(facts: CommentFacts) -> str:
    """Return the address of the run's page on the site; empty if there is no site or the run is not published."""
    folder = _RUN_FOLDER.fullmatch(facts.folder)
    if folder is None or not facts.site:
        return ""
    name = RunName(experiment=folder["experiment"], run=folder["run"], attempt=int(folder["attempt"]))
    return f"{facts.site.rstrip('/')}/{ExperimentPaths(name.experiment).run(name)}"


@dataclass(frozen=True, slots=True)
class SiteFile:
    """A file of the site, with its path relative to the site."""

    path: str
    content: bytes


@dataclass(frozen=True, slots=True)
class SiteSection:
    """A section of a page.

    Attributes:
        content: title and blocks.
        charts: charts below the blocks.
        widget: table that a script fills; empty: none.
        figures: key figures below the heading.
    """

    content: Section
    charts: tuple[Chart, ...] = ()
    widget: Widget = ""
    figures: tuple[KeyFigure, ...] = ()


def site_section(content: Section, *charts: Chart | None, widget: Widget = "") -> SiteSection:
    """Return a section with its charts; None (no data for the chart) is skipped."""
    return SiteSection(content, tuple(chart for chart in charts if chart), widget)


@dataclass(frozen=True, slots=True)
class SitePage:
    """A page of the site, made of sections.

    Attributes:
        path: path relative to the site.
        title: heading of the page.
        name: name of the page in the breadcrumbs.
        trail: names and paths of the pages between the overview and this page.
        sections: sections of the page.
        lead: line below the heading.
        banner: warning that the trials were replayed or imported; empty: none.
        data: data for the page's script; None: none.
    """

    path: str
    title: str
    name: str
    sections: Sequence[SiteSection]
    trail: Sequence[tuple[str, str]] = ()
    lead: str = ""
    banner: str = ""
    data: object = None


def page_files(page: SitePage) -> Iterator[SiteFile]:
    """Yield the page, and the script with its data."""
    location, data_files = page_location(page.path, page.name, page.trail, page.data)
    yield from data_files
    shown = [part for part in page.sections if part.content.blocks or part.charts or part.widget]
    widget: Widget = next((part.widget for part in shown if part.widget), "")
    text = html(
        "site.html.j2",
        *_SCRIPTS[widget],
        location=location,
        title=page.title,
        lead=page.lead,
        banner=page.banner,
        sections=[(part, blocks_html(part.content.blocks, part.content.title)) for part in shown],
        widget=widget,
    )
    yield SiteFile(page.path, text.encode())


def page_location(
    path: str, name: str, trail: Sequence[tuple[str, str]], data: object
) -> tuple[PageLocation, tuple[SiteFile, ...]]:
    """Return the location of a page, and the file with its data, if any."""
    links = [(HOME, OVERVIEW), *trail] if path != OVERVIEW else []
    above = [(text, relative(target, path)) for text, target in links]
    if data is None:
        return PageLocation(name, above), ()
    file = SiteFile(data_path(path), data_script(data).encode())
    # The nonce is a digest of the data, so the data cannot contain it.
    nonce = base64.urlsafe_b64encode(hashlib.sha256(file.path.encode() + file.content).digest()[:18]).decode()
    return PageLocation(name, above, relative(file.path, path), nonce), (file,)
