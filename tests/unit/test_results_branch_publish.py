import datetime
import functools
import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from scylla_gha.errors import ConfigError, GitHubError
from scylla_gha.model.publication import RunIndexEntry, RunManifest, RunName
from scylla_gha.results_branch.clone import BranchClone
from scylla_gha.results_branch.publish_run import PushBackoff, publish_run, run_files
from scylla_gha.results_branch.stored_runs import index_entries
from tests.support.branch import BRANCH, NAME, a_run, bare, copy_of, paths
from tests.support.git import shell
from tests.support.records import WHEN, make_result
from tests.support.sent import CELLS

NOW = datetime.datetime.now(datetime.UTC)
HERE = f"v1/runs/{NOW:%Y/%m}/demo/7-1"
AT_ONCE = PushBackoff(sleep=lambda _: None)


class Racing(BranchClone):
    """A copy whose every commit is overtaken by others, so often."""

    def __init__(self, mine: BranchClone, others: Sequence[Callable[[], None]]) -> None:
        self.__dict__.update(mine.__dict__)
        self.others = list(others)

    def push(self, commit: str) -> None:
        if self.others:
            self.others.pop(0)()
        super().push(commit)


def test_the_first_run_makes_the_branch_and_nothing_else(tmp_path: Path) -> None:
    server = bare(tmp_path)
    made = publish_run(copy_of(tmp_path, server), a_run(tmp_path, head="c0ffee"))
    assert (made.new, made.tries, made.entry.folder) == (True, 1, HERE)
    assert paths(server) == [f"v1/index/{NOW:%Y-%m}/demo--7-1.json", f"{HERE}/manifest.json", f"{HERE}/report.json",
                             f"{HERE}/rows-000.jsonl.gz"]  # fmt: skip
    assert shell(server, "git for-each-ref --format='%(refname)'") == f"refs/heads/{BRANCH}"
    said = shell(server, f"git log -1 --format='%an|%ae|%cn|%P|%B' {BRANCH}")
    bot = "41898282+github-actions[bot]@users.noreply.github.com"
    assert said == f"github-actions[bot]|{bot}|github-actions[bot]||demo/7-1\n\n4 of 4 cells judged, 4 passed"
    shell(server, "git fsck --strict --no-dangling")


def test_index_and_manifest_tell_of_each_file(tmp_path: Path) -> None:
    run = a_run(tmp_path, head="c0ffee", branch="main", campaign="c", wave=2)
    entry, files = run_files(run, WHEN, "2026-01")
    folder = "v1/runs/2026/01/demo/7-1"
    assert RunIndexEntry.model_validate_json(files["v1/index/2026-01/demo--7-1.json"]) == entry
    assert (entry.folder, entry.origin, entry.counts.planned, entry.passed) == (folder, run.origin, 4, 4)
    assert (entry.complete, entry.verdict) == (True, "not_enough_data")
    told = files[f"{folder}/manifest.json"]
    manifest = RunManifest.model_validate_json(told)
    assert entry.manifest == hashlib.sha256(told).hexdigest()
    for part in manifest.files:
        content = files[f"{folder}/{part.name}"]
        assert (part.bytes, part.sha256) == (len(content), hashlib.sha256(content).hexdigest())
    assert [part.rows for part in manifest.files] == [None, 4]


def test_the_same_run_is_published_once(tmp_path: Path) -> None:
    server = bare(tmp_path)
    publish_run(copy_of(tmp_path, server), a_run(tmp_path))
    tip = shell(server, f"git rev-parse {BRANCH}")
    again = publish_run(copy_of(tmp_path, server), a_run(tmp_path))
    assert (again.new, again.tries, again.entry.folder) == (False, 0, HERE)
    assert shell(server, f"git rev-parse {BRANCH}") == tip


def test_what_is_published_never_changes(tmp_path: Path) -> None:
    server = bare(tmp_path)
    publish_run(copy_of(tmp_path, server), a_run(tmp_path))
    other = a_run(tmp_path, make_result(CELLS[0]))
    with pytest.raises(ConfigError, match="demo/7-1: is on scylla-results already, with other content"):
        publish_run(copy_of(tmp_path, server), other)
    publish_run(
        copy_of(tmp_path, server), a_run(tmp_path, make_result(CELLS[0]), name=NAME.model_copy(update={"attempt": 2}))
    )
    assert len(index_entries(copy_of(tmp_path, server))) == 2


def test_who_is_overtaken_commits_anew_on_what_the_other_pushed(tmp_path: Path) -> None:
    server = bare(tmp_path)

    def other(run: str) -> Callable[[], None]:
        return lambda: _publish(tmp_path, server, run)

    waited: list[float] = []
    racing = Racing(copy_of(tmp_path, server), [other("1"), other("2"), other("3")])
    made = publish_run(racing, a_run(tmp_path), PushBackoff(sleep=waited.append))
    assert (made.new, made.tries, len(waited)) == (True, 4, 3)
    names = [str(entry.name) for entry in index_entries(copy_of(tmp_path, server))]
    assert names == ["demo/1-1", "demo/2-1", "demo/3-1", "demo/7-1"]
    assert shell(server, f"git rev-list --count {BRANCH}") == "4"
    assert shell(server, f"git rev-list --count --merges {BRANCH}") == "0"


def _publish(tmp_path: Path, server: Path, run: str) -> None:
    publish_run(copy_of(tmp_path, server), a_run(tmp_path, name=RunName(experiment="demo", run=run)), AT_ONCE)


def test_the_same_run_from_two_jobs_at_once_is_there_once(tmp_path: Path) -> None:
    server = bare(tmp_path)
    racing = Racing(copy_of(tmp_path, server), [lambda: _publish(tmp_path, server, "7")])
    made = publish_run(racing, a_run(tmp_path), AT_ONCE)
    assert (made.new, made.tries) == (False, 1)
    assert len(index_entries(copy_of(tmp_path, server))) == 1


def test_who_is_overtaken_every_time_gives_up_and_says_so(tmp_path: Path) -> None:
    server = bare(tmp_path)
    others = [functools.partial(_publish, tmp_path, server, str(run)) for run in range(3)]
    why = r"(?s)demo/7-1: not published after 3 tries; run `scylla-gha publish` again\. .*rejected"
    with pytest.raises(GitHubError, match=why):
        publish_run(
            Racing(copy_of(tmp_path, server), others), a_run(tmp_path), PushBackoff(tries=3, sleep=lambda _: None)
        )


def test_a_refusal_for_good_is_not_tried_again(tmp_path: Path) -> None:
    server = bare(tmp_path)
    hook = server / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho 'GH006: Protected branch update failed' >&2\nexit 1\n")
    hook.chmod(0o755)
    with pytest.raises(GitHubError, match=r"(?s)scylla-results was not pushed: .*pre-receive hook declined.*"
                                          "needs `contents: write`"):  # fmt: skip
        publish_run(copy_of(tmp_path, server), a_run(tmp_path), PushBackoff(sleep=lambda _: pytest.fail("waited")))


def test_a_full_month_goes_on_in_a_further_folder(tmp_path: Path) -> None:
    server = bare(tmp_path)
    first = publish_run(copy_of(tmp_path, server), a_run(tmp_path)).entry
    copy = copy_of(tmp_path, server)
    copy.refresh()
    files = {f"v1/index/{NOW:%Y-%m}/demo--full{at}-1.json": b"{}" for at in range(2899)}
    copy.push(copy.commit(files, "many"))
    made = publish_run(copy_of(tmp_path, server), a_run(tmp_path, name=RunName(experiment="demo", run="8")))
    assert made.entry.folder == f"v1/runs/{NOW:%Y/%m}.2/demo/8-1"
    assert f"v1/index/{NOW:%Y-%m}.2/demo--8-1.json" in paths(server)
    assert index_entries(copy_of(tmp_path, server)) == [first, made.entry]


def test_waits_are_random_and_bounded() -> None:
    waited: list[float] = []
    backoff = PushBackoff(first=0.25, longest=4.0, sleep=waited.append)
    for tried in [*range(1, 20), 10**6]:
        backoff.wait(tried, 0.1)
    assert all(0 <= one <= 4 for one in waited)
    assert waited[0] <= 0.5
    assert len(set(waited)) == 20
    backoff.wait(1, 1.5)
    assert 0 <= waited[-1] <= 3


def test_costs_that_are_unknown_stay_unknown(tmp_path: Path) -> None:
    known, _ = run_files(
        a_run(tmp_path, make_result(CELLS[0], usd=0.5), make_result(CELLS[1], usd=0.25)), WHEN, "2026-01"
    )
    assert (known.usd, known.complete) == (0.75, False)
    unknown, files = run_files(a_run(tmp_path, make_result(CELLS[0], usd=None)), WHEN, "2026-01")
    assert json.loads(files["v1/index/2026-01/demo--7-1.json"])["usd"] is None
    assert unknown.usd is None
