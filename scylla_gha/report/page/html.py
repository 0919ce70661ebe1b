"""HTML from templates: a template's values are escaped, and a policy allows its style and script by their hashes."""

import base64
import gzip
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson

from scylla_gha.model.printable_text import visible
from scylla_gha.report.charts.theme import palette_css

if TYPE_CHECKING:
    from jinja2 import Environment

_TEMPLATES: Final = Path(__file__).parents[1] / "templates"


@dataclass(frozen=True, slots=True)
class PagePlace:
    """Place of a page among others: a trail of links to those above it, and the file of its data.

    Attributes:
        name: of the page, in the trail.
        trail: names and addresses of the pages above it.
        data: address of the script with its data; empty: none.
        nonce: what allows that script. Nobody who wrote a part of the data can know it beforehand.
    """

    name: str
    trail: Sequence[tuple[str, str]] = ()
    data: str = ""
    nonce: str = ""


def html(template: str, *scripts: str, location: PagePlace | None = None, **values: Any) -> str:  # noqa: ANN401 values of the template
    """Fill a template with its values, the style sheet of all pages, and scripts.

    Args:
        template: its name in the folder `templates`.
        scripts: names of scripts there, which become one; without any, the page has none.
        location: where the page is among others; None: it stands alone.
        values: of the template.
    """
    style = _source("page.css").replace("/*light*/", palette_css("light")).replace("/*dark*/", palette_css("dark"))
    code = "".join(map(_source, scripts))
    allowed = _hash(code) if code else "'none'"
    if location and location.data:
        allowed += f" 'nonce-{location.nonce}'"
    policy = (
        f"default-src 'none'; script-src {allowed}; style-src {_hash(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return (
        _environment()
        .get_template(template)
        .render(style=style, script=code, policy=policy, location=location, **values)
    )


def packed(value: object) -> str:
    """Return plain data or dataclasses as base64 of compressed JSON, so no text of it is read as HTML or script."""
    return base64.b64encode(gzip.compress(orjson.dumps(value), 6, mtime=0)).decode()


def data_script(value: object) -> str:
    """Return the script that hands data to a page; a page in a file may load scripts, but not fetch."""
    return f'globalThis.scyllaData = "{packed(value)}";\n'


@cache
def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@cache
def _source(name: str) -> str:
    loader = _environment().loader
    if loader is None:
        raise TypeError("the environment of pages has a loader")
    return loader.get_source(_environment(), name)[0]


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        finalize=_without_hidden_characters,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _without_hidden_characters(value: object) -> object:
    return value if hasattr(value, "__html__") else visible(str(value))
