from scylla_gha.adoption.finding import Finding, hidden, ok, optional, plain, problem, unknown
from scylla_gha.github.setup import Hidden, Missing


def test_each_state_has_its_word() -> None:
    found = [ok("a", "b"), optional("a", "b", "c"), problem("a", "b", "c"), unknown("a", "b", "c")]
    assert [each.state for each in found] == ["ok", "optional", "problem", "unknown"]
    assert Finding.model_validate_json(found[1].model_dump_json()) == found[1]


def test_what_is_hidden_says_with_which_status_and_whom_to_ask() -> None:
    assert hidden("pages", "the site", Hidden(403)).what == "the site: this token may not see it (403)"
    assert "(404)" in hidden("pages", "the site", Missing()).what
    assert "administrator" in hidden("pages", "the site", Missing()).mend


def test_words_from_outside_cannot_steer_a_terminal() -> None:
    assert plain("a\x1b[2J\nb") == "a[2Jb"
    assert plain(None) == ""
    assert len(plain("x" * 999)) == 200
