import pytest

from scylla_gha.adoption.languages import NODE, PYTHON, SAFE_NAME, is_code, is_test


@pytest.mark.parametrize("path", ["tests/test_a.py", "test_a.py", "pkg/a_test.py"])
def test_python_tests_are_known_by_name(path: str) -> None:
    assert PYTHON.runs(path)
    assert is_test(path)
    assert not is_code(path, PYTHON)


@pytest.mark.parametrize(
    "path", ["a.test.js", "lib/a.spec.mjs", "test/a.js", "lib/__tests__/a.cjs", "test.js", "test-a.js"]
)
def test_javascript_tests_are_known_by_name_or_folder(path: str) -> None:
    assert NODE.runs(path)
    assert is_test(path)


@pytest.mark.parametrize("path", ["tests/conftest.py", "conftest.py", "tests/data/a.json", "spec/a.rb"])
def test_what_lies_among_tests_belongs_to_them_and_is_not_run(path: str) -> None:
    assert is_test(path)
    assert not PYTHON.runs(path)


def test_code_is_of_its_language() -> None:
    assert is_code("src/attest.py", PYTHON)
    assert is_code("contest.js", NODE)
    assert not is_code("README.md", PYTHON)
    assert not is_code("a.js", PYTHON)


@pytest.mark.parametrize("name", ["a b.py", "-rf", "it's", "a\nb", "$(x)", 'a"b'])
def test_names_that_a_shell_would_read_otherwise_are_not_safe(name: str) -> None:
    assert not SAFE_NAME.fullmatch(name)
