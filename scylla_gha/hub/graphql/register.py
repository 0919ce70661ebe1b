"""The modules that register resolvers, each for a noun."""

import functools
import importlib
import pkgutil
from pathlib import Path


@functools.cache
def register() -> None:
    """Import all modules of this package, once, so that their resolvers are known."""
    package = __name__.rpartition(".")[0]
    for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
        importlib.import_module(f"{package}.{module.name}")
