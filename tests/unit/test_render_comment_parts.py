"""Whatever names and reasons say, a comment stays one comment of ours."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from scylla_gha.model.report import Comparison, Excluded, ScenarioRow
from scylla_gha.render.comment import MOST_BYTES, comment, marker
from tests.support.comments import facts, past
from tests.support.records import make_report, make_summary

PIECES = st.sampled_from(
    ["@octocat", "#1", "fixes ", "GH-7", "|", "\n", "```", "`", "<!--", "-->", "<b>", "](", "[x", "*", "&lt;", "\u200b",
     "https://e.example", "www.e.example", "\u202e", "\x1b[2J", "\\", "~~", " ", "a", "> ", "- ", "<details>", "é",
     "scylla:v1 suite=demo", "$x$"]
)  # fmt: skip
EVIL = st.lists(PIECES, max_size=12).map("".join)
# What GitHub would act on where it stands unescaped and unbroken; our own links are taken out before.
ACTIVE = re.compile(
    r"@\w|(?<![&\w])#\d|\bGH-\d|://|\bwww\.|```|[\u200b\u202e\x1b]|(?<!\\)<(?!/?(details|summary|sub)>|!-- scylla)"
)


@settings(max_examples=60, deadline=None)
@given(EVIL, EVIL, EVIL)
def test_nothing_that_others_wrote_acts(one: str, two: str, three: str) -> None:
    arms = (make_summary(arm=f"a{one}"), make_summary(arm=f"b{two}"))
    made = make_report(
        arms=arms, warnings=(three,), excluded=(Excluded(cell=one, outcome=two, reason=three),),
        scenarios=(ScenarioRow(scenario=three, passed={arm.arm: (1, 2) for arm in arms}),),
        comparisons=(Comparison(arm=arms[0].arm, baseline=arms[1].arm, verdict="worse", why=three),),
    )  # fmt: skip
    text = comment(made, facts(base_name=one, gate_fault=two), past=[past(said=three)])
    assert len(text.encode()) <= MOST_BYTES
    assert text.startswith(f"{marker('demo')}\n> [!CAUTION]\n")
    ours = re.sub(r"\(https://github\.com/octo-org/app/[a-z0-9/#-]+\)", "()", text).replace("<!-- -->", "\0")
    assert not ACTIVE.search(ours), ACTIVE.search(ours)
    assert text.count("<details>") == text.count("</details>")
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        assert len({len(re.findall(r"(?<!\\)(?:\\\\)*\|", row)) for row in table.splitlines()}) == 1
