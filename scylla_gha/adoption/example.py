"""A small task that any repository can have: list some of its own files. It shows the parts; it measures little."""

from typing import Final

from scylla_gha.adoption.languages import SAFE_NAME
from scylla_gha.adoption.repository import LINK, Blob, Checkout, contents, tree_of
from scylla_gha.adoption.task import PROGRAM, Check, File, Start, Task, new_file
from scylla_gha.adoption.templates import filled

_LIST: Final = "FILE-LIST.md"
_MOST_FILES: Final = 12
_MOST_BYTES: Final = 8192
_LEAST_FILES: Final = 2
_OWN: Final = (
    File("README.md", b"# A place to start\n"),
    File("notes/first.txt", b"Replace this fixture by code of your own.\n"),
    File("notes/second.txt", b"Nothing in these notes matters.\n"),
)
_PROMPT: Final = f"""\
Write a file `{_LIST}` that lists all files of this repository, except itself: one line per file, each of the form
`- path/of/the/file`, sorted by the path (byte by byte, as `LC_ALL=C sort` does), and no other line. Change no other
file.
"""


def example(checkout: Checkout, ours: tuple[str, ...]) -> Task:
    """The task, on files of the repository where it has some.

    Args:
        checkout: the repository.
        ours: folders that this toolkit's own files lie in; none of their files is taken.
    """
    files = _some_files(checkout, ours) if checkout.head else ()
    enough = len(files) >= _LEAST_FILES
    start = files if enough else _OWN
    names = sorted((file.path for file in start), key=str.encode)
    return Task(
        id="101-list-the-files",
        title="List the files of the repository",
        origin=f"an example on {'files of this repository' if enough else 'made-up files'}; it shows the parts of a "
        "scenario, and measures little",
        category="documentation",
        prompt=_PROMPT,
        start=Start(files=start),
        solution=_lists(names),
        wrong={"last-one-missing": _lists(names[:-1]), "not-sorted": _lists(names[::-1])},
        checks=(
            Check("complete", "Every file is listed, and nothing else", 'sh "$CHECKS/list.sh" complete'),
            Check("in-order", "The list is sorted", 'sh "$CHECKS/list.sh" in-order'),
            Check("untouched", "The other files are as they were", 'sh "$CHECKS/list.sh" untouched', guard=True),
        ),
        is_example=True,
        hidden=(File("list.sh", filled("list.sh", file=_LIST).encode(), PROGRAM),),
    )


def _lists(names: list[str]) -> bytes:
    return new_file(_LIST, "".join(f"- {name}\n" for name in names))


def _some_files(checkout: Checkout, ours: tuple[str, ...]) -> tuple[File, ...]:
    """Small text files of the last commit, those at the top first."""
    blobs = tree_of(checkout, checkout.head or "").blobs
    fit = [(path, blob) for path, blob in blobs.items() if _fits(path, blob) and not path.startswith(ours)]
    fit.sort(key=lambda each: (each[0].count("/"), not each[0].startswith("README"), each[0]))
    some = fit[: 2 * _MOST_FILES]
    texts = contents(checkout, [blob for _, blob in some])
    made = [File(path, text, blob.mode) for (path, blob), text in zip(some, texts, strict=True) if b"\0" not in text]
    return tuple(made[:_MOST_FILES])


def _fits(path: str, blob: Blob) -> bool:
    plain = SAFE_NAME.fullmatch(path) and not any(part.startswith(".") for part in path.split("/"))
    return bool(plain) and blob.mode != LINK and blob.size <= _MOST_BYTES and path != _LIST
