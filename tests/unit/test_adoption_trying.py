from pathlib import Path

from scylla_gha.adoption.repository import Checkout, checkout_of
from scylla_gha.adoption.task import Task
from scylla_gha.adoption.trying import Tried, Trying, find_tasks
from scylla_gha.errors import FixtureError
from tests.support.adopters import empty, till, web


def find_task(checkout: Checkout, name: str, trying: Trying, *, look: bool) -> Task:
    (task,) = find_tasks(checkout, name, trying, int(look))
    return task


def tried(task: Task, *, nop: str | None = None, solution: str | None = None, passing: tuple[str, ...] = ()) -> Tried:
    wrong = tuple((f"wrong/{name}", name in passing, "passes" if name in passing else None) for name in task.wrong)
    return (("nop", nop is not None, nop), ("solution", solution is None, solution), *wrong)


def test_the_first_candidate_that_holds_is_taken_with_two_wrong_ones(tmp_path: Path) -> None:
    said: list[str] = []
    task = find_task(checkout_of(web(tmp_path / "web")), "web", Trying(tried, said.append), look=True)
    assert task.id == "101-slugs-are-trimmed-and-short"
    assert len(task.wrong) == 2
    assert len(said) == 1


def test_wrong_ones_that_pass_are_not_kept(tmp_path: Path) -> None:
    checkout = checkout_of(web(tmp_path / "web"))
    every = find_task(checkout, "web", Trying(tried, lambda _: None), look=True)
    first = next(iter(every.wrong))
    trying = Trying(lambda task: tried(task, passing=(first,)), lambda _: None)
    assert first not in find_task(checkout, "web", trying, look=True).wrong


def test_guards_are_given_up_before_the_candidate(tmp_path: Path) -> None:
    def prove(task: Task) -> Tried:
        return tried(task, nop="guards do not hold" if any(check.guard for check in task.checks) else None)

    task = find_task(checkout_of(till(tmp_path / "till")), "till", Trying(prove, lambda _: None), look=True)
    assert [check.id for check in task.checks] == ["hidden-tests"]


def test_the_example_is_what_is_left(tmp_path: Path) -> None:
    said: list[str] = []

    def fails(_: Task) -> Tried:
        raise FixtureError("cannot fetch")

    checkout = checkout_of(web(tmp_path / "web"))
    assert find_task(checkout, "web", Trying(fails, said.append), look=True).id == "101-list-the-files"
    assert "  start: cannot fetch" in said
    few = Trying(lambda task: tried(task, passing=tuple(task.wrong)), said.append)
    assert find_task(checkout, "web", few, look=True).id == "101-list-the-files"
    assert said[-2] == "  its tests do not tell enough wrong solutions from the right one"


def test_there_is_an_end_to_trying(tmp_path: Path) -> None:
    said: list[str] = []
    checkout = checkout_of(web(tmp_path / "web"))
    assert find_task(checkout, "web", Trying(tried, said.append, -1.0), look=True).id == "101-list-the-files"
    assert said[:1] == ["no more commits are tried: that took more than -1 s"]


def test_without_a_look_at_the_history_nothing_is_tried(tmp_path: Path) -> None:
    said: list[str] = []
    task = find_task(checkout_of(web(tmp_path / "web")), "web", Trying(tried, said.append), look=False)
    assert (task.id, said) == ("101-list-the-files", [])
    assert find_task(checkout_of(empty(tmp_path / "a")), "a", Trying(tried, said.append), look=True).id == task.id
