import pytest

from scylla_gha.errors import RefusedError
from scylla_gha.github_api.slash_command import SlashCommand, is_command, parse_command

SHA = "0123456789abcdef" * 2 + "01234567"


@pytest.mark.parametrize(
    ("body", "ours"),
    [
        ("/scylla evaluate demo", True),
        ("/scylla", True),
        ("/scylla evaluate demo\r\nthanks", True),
        ("/scyllax evaluate", False),
        (" /scylla evaluate demo", False),
        ("please /scylla evaluate demo", False),
        ("> /scylla evaluate demo", False),
        ("text\n/scylla evaluate demo", False),
        ("", False),
    ],
)
def test_only_a_first_line_that_begins_so_is_to_us(body: str, *, ours: bool) -> None:
    assert is_command(body) is ours


@pytest.mark.parametrize(
    ("body", "order"),
    [
        ("/scylla evaluate demo", SlashCommand("evaluate", "demo")),
        ("/scylla compare demo", SlashCommand("compare", "demo")),
        ("/scylla evaluate demo\n\nplease, with --sugar", SlashCommand("evaluate", "demo")),
        (f"/scylla evaluate demo {SHA}", SlashCommand("evaluate", "demo", sha=SHA)),
        ("/scylla evaluate a.b-c_d --only '001-*--r0[1-3]' --only=*x? --repetitions 5 0123abc",
         SlashCommand("evaluate", "a.b-c_d", ("001-*--r0[1-3]", "*x?"), "5", "0123abc")),
        ("/scylla  evaluate   --repetitions=10 demo\r", SlashCommand("evaluate", "demo", repetitions="10")),
        ("/scylla skill", SlashCommand("skill")),
        ("/scylla skill pdf --repetitions 5", SlashCommand("skill", "pdf", repetitions="5")),
        ("/scylla skill 0123abc", SlashCommand("skill", sha="0123abc")),
        ("/scylla skill pdf 0123abc", SlashCommand("skill", "pdf", sha="0123abc")),
    ],
)  # fmt: skip
def test_an_order_is_read(body: str, order: SlashCommand) -> None:
    assert parse_command(body) == order


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("", "the only command"),
        ("delete demo", "the only command"),
        ("evaluate", "name one experiment or skill"),
        ("evaluate demo 0123abc more", "name one experiment or skill"),
        ("skill ../pdf", "a name consists"),
        ("skill pdf --only a", "does not take `--only`, which selects cells of an experiment"),
        ("evaluate ../demo", "a name consists"),
        ("evaluate Demo", "a name consists"),
        ("evaluate $(id)", "a name consists"),
        ("evaluate 'de\nmo'", "quotation"),
        ("evaluate demo main", "a commit is"),
        ("evaluate demo 0123ABC", "a commit is"),
        ("evaluate demo 012345", "a commit is"),
        ("evaluate demo --only", "has no value"),
        ("evaluate demo --only '$(id)'", "a glob"),
        ("evaluate demo --only 'a;b'", "a glob"),
        ("evaluate demo --only 'a b'", "a glob"),
        ("evaluate demo --only=-rf", "a glob"),
        ("evaluate demo --only=", "a glob"),
        ("evaluate demo --only " + "a" * 201, "a glob"),
        ("evaluate demo" + " --only=a" * 11, "10 times"),
        ("evaluate demo --repetitions 0", "a number from 1"),
        ("evaluate demo --repetitions 99999", "a number from 1"),
        ("evaluate demo --repetitions 1 --repetitions 2", "can be given at most once"),
        ("evaluate demo --budget-usd 9", "the only options"),
        ("evaluate demo -n", "the only options"),
        ("evaluate demo 'x", "quotation mark"),
        ("evaluate dem\u043e", "printable ASCII"),
        ("evaluate demo\u200b", "printable ASCII"),
        ("evaluate demo\x1b[2J", "printable ASCII"),
        ("evaluate " + "a" * 2000, "too long"),
    ],
)
def test_what_is_not_on_the_list_is_refused(line: str, why: str) -> None:
    with pytest.raises(RefusedError, match=why) as error:
        parse_command(f"/scylla {line}")
    assert "$(" not in str(error.value), "the message is posted as it is"
