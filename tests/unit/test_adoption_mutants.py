import re

from scylla_gha.adoption.languages import PYTHON, is_code
from scylla_gha.adoption.mutants import wrong_ones

PATCH = b"""\
diff --git a/a.py b/a.py
--- a/a.py
+++ b/a.py
@@ -1 +1,2 @@
-x = 0
+if x == 1 and y < 2:
+    return x + y
@@ -9 +10 @@
-old
+new
diff --git a/notes.md b/notes.md
new file mode 100644
--- /dev/null
+++ b/notes.md
@@ -0,0 +1 @@
+A == B
"""


def made(most: int = 99, patch: bytes = PATCH) -> dict[str, bytes]:
    return wrong_ones(patch, most, lambda path: is_code(path, PYTHON))


def test_each_part_is_left_out_once() -> None:
    found = made()
    assert b"+new" not in found["part-2-left-out"]
    assert b"+if x" in found["part-2-left-out"]
    assert b"notes.md" not in found["part-3-left-out"], "a file whose only part is left out is no part of the patch"
    assert found["part-1-left-out"].count(b"diff --git") == 2


def test_one_line_is_turned_and_lengths_of_parts_stay() -> None:
    found = made()
    assert b"+if x != 1 and y < 2:" in found["equal-turned"]
    assert b"+if x == 1 or y < 2:" in found["and-turned"]
    assert b"+if x == 1 and y >= 2:" in found["less-turned"]
    assert b"+    return x - y" in found["plus-turned"]
    assert b"+    return 0" in found["result-lost"]
    turned = [patch for name, patch in found.items() if "part" not in name]
    assert all(patch.count(b"\n") == PATCH.count(b"\n") for patch in turned)


def test_only_code_that_was_added_is_turned() -> None:
    for patch in made().values():
        if b"notes.md" in patch:
            assert b"+A == B" in patch
        assert not re.search(rb"^-x = (?!0$)", patch, re.MULTILINE)


def test_there_are_at_most_so_many_and_none_is_the_right_one() -> None:
    assert len(made(3)) == 3
    one = b"diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-a\n+b\n"
    assert made(patch=one) == {}, "with its only part left out nothing is left, and there is nothing to turn"
