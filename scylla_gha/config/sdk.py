"""The model ids that the anthropic SDK knows, read from its source: to import it takes seconds, to read it does not."""

import ast
import functools
import importlib.util
from pathlib import Path


@functools.cache
def sdk_models() -> frozenset[str]:
    """All ids of `anthropic.types.model_param`; empty where a release keeps them in another way."""
    spec = importlib.util.find_spec("anthropic")
    file = Path(spec.origin).parent / "types" / "model_param.py" if spec and spec.origin else None
    if file is None or not file.is_file():
        return frozenset()
    return literals(file.read_text(encoding="utf-8"))


def literals(source: str) -> frozenset[str]:
    """The strings in every `Literal[...]` of a module."""
    subscripts = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Subscript))
    found = (node.slice for node in subscripts if isinstance(node.value, ast.Name) and node.value.id == "Literal")
    constants = (each for part in found for each in ast.walk(part) if isinstance(each, ast.Constant))
    return frozenset(each.value for each in constants if isinstance(each.value, str))
