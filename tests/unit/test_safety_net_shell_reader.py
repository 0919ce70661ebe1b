"""A script is read into the commands that Bash would run."""

import random

import pytest

from scylla_gha.safety_net.shell_reader import UNKNOWN, ShellReader


def words(text: str, cwd: str = "/w", **values: str) -> list[list[str]]:
    return [command.words for command in ShellReader(text, cwd, values).commands if command.words]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        ("a b", [["a", "b"]]),
        ("a 'b c' \"d e\"f g\\ h", [["a", "b c", "d ef", "g h"]]),
        ("a; b && c || d | e & f\ng", [["a"], ["b"], ["c"], ["d"], ["e"], ["f"], ["g"]]),
        ("a \\\n b", [["a", "b"]]),
        ("a # b\nc#d", [["a"], ["c#d"]]),
        ("(a; b) && c", [["a"], ["b"], ["c"]]),
        ("a $(b `c`) d", [["c"], ["b", UNKNOWN], ["a", UNKNOWN, "d"]]),
        ('a "x$(b)y"', [["b"], ["a", f"x{UNKNOWN}y"]]),
        ("a '$(b)' \\$(c)", [["a", "$(b)", "$"], ["c"]]),
        ("x=1; a $x ${x} \"${x}2\" '$x'", [["x=1"], ["a", "1", "1", "12", "$x"]]),
        ("a ${x:-d} ${x-d}", [["a", "d", "d"]]),
        ("a ${x%y} $1 $(( 1 + 2 )) b", [["a", UNKNOWN, UNKNOWN, UNKNOWN, "b"]]),
        ("a $NOT_SET/b", [["a", "/b"]]),
        ("read NOT_SET; a $NOT_SET/b", [["read", "NOT_SET"], ["a", f"{UNKNOWN}/b"]]),
        ("a $'b' $\"c\"", [["a", "b", "c"]]),
        ("a 2>&1 >b <c &>>d", [["a"]]),
        ("a <<E b\n$(c)\nE\nd", [["a", "b"], ["c"], [":", f"{UNKNOWN}\n"], ["d"]]),
        ("a <<'E'\n$(c)\nE\nd", [["a"], ["d"]]),
        ("a <<-E\n\tx\n\tE\nd", [["a"], ["d"]]),
        ("a \"$(b <<'E'\nit's (\nE\n)\" c", [["b"], ["a", UNKNOWN, "c"]]),
    ],
)
def test_commands_are_told_apart(text: str, found: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("x", "NOT_SET"):
        monkeypatch.delenv(name, raising=False)
    script = ShellReader(text, "/w", {})
    assert [command.words for command in script.commands if command.words] == found
    assert not script.unclear


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("a", "/w"),
        ("cd sub; a", "/w/sub"),
        ("cd /etc && a", "/etc"),
        ("(cd /etc); a", "/w"),
        ("cd; a", "/home/me"),
        ("cd ~/x; a", "/home/me/x"),
        ('cd "$(b)"; a', UNKNOWN),
        ("cd -; a", UNKNOWN),
        ("x=/usr; cd $x/lib; a", "/usr/lib"),
    ],
)
def test_cd_is_followed(text: str, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    assert next(each.cwd for each in ShellReader(text, "/w", {}).commands if each.words == ["a"]) == place


def test_redirections_and_what_is_fed_to_it_stand_with_the_command() -> None:
    (first, second) = ShellReader("a <in >out 2>>log 3>&1 <<E | b <<< 'text'\nbody\nE\n", "/w", {}).commands
    assert (first.reads, first.writes, first.stdin) == (["in"], ["out", "log"], "body\n")
    assert (second.stdin, second.before) == ("text", first)


@pytest.mark.parametrize("text", ["a 'b", 'a "b', "a `b", "a $(b", "(a", "a <<E\nb", "$(" * 50 + "a"])
def test_what_has_no_end_is_unclear_and_read_as_far_as_it_goes(text: str) -> None:
    script = ShellReader(text, "/w", {})
    assert script.unclear
    assert script.commands or text.startswith("$(")


PIECES = [
    "rm", "-rf", "/", "'", '"', "`", "$(", ")", "(", "${", "}", "$x", "$", "\\", ";", "&&", "|", ">", "<", "<<E", "E",
    "<<<", ">&", "2>&1", "#", "{", "~", "*", "x=", "for", "in", "do", "done", "cd", "sudo", "xargs", "eval", "é",
    "((", "))", "[[", "$((", "$'", "&>", " ", "\n", "\t", "\0", "git push -f", "find . -exec", "bash -c", UNKNOWN,
]  # fmt: skip


def scripts(number: int, seed: int) -> list[str]:
    """Random scripts, the same in each run."""
    chance = random.Random(seed)
    return ["".join(chance.choices(PIECES, k=chance.randint(1, 60))) for _ in range(number)]


@pytest.mark.parametrize("seed", range(10))
def test_whatever_is_written_it_comes_to_an_end(seed: int) -> None:
    for text in scripts(300, seed):
        script = ShellReader(text, "/w", {})
        assert script.at >= len(text)
