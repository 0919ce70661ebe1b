import re
import threading

import pytest

from scylla_gha.evaluate.run_cells import Progress
from scylla_gha.onboarding.init import progress_pulse


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    said = capsys.readouterr()
    assert said.out == "", "standard output is for data"
    return re.sub(r"[0-9]+ s\b", "N s", said.err).splitlines()


def test_at_the_end_it_says_how_it_stands(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(3, None) as progress:
        for usd, passed in ((0.5, True), (0.25, False), (0.0, True)):
            progress.advance(usd, passed=passed)
    assert lines(capsys) == ["3/3 cells, 2 passed, $0.75, N s"]


def test_where_it_stops_early_the_time_that_is_left_is_a_guess(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(4, 5.0) as progress:
        progress.advance(1.0, passed=False)
    assert lines(capsys) == ["1/4 cells, 0 passed, $1.00 of $5.00, N s, about N s left"]


@pytest.mark.parametrize(
    ("costs", "said"),
    [((None, 1.0), "at least $1.00"), ((1.0, None), "at least $1.00"), ((None, None), "?")],
)
def test_a_cost_that_is_unknown_once_makes_the_sum_a_lower_limit(
    costs: tuple[float | None, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with Progress(2, 5.0) as progress:
        for usd in costs:
            progress.advance(usd, passed=True)
    assert lines(capsys) == [f"2/2 cells, 2 passed, {said} of $5.00, N s"]


def test_nothing_done_has_no_time_left(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KeyboardInterrupt), Progress(2, None):
        raise KeyboardInterrupt
    assert lines(capsys) == ["0/2 cells, 0 passed, $0.00, N s"]


def test_a_step_that_takes_long_is_told_of_until_it_ends() -> None:
    said: list[str] = []
    again = threading.Event()

    def tell(text: str) -> None:
        said.append(text)
        if len(said) > 1:
            again.set()

    with progress_pulse(tell, 0.01) as print_step:
        print_step("proving")
        assert again.wait(60)
    assert said[0] == "proving"
    assert re.fullmatch(r"  \.\.\. \d+ s", said[1])
