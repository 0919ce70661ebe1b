"""Cost terms of a request of the Messages API: the parts that decide its cost and its permissions.

The estimate of a prompt is too low only if text has more than one token per two bytes, or for what the provider's own
tools add to the prompt (docs/budgets.md).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from scylla_gha.model.pricing import ModelInfo, ModelPrice
from scylla_gha.model.traffic import ServerToolUse
from scylla_gha.providers.base import Body, WorstCase

_BYTES_PER_TOKEN: Final = 2
# An image is cut into patches of 28 x 28 pixels, 2,576 pixels at its long edge and 4,784 patches at most
# (platform.claude.com/docs, vision, 2026-11-22). A PDF may have 600 pages, each an image and up to 3,000 tokens of text
# (PDF support, the same day), which fills any model's context: it is taken for that.
_IMAGE_TOKENS: Final = 4_784
_PDF_TOKENS: Final = 600 * (_IMAGE_TOKENS + 3_000)
_USES: Final = 10  # of a provider's tool, where the request sets no bound
_TOKENS_OF_A_USE: Final = 10_000  # a guess: what one use brings into the prompt
_MOST_OUTPUT: Final = 128_000  # of a model whose own limit is not known
# Kinds of tools that the client runs, and the search among tools that the request itself declares.
_CLIENT_TOOLS: Final = re.compile(
    r"custom|(bash|text_editor|computer|computer_toolset|memory|tool_search_tool_(bm25|regex))_\d{8}"
)
# Edits of a prompt that leave something out of it (platform.claude.com/docs, context editing, 2026-11-22). Others make
# the provider read it once more (compact_20260112), for an answer that max_tokens do not limit.
_CLEARING_EDITS: Final = re.compile(r"clear_(tool_uses|thinking)_\d{8}")
_VERSION: Final = re.compile(r"_\d{8}$")
_SOURCES: Final = frozenset({"base64", "text", "content"})  # that are in the request, and not fetched
_STATE: Final = (
    "mcp_servers",
    "container",
    "thread",
)  # of the provider: what it holds or reaches is not in the request


@dataclass(frozen=True, slots=True)
class MessageTerms:
    """The terms of one request. `max_tokens` is None where it names none; `tools` run at the provider."""

    max_tokens: int | None
    text_bytes: int
    images: int
    documents: int
    caches: bool
    use: ServerToolUse
    uses: int
    tools: frozenset[str]
    fallbacks: tuple[str, ...]
    edits: tuple[str, ...] = ()  # of the prompt, at a cost that is not known beforehand

    def prompt_tokens(self, model: ModelInfo) -> int:
        """Return the highest number of prompt tokens; the model refuses a prompt above its limit, at no cost."""
        own = -(-self.text_bytes // _BYTES_PER_TOKEN) + self.images * _IMAGE_TOKENS + self.documents * _PDF_TOKENS
        # each use of a provider's tool is a further pass over the prompt and over what the uses before it brought
        return min(own, model.context_tokens) * (1 + self.uses) + _TOKENS_OF_A_USE * self.uses * (self.uses + 1) // 2

    def worst(self, model: ModelInfo, price: ModelPrice) -> WorstCase:
        """Return the highest cost of the request."""
        prompt = self.prompt_tokens(model)
        fixed = price.worst(prompt, 0, self.use, caches=self.caches)
        each = price.worst(prompt, 1, self.use, caches=self.caches) - fixed
        most = model.max_output_tokens or _MOST_OUTPUT
        asked = most if self.max_tokens is None else self.max_tokens
        return WorstCase(fixed, each, asked, is_fixed=self.max_tokens is None)


def cost_terms(content: Body, size: int, *, caches: bool) -> MessageTerms:
    """Read the terms of a request.

    Args:
        content: the parsed request.
        size: its length in bytes.
        caches: it may ask that parts of it are cached.
    """
    found = _Found(content)
    found.read()
    return MessageTerms(
        max_tokens=content.get("max_tokens"),
        text_bytes=max(0, size - found.encoded),
        images=found.images,
        documents=found.documents,
        caches=caches,
        use=ServerToolUse(speed=_word(content, "speed", "standard"), tier=_tier(content),
                region=_word(content, "inference_geo", "global"), searches=found.searches),
        uses=found.uses,
        tools=frozenset(found.tools),
        fallbacks=found.fallbacks,
        edits=_edits(content),
    )  # fmt: skip


class _Found:
    """The parts of a request that are collected on one walk through it."""

    def __init__(self, content: Body) -> None:
        self._content = content
        self.encoded = self.images = self.documents = self.uses = self.searches = 0
        self.tools = {key for key in _STATE if content.get(key)}
        self.fallbacks: tuple[str, ...] = ()

    def read(self) -> None:
        for tool in _dicts(self._content.get("tools")):
            self._tool(tool)
        self._blocks(self._content.get("system"))
        for message in _dicts(self._content.get("messages")):
            self._blocks(message.get("content"))
        asked = self._content.get("fallbacks")
        if asked:
            self.fallbacks = tuple(str(each.get("model")) for each in _dicts(asked)) or ("default",)

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
        for block in _dicts(blocks):
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
            self.encoded += len(str(source.get("data") or ""))
            self.images += block["type"] == "image"
            self.documents += block["type"] == "document"


def _inline(block: Body) -> Iterator[Body]:
    """The tool that a message adds; a reference is to one that stands elsewhere in the request, unless it is to MCP."""
    tool = block.get("tool")
    if isinstance(tool, dict) and isinstance(tool.get("definition"), dict):
        yield tool["definition"]
    elif isinstance(tool, dict) and "mcp" in str(tool.get("type")):
        yield {"type": "mcp_toolset"}


def _edits(content: Body) -> tuple[str, ...]:
    managed = content.get("context_management")
    asked = _dicts(managed.get("edits")) if isinstance(managed, dict) else []
    kinds = [str(edit.get("type")) for edit in asked] + ["compaction"] * bool(content.get("compaction"))
    return tuple(kind for kind in kinds if not _CLEARING_EDITS.fullmatch(kind))


def _tier(content: Body) -> str:
    """The tier that is asked for; what is the provider's choice is taken for the usual one."""
    asked = _word(content, "service_tier", "auto")
    return "standard" if asked in {"auto", "standard_only"} else asked


def _word(content: Body, key: str, usual: str) -> str:
    value = content.get(key)
    return usual if value is None else str(value)


def _dicts(content: object) -> list[Body]:
    return [each for each in content if isinstance(each, dict)] if isinstance(content, list) else []
