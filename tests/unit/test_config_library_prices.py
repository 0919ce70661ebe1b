from pathlib import Path

import pytest

from scylla_gha.config.library import Library, toolkit_root
from scylla_gha.config.model_names import sdk_models
from scylla_gha.errors import ConfigError
from tests.support.library import write_model, write_prices
from tests.support.records import make_model


def stack(tmp_path: Path) -> tuple[Library, Path, Path]:
    """A library of a user's root before a toolkit's."""
    user, toolkit = tmp_path / "user", tmp_path / "toolkit"
    return Library((user, toolkit)), user, toolkit


def test_a_price_list_takes_the_place_of_the_models_own_prices(tmp_path: Path) -> None:
    library, user, toolkit = stack(tmp_path)
    write_model(toolkit, make_model())
    write_model(toolkit, make_model(id="other"))
    write_prices(user, "then", "m")
    assert library.price_list_names() == ["then"]
    listed = library.priced_models("then")
    assert listed["m"].price is not None
    assert (listed["m"].price.input, listed["m"].price.source) == (7.0, "a table")
    assert listed["other"].price is None, "what a list does not name has no known price under it"
    assert library.priced_models(None) == library.models()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("now", "m", "then"), "name: is 'now', but the file is named 'then'; make them equal"),
        (("then", "mm", "then"), "prices: 'mm' is not in config/models/; the nearest is m; add a file for it there"),
        (("them", "m", "them"), "price list 'then': not found in config/prices/"),
    ],
)
def test_a_price_list_that_does_not_fit_is_refused(tmp_path: Path, given: tuple[str, str, str], message: str) -> None:
    library, user, _ = stack(tmp_path)
    name, model, file = given
    write_model(user, make_model())
    write_prices(user, name, model, file=file)
    with pytest.raises(ConfigError) as caught:
        library.priced_models("then")
    assert message in str(caught.value)


def test_the_toolkits_own_models_are_ids_that_the_sdk_knows_with_prices_and_the_papers_list() -> None:
    library = Library((toolkit_root(),))
    models = library.models()
    assert [name for name in models if name not in sdk_models()] == []
    assert [name for name, model in models.items() if model.price is None or model.max_output_tokens is None] == []
    paper = library.priced_models("scylla-2026-01")
    rates = {name: (model.price.input, model.price.output) for name, model in paper.items() if model.price}
    assert rates == {
        "claude-opus-4-5-20251101": (15.0, 75.0),
        "claude-sonnet-4-5-20250929": (3.0, 15.0),
        "claude-haiku-4-5-20251001": (1.0, 5.0),
    }
    assert "claude-haiku-4-5-20250929" not in sdk_models(), "the id of the paper is none"


def test_a_price_list_may_name_a_model_by_an_alias(tmp_path: Path) -> None:
    library, user, _ = stack(tmp_path)
    write_model(user, make_model(id="claude-sonnet-4-5-20250929"))
    write_prices(user, "then", "us.anthropic.claude-sonnet-4-5-20250929-v1:0")
    price = library.priced_models("then")["claude-sonnet-4-5-20250929"].price
    assert price is not None
    assert price.source == "a table"
