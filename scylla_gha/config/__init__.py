"""Configuration: YAML files as records, with messages that name file, line, key, fault and likely correction."""

import difflib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import yaml
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from scylla_gha.counting import first_of
from scylla_gha.errors import ConfigError
from scylla_gha.model import Record

R = TypeVar("R", bound=Record)
Location = Sequence[str | int]
_MOST_NAMES: Final = 20
_MOST_SHOWN: Final = 60  # characters of a wrong value in a message
_DEEPEST: Final = 100  # nested lists and mappings; at about 25,000, the C loader ends the process
_MOST_REPEATED: Final = 100_000  # values for which aliases stand
SafeYaml: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the C loader is ten times faster


def require_small_yaml(text: str) -> None:
    """Refuse YAML whose nesting would crash the loader, or whose aliases repeat too many values.

    An alias stands for all values of its anchor, so a few lines can stand for more values than fit into memory.

    Raises:
        yaml.YAMLError: its collections are nested too deeply, or its aliases stand for too many values.
    """
    if sum(map(text.count, ("[", "{", "- ", ":", "?"))) <= _DEEPEST and "*" not in text:
        return
    measure = _YamlMeasure()
    for event in yaml.parse(text, Loader=SafeYaml):
        measure.add(event)
        line = event.start_mark.line + 1 if event.start_mark else 1
        if len(measure.open) > _DEEPEST:
            raise yaml.YAMLError(f"line {line} nests more than {_DEEPEST} lists and mappings; flatten them")
        if measure.repeated > _MOST_REPEATED:
            raise yaml.YAMLError(f"line {line}: its aliases stand for more than {_MOST_REPEATED:,} values; use fewer")


@dataclass(slots=True)
class _YamlMeasure:
    """Counter of the values in a YAML text during parsing.

    Attributes:
        open: anchors of the collections around the current place, with the number of values in each.
        sizes: number of values that an alias of each anchor stands for.
        repeated: sum of these numbers over all aliases.
    """

    open: list[tuple[str | None, int]] = field(default_factory=list)
    sizes: dict[str, int] = field(default_factory=dict)
    repeated: int = 0

    def add(self, event: yaml.Event) -> None:
        """Add the values of one event of the parser."""
        if isinstance(event, yaml.CollectionStartEvent):
            self.open.append((event.anchor, 1))
        elif isinstance(event, yaml.CollectionEndEvent):
            self._close(*self.open.pop())
        elif isinstance(event, yaml.ScalarEvent):
            self._close(event.anchor, 1)
        elif isinstance(event, yaml.AliasEvent):
            size = self.sizes.get(event.anchor or "", 0)
            self.repeated += size
            self._close(None, size)

    def _close(self, anchor: str | None, size: int) -> None:
        if anchor is not None:
            self.sizes[anchor] = size
        if self.open:
            outer, total = self.open[-1]
            self.open[-1] = (outer, total + size)


class _Loader(SafeYaml):  # type: ignore[misc]  # the C loader has no type
    """Safe YAML loader that rejects duplicate keys; YAML would silently use the last one."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.constructor.ConstructorError(
                    None, None, "a key must be a single word, not a list or a mapping", key.start_mark
                )
            if key.value in seen:
                raise yaml.constructor.ConstructorError(None, None, f'key "{key.value}" is given twice', key.start_mark)
            seen.add(key.value)
        return cast("dict[Any, Any]", super().construct_mapping(node, deep))


def load_yaml(path: Path, kind: type[R]) -> R:
    """Read a YAML file as a record.

    Raises:
        ConfigError: the file cannot be read, is not YAML, or is not such a record; one line per fault.
    """
    text = read_text(path)
    try:
        require_small_yaml(text)
        data = json.dumps(yaml.load(text, Loader=_Loader), default=str)  # noqa: S506 it is a safe loader
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"{path}:{mark.line + 1}" if mark else str(path)
        raise ConfigError(f"{where}: not valid YAML: {error.problem or error.context}") from None
    except (yaml.YAMLError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        # A date with month 13, or a loop.
        raise ConfigError(f"{path}: not valid YAML: {error}") from None
    try:
        return kind.model_validate_json(data)
    except ValidationError as error:
        faults = (
            f"{path}:{_line_of(text, fault['loc'])}: {'.'.join(map(str, fault['loc'])) or 'the file'}: "
            f"{complaint(kind, fault)}"
            for fault in error.errors()
        )
        raise ConfigError("\n".join(faults)) from None


def load_named(path: Path, kind: type[R], key: str = "id") -> R:
    """Read a YAML file as a record, and require that the value of `key` is the file's name."""
    record = load_yaml(path, kind)
    require_equal_names(path, key, getattr(record, key), path.stem)
    return record


def require_equal_names(path: Path, key: str, value: object, name: str, what: str = "file") -> None:
    """Require that the value of a key equals the name of the file or of its folder."""
    if value != name:
        raise ConfigError(f"{path}: {key}: is {value!r}, but the {what} is named {name!r}; make them equal")


def read_text(path: Path, if_missing: str = "there is no such file") -> str:
    """Read a text file of configuration; `if_missing` is the message about a missing file, without its path.

    Raises:
        ConfigError: the file is missing, or cannot be read as UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError(f"{path}: {if_missing}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from None


def complaint(kind: type[Record], error: ErrorDetails) -> str:
    """Describe what is wrong with one field, and suggest a correction."""
    match error["type"]:
        case "extra_forbidden":
            key, schema = str(error["loc"][-1]), kind.model_json_schema()
            parts = (schema, *schema.get("$defs", {}).values())
            return "unknown key" + did_you_mean(
                key, {name for part in parts for name in part.get("properties", {})} - {key}
            )
        case "missing":
            return "missing; add it"
        case "literal_error":
            expected = error["ctx"]["expected"]
            options = [part.strip(" '") for part in expected.replace(" or ", ", ").split(",")]
            return f"must be one of {expected}, not {error['input']!r}" + did_you_mean(str(error["input"]), options)
        case "value_error":
            return error["msg"].removeprefix("Value error, ")
        case _:
            shown = json.dumps(error["input"], default=str)
            short = shown if len(shown) <= _MOST_SHOWN else shown[: _MOST_SHOWN - 3] + "..."
            return f"{error['msg'][0].lower()}{error['msg'][1:]}, not {short}"


def did_you_mean(name: str, options: Sequence[str] | set[str]) -> str:
    """Return `; did you mean "x"?` with the closest option, or nothing."""
    near = difflib.get_close_matches(name, sorted(options), n=1)
    return f'; did you mean "{near[0]}"?' if near else ""


def there_are(names: Sequence[str]) -> str:
    """Return the options as `; there are: a, b and 9 more`, for a name without a close option."""
    if not names:
        return "; there are none"
    return f"; there are: {first_of(names, _MOST_NAMES)}"


def _line_of(text: str, location: Location) -> int:
    """Return the line of a key; if it is missing, the line of the innermost mapping."""
    node = yaml.compose(text, Loader=SafeYaml)  # the loader that read the text; another one may refuse it
    line = 1
    for part in location:
        key, value = _child(node, part)
        if value is None:
            break
        line, node = (key or value).start_mark.line + 1, value
    return line


def _child(node: yaml.Node | None, part: str | int) -> tuple[yaml.Node | None, yaml.Node | None]:
    if isinstance(node, yaml.MappingNode):
        return next(((key, value) for key, value in node.value if key.value == str(part)), (None, None))
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
        return None, node.value[part]
    return None, None
