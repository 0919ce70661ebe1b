import re

import pytest

from scylla_gha.judge.prompt import NamedFiles, diff_excerpt, share
from tests.support.panel import patch

LONG = [f"line {number:05} of a very ordinary file" for number in range(10_000)]


@pytest.mark.parametrize(
    ("sizes", "budget", "rooms"),
    [
        ([], 10, []),
        ([5, 5], 10, [5, 5]),
        ([1, 100, 100], 41, [1, 20, 20]),  # what the small one leaves goes to the large ones
        ([100, 1, 9], 20, [10, 1, 9]),
        ([7, 7, 7], 0, [0, 0, 0]),
        ([10, 10, 10], 20, [6, 7, 7]),
    ],
)
def test_room_is_shared_fairly(sizes: list[int], budget: int, rooms: list[int]) -> None:
    assert share(sizes, budget) == rooms


def test_a_short_diff_is_shown_whole() -> None:
    shown = diff_excerpt(patch("hello.py", ["print('hi')"], ["pass"]))
    assert shown.text == patch("hello.py", ["print('hi')"], ["pass"]).decode().rstrip("\n")
    assert shown.listing == "+1 -1 hello.py (whole)"
    assert shown.summary == "Changed files: 1; lines added: 1, deleted: 1. The diff is shown whole."
    assert not shown.cut


def test_no_diff_is_said() -> None:
    shown = diff_excerpt(b"")
    assert (shown.listing, shown.text, shown.summary, shown.cut) == ("", "", "Nothing was changed.", False)


def test_a_long_file_leaves_the_short_ones_whole() -> None:
    shown = diff_excerpt(patch("a.py", ["x = 1"]) + patch("big.txt", LONG) + patch("z.py", ["y = 2"]), 5_000)
    assert shown.listing == "+1 -0 a.py (whole)\n+10000 -0 big.txt (cut)\n+1 -0 z.py (whole)"
    assert shown.summary.endswith(
        "The diff is NOT shown whole. Of the files: 2 whole, 1 cut. First come those that "
        "task, checks and rubric name, then those that were there before the change. Each cut is marked where it is."
    )
    assert "+x = 1" in shown.text
    assert "+y = 2" in shown.text
    assert f"+{LONG[0]}\n" in shown.text
    assert f"+{LONG[-1]}\n" in shown.text
    assert shown.cut
    assert len(shown.text) < 5_500


def test_a_cut_says_what_it_took() -> None:
    text = diff_excerpt(patch("big.txt", LONG), 5_000).text
    kept = sum(line.startswith("+line") for line in text.split("\n"))
    assert f"[cut here: {10_000 - kept:,} lines, " in text


def test_a_deleted_line_amid_ten_thousand_added_ones_is_shown() -> None:
    body = [f"+{line}" for line in LONG]
    body[5_000:5_000] = ["-    if not authorised(user):", "-        raise Forbidden"]
    head = "diff --git a/app.py b/app.py\n--- a/app.py\n+++ b/app.py\n@@ -1,2 +1,10000 @@\n"
    text = diff_excerpt((head + "\n".join(body)).encode(), 5_000).text
    assert "-    if not authorised(user):\n-        raise Forbidden" in text
    assert text.count("[cut here: ") == 2


def test_many_short_runs_are_cut_as_one() -> None:
    body = "\n".join(f"-old {number}\n+new {number}" for number in range(5_000))
    head = "diff --git a/app.py b/app.py\n--- a/app.py\n+++ b/app.py\n@@ -1,5000 +1,5000 @@\n"
    text = diff_excerpt((head + body).encode(), 4_000).text
    assert text.count("[cut here: ") == 1
    assert len(text) < 4_200


def test_of_too_many_files_all_are_counted_and_many_are_named() -> None:
    shown = diff_excerpt(b"".join(patch(f"f{number}.txt", LONG[:5]) for number in range(2_000)), 20_000)
    assert shown.summary.startswith("Changed files: 2000; lines added: 10000, deleted: 0. The diff is NOT shown whole.")
    assert shown.listing.endswith(" more files, not named here]")
    assert len(shown.listing) < 41_000
    assert len(shown.text) < 22_000


def test_no_number_of_new_files_hides_those_that_matter() -> None:
    """Whoever adds a thousand files, or one without end under the name that is asked for, hides no other change."""
    fresh = b"new file mode 100644\nindex "
    junk = b"".join(patch(f"a/{number}.py", ["x" * 300]).replace(b"index ", fresh) for number in range(1_100))
    asked = patch("wanted.py", ["good = 1"]).replace(b"index ", fresh)
    shown = diff_excerpt(junk + patch("old.py", ["bad = 1"]) + asked, 20_000, NamedFiles(frozenset({"wanted.py"})).rank)
    assert shown.text.index("+good = 1") < shown.text.index("+bad = 1") < shown.text.index("a/0.py")
    assert shown.listing.startswith("+1 -0 wanted.py (whole)\n+1 -0 old.py (whole)\n")
    assert "1102; lines added: 1102" in shown.summary
    assert re.search(r"Of the files: \d+ whole, \d+ not shown", shown.summary)
    assert 15_000 < len(shown.text) < 21_000
    endless = asked + b"".join(b"+# more\n" for _ in range(10_000))
    shown = diff_excerpt(endless + patch("old.py", ["bad = 1"]), 20_000, NamedFiles(frozenset({"wanted.py"})).rank)
    assert "+bad = 1" in shown.text
    assert "wanted.py (cut)" in shown.listing


@pytest.mark.parametrize(
    ("head", "name"),
    [
        ("--- a/old.py\n+++ b/new.py", "new.py"),
        ("--- a/gone.py\n+++ /dev/null", "gone.py"),
        ("--- /dev/null\n+++ b/came.py", "came.py"),
        ('--- "a/t\\\\303.py"\n+++ "b/t\\\\303.py"', '"t\\\\303.py"'),
        ("--- a/with space.py\t\n+++ b/with space.py\t", "with space.py"),
    ],
)
def test_files_are_listed_by_name(head: str, name: str) -> None:
    part = f"diff --git a/x b/x\n{head}\n@@ -1 +1 @@\n-a\n+++ b/forged.py\n"
    assert diff_excerpt(part.encode()).listing == f"+1 -1 {name} (whole)"


def test_a_mode_change_has_no_lines() -> None:
    part = b"diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n"
    assert diff_excerpt(part).listing == "+0 -0 run.sh (whole)"


def test_binary_content_is_not_shown_and_that_is_told() -> None:
    part = b"diff --git a/x.bin b/x.bin\nnew file mode 100644\nindex 0..1\nGIT binary patch\nliteral 3\nKcmZ\n\n"
    shown = diff_excerpt(part)
    assert "KcmZ" not in shown.text
    assert shown.text.endswith("[binary: its content is not shown]")
    assert shown.listing == "+0 -0 x.bin (binary, content not shown)"
    assert shown.cut


def test_bytes_that_are_no_text_and_hidden_characters_are_shown_as_such() -> None:
    text = diff_excerpt(patch("a.py", ["x"]).replace(b"+x", b"+\xff\x1b[2K\xe2\x80\xae")).text
    assert text.endswith("+�\\u001b[2K\\u202e")
