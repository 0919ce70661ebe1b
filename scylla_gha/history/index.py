"""The index of the results branch: which runs there are, and which of them is the one to be held against."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pydantic import ValidationError

from scylla_gha.errors import ConfigError
from scylla_gha.history.copy import Copy
from scylla_gha.model.published import Entry, RunName

INDEX: Final = "v1/index"
_SHORT: Final = 7  # characters of a commit that tell it


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which runs are meant; None is any. `run` is `<run>`, `<run>-<attempt>`, or either behind `<experiment>/`."""

    experiment: str | None = None
    branch: str | None = None
    commit: str | None = None
    campaign: str | None = None
    run: str | None = None
    complete: bool = False


def entries(copy: Copy) -> list[Entry]:
    """All runs of a branch, the oldest first; none where there is no such branch.

    An entry of a later version of the toolkit, or that somebody else put there, is passed over.

    Raises:
        GitHubError: the remote is out of reach.
    """
    copy.refresh()
    found = [_entry(content) for content in copy.fetch(copy.files(INDEX).values()).values()]
    return sorted((one for one in found if one), key=lambda one: (one.published_at, str(one.name)))


def entry_in(copy: Copy, index: Mapping[str, str], name: RunName) -> Entry | None:
    """The entry of one run among the files of the index.

    Raises:
        ConfigError: its file is none.
    """
    named = [path for path in index if path.endswith(f"/{name.file}.json")]
    if not named:
        return None
    (content,) = copy.fetch([index[named[0]]]).values()
    found = _entry(content)
    if found is None:
        raise ConfigError(f"{copy.branch}: {named[0]}: is no entry of this version; publish under another --run")
    return found


def month_of(path: str) -> str:
    """The folder that a file of the index lies in."""
    return path.split("/")[-2]


def _entry(content: bytes) -> Entry | None:
    try:
        return Entry.model_validate_json(content)
    except ValidationError:
        return None


def chosen(found: Iterable[Entry], wanted: Wanted) -> list[Entry]:
    """The runs that are meant, the oldest first.

    Raises:
        ConfigError: a commit is named by too few characters.
    """
    if wanted.commit is not None and len(wanted.commit) < _SHORT:
        raise ConfigError(f"--commit {wanted.commit}: takes at least {_SHORT} characters")
    every = list(found)
    begun = {_campaign(entry) for entry in every if entry.origin.branch == wanted.branch}
    return [entry for entry in every if _is_meant(entry, wanted) and _is_on(entry, wanted.branch, begun)]


def last_waves(runs: Sequence[Entry]) -> list[Entry]:
    """Of the waves of each campaign the last one, since it holds the rows of those before it; runs stay in order."""
    last = {_campaign(entry): entry for entry in runs if entry.origin.campaign is not None}
    return [entry for entry in runs if entry.origin.campaign is None or last[_campaign(entry)] is entry]


def _is_on(entry: Entry, branch: str | None, begun: Collection[tuple[str | None, str | None]]) -> bool:
    """A later wave runs on a tag and not on a branch; it is of the one that its campaign began on."""
    origin = entry.origin
    is_later_wave = (origin.wave or 1) > 1 and origin.branch is None and origin.pull is None
    return branch in {None, origin.branch} or (is_later_wave and _campaign(entry) in begun)


def _campaign(entry: Entry) -> tuple[str | None, str | None]:
    return entry.origin.campaign, entry.origin.head


def _is_meant(entry: Entry, wanted: Wanted) -> bool:
    origin = entry.origin
    exact = ((wanted.experiment, entry.name.experiment), (wanted.campaign, origin.campaign))
    if any(asked is not None and asked != had for asked, had in exact):
        return False
    if wanted.commit is not None and not (origin.head or "").startswith(wanted.commit.lower()):
        return False
    if wanted.run is not None and wanted.run not in _names(entry.name):
        return False
    return entry.complete or not wanted.complete


def _names(name: RunName) -> tuple[str, ...]:
    return (name.run, f"{name.run}-{name.attempt}", str(name), f"{name.experiment}/{name.run}")


def baseline(found: Sequence[Entry], wanted: Wanted) -> Entry | None:
    """The run to hold others against: the last one that is meant, the last complete one where there is one."""
    meant = chosen(found, wanted)
    whole = [entry for entry in meant if entry.complete]
    return next(reversed(whole or meant), None)
