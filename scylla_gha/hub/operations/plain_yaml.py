"""YAML files of a repository, which an agent may have written: bounded in size, and without what multiplies itself."""

import itertools
from typing import Any, Final

import yaml

_MOST_BYTES: Final = 64_000  # which take up to 2 s
_MOST_ITEMS: Final = 256  # of a list or a mapping, which anchors can repeat without end
_LONGEST_TEXT: Final = 500


class _Loader(yaml.SafeLoader):
    """Loader without merge keys (`<<`), which Actions does not have, and which can be nested until memory ends."""

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Merge nothing."""


def read_mapping(content: bytes) -> dict[Any, Any] | None:
    """Return the mapping that a YAML file is; None if it is none, or cannot be read."""
    try:
        document = yaml.load(content[:_MOST_BYTES], _Loader)  # noqa: S506 a safe loader
    except (yaml.YAMLError, RecursionError, ValueError):
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
    return str(value)[:_LONGEST_TEXT] if isinstance(value, str | int | float) else ""
