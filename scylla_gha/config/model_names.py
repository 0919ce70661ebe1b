"""Names of models: aliases and other platforms' forms are converted to model ids where that is certain.

| form | example | source (2026-11-27) |
|---|---|---|
| alias without the date | `claude-sonnet-4-5` | platform.claude.com/docs, models overview: Claude API alias |
| Bedrock | `us.anthropic.claude-sonnet-4-5-20250929-v1:0` | the same, AWS Bedrock ID; AWS, inference profiles |
| Google Cloud | `claude-sonnet-4-5@20250929` | the same, GCP Vertex AI ID |
| a router's prefix | `anthropic/claude-sonnet-4.5`, `bedrock/...` | model lists of OpenRouter, Vercel and LiteLLM |

It is certain if, without these parts, exactly one known id matches: the name itself, or the name and a date. Everything
else stays unknown: short names (`sonnet`), whose model depends on the CLI's version, `-latest`, variants such as `[1m]`
and `:thinking`, ARNs, and dates other than the known one.
"""

import ast
import difflib
import functools
import importlib.util
import re
from collections.abc import Collection
from pathlib import Path
from typing import Final

_LONGEST: Final = 200  # characters of a name; longer ones are unknown, since agents choose names
_ROUTE: Final = re.compile(r"(?:(?:openrouter|anthropic|bedrock|vertex_ai|vertex)/){1,3}")
_BEDROCK: Final = re.compile(
    r"(?:(?:us|eu|apac|global|au|jp|us-gov)\.)?anthropic\.(claude-[a-z0-9-]+?)(?:-v\d(?::\d)?)?"
)
_GOOGLE: Final = re.compile(r"(claude-[a-z0-9-]+)@(\d{8})")
_DOTTED: Final = re.compile(r"(?<=\d)\.(?=\d)")
_DATED: Final = re.compile(r"-\d{8}")
_NEAREST: Final = 3
SDK_PROVIDER: Final = "anthropic"  # provider whose SDK lists its models
LOCAL_PROVIDER: Final = "local"  # the user's own server, whose models cost nothing
_SHORT: Final = 4  # characters of a short name such as `opus`


def resolved_model(name: str, known: Collection[str]) -> str | None:
    """Return the model id that a name stands for; None if it is ambiguous or unknown."""
    if name in known:
        return name
    plain = _plain_name(name)
    dated = [id_ for id_ in known if id_.startswith(plain) and _DATED.fullmatch(id_, len(plain))]
    if plain in known:
        return plain
    return dated[0] if len(dated) == 1 else None


def nearest_models(name: str, known: Collection[str]) -> str:
    """Return the known ids most similar to a name, for a message: `; the nearest are a and b`."""
    plain = _plain_name(name)
    near = difflib.get_close_matches(plain, sorted(known), n=_NEAREST, cutoff=0.6)
    near = near or sorted(id_ for id_ in known if len(plain) >= _SHORT and plain in id_)[-_NEAREST:]
    if not near:
        return ""
    return f"; the nearest {'is' if len(near) == 1 else 'are'} {', '.join(near)}"


def _plain_name(name: str) -> str:
    """Return a name as the Claude API has it, without the additions of platforms and routers."""
    plain = name[:_LONGEST]
    if route := _ROUTE.match(plain):
        plain = plain[route.end() :]
    if bedrock := _BEDROCK.fullmatch(plain):
        return bedrock[1]
    if google := _GOOGLE.fullmatch(plain):
        return f"{google[1]}-{google[2]}"
    return _DOTTED.sub("-", plain)


@functools.cache
def sdk_models() -> frozenset[str]:
    """Return all model ids of `anthropic.types.model_param`; empty if a release stores them otherwise."""
    spec = importlib.util.find_spec("anthropic")
    file = Path(spec.origin).parent / "types" / "model_param.py" if spec and spec.origin else None
    if file is None or not file.is_file():
        return frozenset()
    return literals(file.read_text(encoding="utf-8"))


def literals(source: str) -> frozenset[str]:
    """Return the strings in every `Literal[...]` of a module."""
    subscripts = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Subscript))
    slices = (node.slice for node in subscripts if isinstance(node.value, ast.Name) and node.value.id == "Literal")
    constants = (constant for part in slices for constant in ast.walk(part) if isinstance(constant, ast.Constant))
    return frozenset(constant.value for constant in constants if isinstance(constant.value, str))
