"""Paths of the site's files: names of experiments and scenarios may be hostile, so only safe ones stay."""

import hashlib
import posixpath
import re
from dataclasses import dataclass
from typing import Final

from scylla_gha.model import slug
from scylla_gha.model.publication import RunName
from scylla_gha.report.document import Markdown, escape

OVERVIEW: Final = "index.html"
GLOSSARY: Final = "glossary.html"
_SAFE: Final = re.compile(r"[a-z0-9]+([._-][a-z0-9]+)*")
_LIKE_HASHED: Final = re.compile(r".*-[0-9a-f]{8}")
_MOST_CHARACTERS: Final = 80
_MOST_READABLE: Final = 40


def file_name(name: str) -> str:
    """Return a name that is safe on every file system, and that no other name gets."""
    if len(name) <= _MOST_CHARACTERS and _SAFE.fullmatch(name) and not _LIKE_HASHED.fullmatch(name):
        return name
    readable = slug(name)[:_MOST_READABLE].strip("-.").replace("..", ".") or "name"
    return f"{readable}-{hashlib.sha256(name.encode(errors='surrogatepass')).hexdigest()[:8]}"


def relative(target: str, page: str) -> str:
    """Return the address of a file of the site for a link in one of its pages."""
    return posixpath.relpath(target, posixpath.dirname(page) or ".")


def page_link(text: str, target: str, page: str) -> Markdown:
    """Return a link to another page as Markdown."""
    return Markdown(f"[{escape(text) or 'without a name'}]({relative(target, page)})")


def data_path(page: str) -> str:
    """Return the path of the script with a page's data."""
    return f"data/{page.removesuffix('.html')}.js"


@dataclass(frozen=True, slots=True)
class ExperimentPaths:
    """Paths of one experiment's pages."""

    experiment: str

    @property
    def home(self) -> str:
        """Path of the experiment's own page."""
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
