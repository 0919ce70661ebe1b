import pytest
from pydantic import ValidationError

from scylla_gha.model.sandbox import Isolation


@pytest.mark.parametrize("field", ["network", "keys", "files"])
def test_only_known_words_say_what_a_sandbox_gives(field: str) -> None:
    given = {"network": "none", "keys": "hidden", "files": "own"}
    assert Isolation.model_validate(given).model_dump() == given
    with pytest.raises(ValidationError):
        Isolation.model_validate({**given, field: "some"})
