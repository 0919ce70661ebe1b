"""Edits of Go code: bodies that are masked, tests that are cut out, faults, and patterns of errors."""

from pathlib import Path

import pytest

from scylla_gha.readiness.code_index import build_index
from scylla_gha.readiness.graders.pattern_rules import facts_in
from scylla_gha.readiness.hidden_tests import control_of, spans_naming, spans_of_tests, without_tests
from scylla_gha.readiness.masked_body import masked_body
from scylla_gha.readiness.mutations import mutants, with_mutants
from scylla_gha.readiness.source_code import CodeIndex
from tests.support.readiness_repository import readiness_repository


@pytest.fixture(scope="module")
def ferry(tmp_path_factory: pytest.TempPathFactory) -> CodeIndex:
    return build_index(readiness_repository(tmp_path_factory.mktemp("repositories") / "ferry", "go"))


def test_a_masked_body_keeps_a_use_of_what_only_it_imports(ferry: CodeIndex) -> None:
    file = ferry.files["fares/fares.go"]
    mask = masked_body(file, ferry.functions["fares/fares.go::Parse"])
    assert mask is not None
    assert mask.after == '\t_ = strings.TrimSuffix\n\tpanic("not implemented")\n'
    mask = masked_body(file, ferry.functions["fares/fares.go::Total"])
    assert mask is not None
    assert mask.after == '\tpanic("not implemented")\n'


def test_a_cut_test_takes_the_imports_with_it_that_only_it_used(ferry: CodeIndex) -> None:
    names = ("TestReducedRefusesNegativeAges", "TestTotalKeepsTheReason")
    (changed,) = without_tests(ferry, spans_of_tests(ferry, [f"fares/fares_test.go::{name}" for name in names]))
    assert changed.text is not None
    assert '"errors"' not in changed.text
    assert '"testing"' in changed.text
    assert not any(name in changed.text for name in names)


def test_a_subtest_is_cut_with_its_function_and_a_file_without_tests_is_removed(ferry: CodeIndex) -> None:
    (changed,) = without_tests(ferry, spans_of_tests(ferry, ["seats/seats_test.go::TestReadRefuses/text_C1"]))
    assert changed.text is not None
    assert "TestReadRefuses" not in changed.text
    removed = {change.path: change.text for change in without_tests(ferry, spans_naming(ferry, "Sell"))}
    assert removed["sales/sales_test.go"] is not None  # other tests are left
    control = control_of(ferry.files["sales/sales_test.go"])
    assert control is not None
    assert control["text"].startswith("package sales_test\n")
    assert control["id"].endswith("::Test_CONTROL")  # Go has no test `Testab12`


def test_errors_that_are_lost_and_conditions_behind_a_statement_are_faults(ferry: CodeIndex) -> None:
    file, function = ferry.files["fares/fares.go"], ferry.functions["fares/fares.go::Total"]
    faults = {(fault.name, fault.after.strip()) for fault in mutants(file, function, seed=1)}
    assert ("error-lost", "return 0, nil") in faults
    assert ("condition-negated", "if !(err != nil) {") in faults
    parse = ferry.functions["fares/fares.go::Parse"]
    assert any("; !(err != nil) {" in fault.after for fault in mutants(file, parse, seed=1))
    assert all("nil, nil" not in with_mutants(file.text, [fault]) for fault in mutants(file, parse, seed=1))


@pytest.mark.parametrize(
    ("body", "errors"),
    [
        ('return fmt.Errorf("read %q: %w", path, err)', {"fmt.Errorf %w"}),
        ('return fmt.Errorf("no row %d", row)', {"fmt.Errorf"}),
        ("return nil, err", {"err"}),
        ("return 0, ErrAge // %w", {"ErrAge"}),
        ("return &ParseError{Line: 3}", {"ParseError"}),
        ("return nil", set()),
    ],
)
def test_errors_of_go_are_known_by_how_they_are_made(body: str, errors: set[str]) -> None:
    other = "func (b Book) Load() error {\n\treturn errors.New(text)\n}\n"
    facts = facts_in(f"package a\n\n{other}\nfunc (s *Store) Load() error {{\n\t{body}\n}}\n", "go", "Store.Load")
    assert facts is not None
    assert facts.raised == errors


def test_the_index_of_the_code_base_has_its_calls_over_packages(ferry: CodeIndex) -> None:
    edges = {(edge.caller, edge.callee) for edge in ferry.edges if edge.certainty == "certain"}
    assert ("sales/sales.go::Sell", "fares/fares.go::Total") in edges
    assert ("sales/sales.go::enter", "store/store.go::Book.Save") in edges
    assert Path("store/store.go").as_posix() in ferry.files
