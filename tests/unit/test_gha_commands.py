import pytest

from scylla_gha.gha.commands import annotation, harmless


@pytest.mark.parametrize(
    ("message", "title", "expected"),
    [
        ("gone", "", "::error::gone"),
        ("100 % of\r\nall: 1, 2", "", "::error::100 %25 of%0D%0Aall: 1, 2"),
        ("gone", "a: b, 50 %\nc", "::error title=a%3A b%2C 50 %25%0Ac::gone"),
        ("x\n::set-output name=verdict::better", "", "::error::x%0A::set-output name=verdict::better"),
        ("%0A", "%3A", "::error title=%253A::%250A"),
    ],
)
def test_an_annotation_is_one_line_whatever_is_in_it(message: str, title: str, expected: str) -> None:
    assert annotation("error", message, title) == expected
    assert "\n" not in expected


@pytest.mark.parametrize(
    "text",
    [
        "::error::x",
        "  ::set-output name=verdict::better",
        "fine\n\t::add-mask::the",
        "fine\r::stop-commands::x",
        "before ##[set-output name=verdict]better",
        "##[##[error]x",
        ":::error::x",
    ],
)
def test_no_command_is_left_in_what_strangers_say(text: str) -> None:
    found = harmless(text)
    assert "##[" not in found
    assert not any(line.lstrip().startswith("::") for line in found.split("\n"))
    assert found.replace("\N{ZERO WIDTH SPACE}", "") == text.replace("\r", "\n")


def test_other_text_stays_as_it_is() -> None:
    text = "std::vector<int> a::b\n[x] ## heading: y\n"
    assert harmless(text) == text
