from typing import Any

from scylla_gha.config.keys import judges_digest
from scylla_gha.config.materials import PromptTexts
from scylla_gha.judge.judge_client import JudgeFault, JudgeReply
from scylla_gha.judge.panel import Panel, ask, ask_panel
from scylla_gha.judge.prompt import JudgePrompt
from scylla_gha.model.judgment import Judge
from tests.support.panel import WORDING, fault, make_blind, make_item, patch, raw, reply

OPUS = Judge("opus")
BLIND = make_blind(items=[make_item("Q1", "binary"), make_item("Q2")], steps=["It runs"])


def panel(*said: str | JudgeReply | JudgeFault, judges: tuple[Judge, ...] = (OPUS,)) -> tuple[Panel, list[JudgePrompt]]:
    """A panel whose judge says one thing after the other; and what it was sent."""
    sent: list[JudgePrompt] = []

    def send(_: Judge, prompt: JudgePrompt) -> JudgeReply:
        sent.append(prompt)
        one = said[len(sent) - 1]
        if isinstance(one, JudgeFault):
            raise one
        return one if isinstance(one, JudgeReply) else JudgeReply(one)

    return Panel(judges, WORDING, send), sent


def asked(prompt: JudgePrompt) -> list[str]:
    return [name for name in ("Q1", "Q2") if f"\n- {name} (" in prompt.user]


def test_a_whole_answer_is_asked_for_once() -> None:
    whole, sent = panel(reply(raw("Q1", score=1), raw("Q2"), steps=["step-1"], excess="hello.py: --help"))
    said = ask(whole, OPUS, BLIND)
    assert [item.value for item in said.items] == [1.0, 1.0]
    assert (said.steps, said.excess, said.retries, said.error, said.flags) == (
        ("It runs",),
        "hello.py: --help",
        0,
        None,
        (),
    )
    assert said.prompt_digest == sent[0].digest
    assert len(sent) == 1


def test_only_what_could_not_be_read_is_asked_again_and_told_why() -> None:
    whole, sent = panel(
        reply(raw("Q1", score=1), raw("Q2", deductions=[fault("minor", 0.9)]), steps=["step-1"]),
        reply(raw("Q1", score=0), raw("Q2", deductions=[fault("minor", 0.2)]), excess="too late"),
    )
    said = ask(whole, OPUS, BLIND)
    assert [asked(prompt) for prompt in sent] == [["Q1", "Q2"], ["Q2"]]
    assert "\n- Q2: deductions: minor is 0.15 to 0.30 points, not 0.9\n" in sent[1].user
    assert [item.value for item in said.items] == [1.0, 0.8]  # what was readable the first time stands
    assert (said.retries, said.error, said.excess, said.steps) == (1, None, None, ("It runs",))
    assert said.flags == ("points_out_of_range",)


def test_it_is_asked_twice_more_at_most_and_then_missing() -> None:
    whole, sent = panel("I like it.", reply(raw("Q1", score=0.5)), reply(raw("Q3", score=1)))
    said = ask(whole, OPUS, BLIND)
    assert len(sent) == 3
    assert [(item.state, item.value, item.reason) for item in said.items] == [("missing", None, "not answered")] * 2
    assert (said.retries, said.error, said.unknown) == (2, "Q1: not answered", ("Q3",))
    assert said.flags == ("points_out_of_range", "unknown_item")


def test_a_fault_of_the_transport_is_not_read_as_an_answer() -> None:
    good = reply(raw("Q1", score=1), raw("Q2"))
    whole, _ = panel(JudgeReply(good, "the answer ended by max_tokens"), good)
    said = ask(whole, OPUS, BLIND)
    assert (said.retries, said.error) == (1, None)


def test_a_judge_that_cannot_be_asked_has_no_values() -> None:
    whole, sent = panel(JudgeFault("opus: the provider answered 500"))
    said = ask(whole, OPUS, BLIND)
    assert len(sent) == 1
    assert {item.state for item in said.items} == {"missing"}
    assert said.error == "opus: the provider answered 500"


def test_what_it_said_before_it_was_lost_stands() -> None:
    whole, _ = panel(reply(raw("Q1", score=1)), JudgeFault("opus: connection lost"))
    said = ask(whole, OPUS, BLIND)
    assert [(item.state, item.value) for item in said.items] == [("scored", 1.0), ("missing", None)]
    assert (said.error, said.items[1].reason) == ("opus: connection lost", "opus: connection lost")


def test_all_judges_get_the_same_prompt_and_answer_in_their_order() -> None:
    judges = tuple(Judge(name) for name in ("opus", "sonnet", "haiku"))
    sent: dict[str, JudgePrompt] = {}

    def send(judge: Judge, prompt: JudgePrompt) -> JudgeReply:
        sent[judge.model] = prompt
        return JudgeReply(reply(raw("Q1", score=1), raw("Q2")))

    said = ask_panel(Panel(judges, WORDING, send), BLIND)
    assert [one.judge for one in said] == ["opus", "sonnet", "haiku"]
    assert len({one.prompt_digest for one in said}) == len({prompt.user for prompt in sent.values()}) == 1


def test_a_cut_diff_is_flagged() -> None:
    whole, _ = panel(reply(raw("Q1", score=1), raw("Q2")))
    long = make_blind(items=BLIND.items, diff=patch("big.txt", ["x" * 99] * 3_000))
    assert ask(whole, OPUS, long).flags == ("evidence_cut",)


def test_the_digest_covers_judges_their_settings_and_the_words() -> None:
    def digest(*judges: Judge, **wording: Any) -> str:
        words = PromptTexts(**{"system": WORDING.system, "template": WORDING.template, "version": 1, **wording})
        return judges_digest(judges or (OPUS,), words)

    changes = [
        digest(),
        digest(Judge("sonnet")),
        digest(Judge("opus", temperature=0.0)),
        digest(Judge("opus", max_tokens=1)),
        digest(OPUS, OPUS),
        digest(OPUS, Judge("sonnet")),
        digest(system="Judge."),
        digest(template="$task"),
    ]
    assert len(set(changes)) == len(changes)
    assert digest() == judges_digest((OPUS,), WORDING)
