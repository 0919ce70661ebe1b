"""The small example: a task that works in every repository, shows the parts of a scenario, and measures little."""

from typing import Final

from scylla_gha.mining.languages import SAFE_NAME
from scylla_gha.mining.repository import LINK, CommitFile, RepositoryCheckout, contents, tree_of
from scylla_gha.onboarding.scaffold import PROGRAM, ScaffoldFile, ScaffoldTask, TaskCheck, TaskStart, filled, new_file

_LIST: Final = "FILE-LIST.md"
_EXAMPLE_FILES: Final = 12
_EXAMPLE_BYTES: Final = 8192
_LEAST_FILES: Final = 2
_MADE_UP_FILES: Final = (
    ScaffoldFile("README.md", b"# A place to start\n"),
    ScaffoldFile("notes/first.txt", b"Replace this fixture by code of your own.\n"),
    ScaffoldFile("notes/second.txt", b"Nothing in these notes matters.\n"),
)
_PROMPT: Final = f"""\
Write a file `{_LIST}` that lists all files of this repository, except itself: one line per file, each of the form
`- path/of/the/file`, sorted by the path (byte by byte, as `LC_ALL=C sort` does), and no other line. Change no other
file.
"""


def example(checkout: RepositoryCheckout, ours: tuple[str, ...]) -> ScaffoldTask:
    """Return the example task, on files of the repository if it has enough of them.

    Args:
        checkout: the repository.
        ours: folders of this toolkit's files; none of their files is used.
    """
    files = _some_files(checkout, ours) if checkout.head else ()
    enough = len(files) >= _LEAST_FILES
    start = files if enough else _MADE_UP_FILES
    names = sorted((file.path for file in start), key=str.encode)
    return ScaffoldTask(
        id="101-list-the-files",
        title="List the files of the repository",
        origin=f"an example on {'files of this repository' if enough else 'made-up files'}; it shows the parts of a "
        "scenario, and measures little",
        category="documentation",
        prompt=_PROMPT,
        start=TaskStart(files=start),
        solution=_lists(names),
        wrong={"last-one-missing": _lists(names[:-1]), "not-sorted": _lists(names[::-1])},
        checks=(
            TaskCheck("complete", "Every file is listed, and nothing else", 'sh "$CHECKS/list.sh" complete'),
            TaskCheck("in-order", "The list is sorted", 'sh "$CHECKS/list.sh" in-order'),
            TaskCheck("untouched", "The other files are as they were", 'sh "$CHECKS/list.sh" untouched', guard=True),
        ),
        is_example=True,
        hidden=(ScaffoldFile("list.sh", filled("list.sh", file=_LIST).encode(), PROGRAM),),
    )


def _lists(names: list[str]) -> bytes:
    return new_file(_LIST, "".join(f"- {name}\n" for name in names))


def _some_files(checkout: RepositoryCheckout, ours: tuple[str, ...]) -> tuple[ScaffoldFile, ...]:
    """Return small text files of the last commit, top-level files first."""
    blobs = tree_of(checkout, checkout.head or "").blobs
    small = [(path, blob) for path, blob in blobs.items() if _fits(path, blob) and not path.startswith(ours)]
    small.sort(key=lambda item: (item[0].count("/"), not item[0].startswith("README"), item[0]))
    first = small[: 2 * _EXAMPLE_FILES]
    texts = contents(checkout, [blob for _, blob in first])
    pairs = zip(first, texts, strict=True)
    files = [ScaffoldFile(path, text, blob.mode) for (path, blob), text in pairs if b"\0" not in text]
    return tuple(files[:_EXAMPLE_FILES])


def _fits(path: str, blob: CommitFile) -> bool:
    plain = SAFE_NAME.fullmatch(path) and not any(part.startswith(".") for part in path.split("/"))
    return bool(plain) and blob.mode != LINK and blob.size <= _EXAMPLE_BYTES and path != _LIST
