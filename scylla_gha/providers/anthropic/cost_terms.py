"""Cost terms of a request of the Messages API: the parts that decide its cost and its permissions.

The estimate of a prompt is too low only if text has more than one token per two bytes, or for what the provider's own
tools add to the prompt (docs/budgets.md).
"""

import re
from collections.abc import Iterator
from typing import Final

from scylla_gha.model.traffic import ServerToolUse
from scylla_gha.providers.base import Body, CostTerms, objects

_BYTES_PER_TOKEN: Final = 2
# An image is cut into patches of 28 x 28 pixels, 2,576 pixels at its long edge and 4,784 patches at most
# (platform.claude.com/docs, vision, 2026-11-22). A PDF may have 600 pages, each an image and up to 3,000 tokens of text
# (PDF support, the same day), which fills any model's context: it is taken for that.
_IMAGE_TOKENS: Final = 4_784
_PDF_TOKENS: Final = 600 * (_IMAGE_TOKENS + 3_000)
_USES: Final = 10  # of a provider's tool, if the request sets no bound
# Kinds of tools that the client runs, and the search among tools that the request itself declares.
_CLIENT_TOOLS: Final = re.compile(
    r"custom|(bash|text_editor|computer|computer_toolset|memory|tool_search_tool_(bm25|regex))_\d{8}"
)
# Edits of a prompt that leave something out of it (platform.claude.com/docs, context editing, 2026-11-22). Others make
# the provider read it once more (compact_20260112), for an answer that max_tokens do not limit.
_CLEARING_EDITS: Final = re.compile(r"clear_(tool_uses|thinking)_\d{8}")
_VERSION: Final = re.compile(r"_\d{8}$")
_SOURCES: Final = frozenset({"base64", "text", "content"})  # that are in the request, and not fetched
_USUAL: Final = ServerToolUse()
_STATE: Final = ("mcp_servers", "container", "thread")  # held or reached by the provider, so not in the request


def cost_terms(content: Body, size: int, *, caches: bool) -> CostTerms:
    """Read the terms of a request.

    Args:
        content: the parsed request.
        size: its length in bytes.
        caches: it may ask that parts of it are cached.
    """
    parts = _CostedParts(content)
    text_tokens = -(-max(0, size - parts.encoded_bytes) // _BYTES_PER_TOKEN)
    return CostTerms(
        max_tokens=content.get("max_tokens"),
        prompt_tokens=text_tokens + parts.images * _IMAGE_TOKENS + parts.documents * _PDF_TOKENS,
        caches=caches,
        use=_use(content, parts.searches),
        uses=parts.uses,
        tools=frozenset(parts.tools),
        fallbacks=_fallbacks(content),
        edits=_edits(content),
    )  # fmt: skip


def _use(content: Body, searches: int) -> ServerToolUse:
    speed, tier = _word(content, "speed", _USUAL.speed), _tier(content)
    region = _word(content, "inference_geo", _USUAL.region)
    if (speed, tier, region, searches) == (_USUAL.speed, _USUAL.tier, _USUAL.region, 0):
        return _USUAL
    return ServerToolUse(speed=speed, tier=tier, region=region, searches=searches)


class _CostedParts:
    """The parts of a request that cost more than their text, collected on one walk through it."""

    def __init__(self, content: Body) -> None:
        self.encoded_bytes = self.images = self.documents = self.uses = self.searches = 0
        self.tools = {key for key in _STATE if content.get(key)}
        for tool in objects(content.get("tools")):
            self._tool(tool)
        self._blocks(content.get("system"))
        for message in objects(content.get("messages")):
            self._blocks(message.get("content"))

    def _tool(self, tool: Body) -> None:
        kind = tool.get("type")
        if kind is None or (isinstance(kind, str) and _CLIENT_TOOLS.fullmatch(kind)):
            return
        name = _VERSION.sub("", str(kind))
        uses = tool.get("max_uses")
        bound = uses if isinstance(uses, int) and uses >= 0 else _USES
        self.tools.add(name)
        self.uses += bound
        self.searches += bound if name == "web_search" else 0

    def _blocks(self, blocks: object) -> None:
        for block in objects(blocks):
            match block.get("type"):
                case "image" | "document":
                    self._source(block)
                case "tool_addition":
                    for tool in _inline(block):
                        self._tool(tool)
                case "container_upload":
                    self.tools.add("container")
                case _:
                    self._blocks(block.get("content"))

    def _source(self, block: Body) -> None:
        source = block.get("source")
        source = source if isinstance(source, dict) else {}
        if source.get("type") not in _SOURCES:
            self.tools.add(f"{source.get('type')}_source")
        elif source.get("type") == "content":
            self._blocks(source.get("content"))
        elif source.get("type") == "base64":
            self.encoded_bytes += len(str(source.get("data") or ""))
            self.images += block["type"] == "image"
            self.documents += block["type"] == "document"


def _fallbacks(content: Body) -> tuple[str, ...]:
    asked = content.get("fallbacks")
    return (tuple(str(model.get("model")) for model in objects(asked)) or ("default",)) if asked else ()


def _inline(block: Body) -> Iterator[Body]:
    """Yield the tool that a message adds; a reference is to one elsewhere in the request, unless it is to MCP."""
    tool = block.get("tool")
    if isinstance(tool, dict) and isinstance(tool.get("definition"), dict):
        yield tool["definition"]
    elif isinstance(tool, dict) and "mcp" in str(tool.get("type")):
        yield {"type": "mcp_toolset"}


def _edits(content: Body) -> tuple[str, ...]:
    managed = content.get("context_management")
    requested = objects(managed.get("edits")) if isinstance(managed, dict) else []
    kinds = [str(edit.get("type")) for edit in requested] + ["compaction"] * bool(content.get("compaction"))
    return tuple(kind for kind in kinds if not _CLEARING_EDITS.fullmatch(kind))


def _tier(content: Body) -> str:
    """Return the tier that is asked for; if the provider may choose, the usual one."""
    asked = _word(content, "service_tier", "auto")
    return "standard" if asked in {"auto", "standard_only"} else asked


def _word(content: Body, key: str, usual: str) -> str:
    value = content.get(key)
    return usual if value is None else str(value)
