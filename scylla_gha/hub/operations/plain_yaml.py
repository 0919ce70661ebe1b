"""YAML files of a repository, which an agent may have written: bounded in size, and without what multiplies itself."""

import itertools
from typing import Any, Final

import yaml

_MOST_BYTES: Final = 64_000  # which take up to 2 s
_DEEPEST: Final = 200  # lists and mappings in brackets inside each other: PyYAML's time grows by the square of that
_MOST_ITEMS: Final = 256  # of a list or a mapping, which anchors can repeat without end
_NO_BRACKETS: Final = bytes(set(range(256)) - set(b"[]{}"))
_LONGEST_TEXT: Final = 500
# Those that are not of YAML come out of tags that do not fit their scalar, such as `!!int ""` and `!!bool maybe`.
_FAULTS: Final = (yaml.YAMLError, RecursionError, ValueError, LookupError, AttributeError, ArithmeticError, TypeError)
LONGEST_NUMBER: Final = 10**100


class _Loader(yaml.SafeLoader):
    """Loader without merge keys (`<<`), which Actions does not have, and which can be nested until memory ends.

    Texts are Unicode: half of a surrogate pair, which an escape can write, could be stored nowhere.
    """

    def construct_scalar(self, node: yaml.ScalarNode | yaml.MappingNode) -> str:
        """Refuse what is not Unicode."""
        scalar = super().construct_scalar(node)
        if any("\ud800" <= character <= "\udfff" for character in scalar):
            raise yaml.constructor.ConstructorError(None, None, "invalid Unicode", node.start_mark)
        return scalar

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Merge nothing."""


def read_document(content: bytes) -> Any:  # noqa: ANN401 whatever the file says
    """Return what a YAML file says.

    Raises:
        ValueError: it cannot be read, or is too large; the message has the line.
    """
    if len(content) > _MOST_BYTES:
        raise ValueError(f"it has more than {_MOST_BYTES} bytes")
    if bracket_depth(content) > _DEEPEST:
        raise ValueError(f"it has more than {_DEEPEST} brackets that are not closed")
    try:
        return yaml.load(content, _Loader)  # noqa: S506 a safe loader
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ValueError(f"{error.problem} on line {line}") from None
    except _FAULTS as error:
        raise ValueError("; ".join(str(error).splitlines())[:200] or type(error).__name__) from None


def bracket_depth(content: bytes) -> int:
    """Return how many brackets are open at most at one place of a file, wherever they stand."""
    brackets = content.translate(None, _NO_BRACKETS)
    return max(itertools.accumulate((1 if bracket in b"[{" else -1 for bracket in brackets), initial=0))


def read_mapping(content: bytes) -> dict[Any, Any] | None:
    """Return the mapping that a YAML file is; None if it is none, or cannot be read."""
    try:
        document = read_document(content[:_MOST_BYTES])
    except ValueError:
        return None
    return document if isinstance(document, dict) else None


def mapping_of(value: Any) -> dict[Any, Any]:  # noqa: ANN401 whatever the file says
    """Return the first entries of a value that is a mapping, else an empty one."""
    return dict(itertools.islice(value.items(), _MOST_ITEMS)) if isinstance(value, dict) else {}


def list_of(value: Any) -> list[Any]:  # noqa: ANN401 as above
    """Return the first items of a value that is a list, else an empty one."""
    return value[:_MOST_ITEMS] if isinstance(value, list) else []


def text_of(value: Any) -> str:  # noqa: ANN401 as above
    """Return the start of a scalar as text; of all else, whose text may be endless, an empty one."""
    if isinstance(value, int) and abs(value) > LONGEST_NUMBER:
        return ""  # Python refuses to write very long ones
    return str(value)[:_LONGEST_TEXT] if isinstance(value, str | int | float) else ""
