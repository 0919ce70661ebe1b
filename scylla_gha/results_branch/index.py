"""The index of the results branch: its runs, and the choice of the run to compare with."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pydantic import ValidationError

from scylla_gha.errors import ConfigError
from scylla_gha.model.publication import RunIndexEntry, RunName
from scylla_gha.results_branch.clone import BranchClone

INDEX: Final = "v1/index"
_SHORT: Final = 7  # characters of a commit that tell it


@dataclass(frozen=True, slots=True)
class RunQuery:
    """A selection of runs; None matches any. `run` is `<run>`, `<run>-<attempt>`, or either behind `<experiment>/`."""

    experiment: str | None = None
    branch: str | None = None
    commit: str | None = None
    campaign: str | None = None
    run: str | None = None
    complete: bool = False


def index_entries(copy: BranchClone) -> list[RunIndexEntry]:
    """Return all runs of a branch, oldest first; none if the branch does not exist.

    Entries of a later version of the toolkit, and files that are not entries, are skipped.

    Raises:
        GitHubError: the remote is out of reach.
    """
    copy.refresh()
    found = [_entry(content) for content in copy.fetch(copy.files(INDEX).values()).values()]
    return sorted((one for one in found if one), key=lambda one: (one.published_at, str(one.name)))


def index_entry(copy: BranchClone, index: Mapping[str, str], name: RunName) -> RunIndexEntry | None:
    """Return the entry of one run among the files of the index.

    Raises:
        ConfigError: its file is not an entry.
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
    """Return the month folder of an index file."""
    return path.split("/")[-2]


def _entry(content: bytes) -> RunIndexEntry | None:
    try:
        return RunIndexEntry.model_validate_json(content)
    except ValidationError:
        return None


def select_runs(found: Iterable[RunIndexEntry], wanted: RunQuery) -> list[RunIndexEntry]:
    """Return the selected runs, oldest first.

    Raises:
        ConfigError: a commit is abbreviated to too few characters.
    """
    if wanted.commit is not None and len(wanted.commit) < _SHORT:
        raise ConfigError(f"--commit {wanted.commit}: takes at least {_SHORT} characters")
    every = list(found)
    begun = {_campaign(entry) for entry in every if entry.origin.branch == wanted.branch}
    return [entry for entry in every if _is_meant(entry, wanted) and _is_on(entry, wanted.branch, begun)]


def last_waves(runs: Sequence[RunIndexEntry]) -> list[RunIndexEntry]:
    """Return only the last wave of each campaign, which contains the rows of earlier waves; order is preserved."""
    last = {_campaign(entry): entry for entry in runs if entry.origin.campaign is not None}
    return [entry for entry in runs if entry.origin.campaign is None or last[_campaign(entry)] is entry]


def _is_on(entry: RunIndexEntry, branch: str | None, begun: Collection[tuple[str | None, str | None]]) -> bool:
    """Return whether a run belongs to a branch; later waves, which run on a tag, belong to their campaign's."""
    origin = entry.origin
    is_later_wave = (origin.wave or 1) > 1 and origin.branch is None and origin.pull is None
    return branch in {None, origin.branch} or (is_later_wave and _campaign(entry) in begun)


def _campaign(entry: RunIndexEntry) -> tuple[str | None, str | None]:
    return entry.origin.campaign, entry.origin.head


def _is_meant(entry: RunIndexEntry, wanted: RunQuery) -> bool:
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


def baseline(found: Sequence[RunIndexEntry], wanted: RunQuery) -> RunIndexEntry | None:
    """Return the run to compare with: the last complete selected run, or the last one if none is complete."""
    meant = select_runs(found, wanted)
    whole = [entry for entry in meant if entry.complete]
    return next(reversed(whole or meant), None)
