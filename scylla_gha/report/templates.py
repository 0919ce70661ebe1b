"""Markdown from templates: values are escaped, except text that code made as `Markdown`."""

import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scylla_gha.counting import counted, dollars
from scylla_gha.report.document import code, escape, more, names
from scylla_gha.report.numbers import clipped, number, percent

if TYPE_CHECKING:
    from jinja2 import Environment


def render(template: str, values: Mapping[str, Any]) -> str:
    """Fill a template of the folder `templates`; paragraphs are separated by one empty line."""
    return tidy(_environment().get_template(template).render(values))


def render_parts(template: str, values: Mapping[str, Any]) -> dict[str, str]:
    """Fill a template that consists of `{% call part(NAME) %}`; return the text of each, without empty lines around."""
    parts: dict[str, str] = {}

    def part(name: str, caller: Callable[[], str]) -> str:
        parts[name] = caller().strip("\n")
        return ""

    _environment().get_template(template).render({**values, "part": part})
    return parts


def tidy(text: str) -> str:
    """Return text without repeated empty lines, and with one newline at its end."""
    return re.sub(r"\n{3,}", "\n\n", text).strip("\n").rstrip() + "\n"


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).with_name("templates")),
        autoescape=True,
        finalize=_escaped,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals |= {
        "code": code,
        "counted": counted,
        "dollars": dollars,
        "more": more,
        "number": number,
        "percent": percent,
    }
    environment.filters |= {"clipped": clipped, "names": names}
    return environment


def _escaped(value: object) -> object:
    return value if hasattr(value, "__html__") else escape(str(value))
