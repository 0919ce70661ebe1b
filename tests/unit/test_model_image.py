from pathlib import Path

import pytest
from pydantic import ValidationError

from scylla_gha.config.library import Library
from scylla_gha.model.sandbox import ImageRecipe


def test_the_toolkits_own_recipe_has_what_the_sandbox_needs() -> None:
    recipe = Library.here(Path(__file__).parents[2]).image()
    assert {"python3", "git", "make"} <= set(recipe.packages)


def test_a_recipe_needs_packages() -> None:
    with pytest.raises(ValidationError):
        ImageRecipe(id="base", release="bookworm", packages=())
