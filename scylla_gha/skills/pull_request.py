"""Measurement of a pull request's skills: those that it changes, with the evals of the version before."""

import hashlib
import os
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from scylla_gha.counting import counted, first_of
from scylla_gha.errors import ConfigError, ScyllaError
from scylla_gha.model import digest
from scylla_gha.model.skill_measurement import REPORT_FILE, RUN, SkillMeasurement, SkillRow
from scylla_gha.report.branch_readme import skill_badge
from scylla_gha.report.document import clipped
from scylla_gha.skills.evals import base_version, named_folder
from scylla_gha.skills.find import holds_runs
from scylla_gha.skills.read_evals import EvalFile, SkillEval, TriggerQuery
from scylla_gha.skills.references import UNDELIVERED
from scylla_gha.skills.report import CheckedSkill, SkillsCheck, check_skills
from scylla_gha.skills.session import KINDS, Kind, PartReport, Print, SkillRequest, SkillsAnswer, missing_keys
from scylla_gha.store import read_record, write_record, write_text

_MOST_NAMED: Final = 12
_MOST_QUERIES: Final = 3
_LONGEST_QUERY: Final = 80
_BETWEEN, _POINTS, _TOO_FEW = ", ", " pt", "not enough data"  # of figures


@dataclass(frozen=True, slots=True)
class SkillChange:
    """A skill of a pull request, with the evals that measure it.

    Attributes:
        skill: to measure; if the pull request changes it and its evals, with those of the version before, and new ones.
        is_changed: its files or its evals differ from the last version.
        is_new: there is no last version.
        notes: which evals are used, in words.
    """

    skill: CheckedSkill
    is_changed: bool
    is_new: bool = False
    notes: tuple[str, ...] = ()

    @property
    def row(self) -> SkillRow:
        """Row of the skill, without an answer."""
        levels = [finding.level for finding in self.skill.findings]
        return SkillRow(
            name=self.skill.name,
            is_changed=self.is_changed,
            is_new=self.is_new,
            errors=levels.count("error"),
            warnings=levels.count("warning"),
            notes=self.notes,
        )


def skill_changes(check: SkillsCheck, base: Path | None) -> list[SkillChange]:
    """Compare all skills with those of the version before.

    Args:
        check: the checked skills of the pull request's head.
        base: the same folder in the version before; None: there is none, so that no skill counts as changed.
    """
    if base is None:
        return [SkillChange(skill, is_changed=False) for skill in check.skills]
    before = {skill.folder: skill for skill in _checked(base)}
    return [_change(check.root, skill, base, before.get(skill.folder)) for skill in check.skills]


def _checked(base: Path) -> Iterable[CheckedSkill]:
    try:
        return check_skills(base, None, lambda *_: None).skills
    except ConfigError:  # it had no skill
        return ()


def _change(root: Path, skill: CheckedSkill, base: Path, before: CheckedSkill | None) -> SkillChange:
    if before is None:
        return SkillChange(skill, is_changed=True, is_new=True)
    is_skill_changed = _files(root / skill.folder) != _files(base.resolve() / skill.folder)
    old, new = _entries(before), _entries(skill)
    changed = {name for name, value in old.items() if new.get(name) != value}
    added = new.keys() - old.keys()
    if not (is_skill_changed and changed):
        return SkillChange(skill, is_changed=is_skill_changed or bool(added or changed))
    kept = counted(len(changed), "eval or query is", "evals or queries are")
    note = f"{kept} as before this pull request, which changes both them and the skill"
    if added:
        note += f"; {counted(len(added), 'is', 'are')} new"
    return SkillChange(replace(skill, files=_merged(before, skill, added)), is_changed=True, notes=(f"{note}.",))


def _merged(before: CheckedSkill, skill: CheckedSkill, added: set[str]) -> tuple[EvalFile, ...]:
    """Return the files of the version before, with what is new."""
    files = {Path(file.path).name: file for file in before.files}
    for file in skill.files:
        name = Path(file.path).name
        old = files.get(name, replace(file, evals=[], queries=[]))
        evals = [entry for entry in file.evals if _key(file, entry) in added]
        queries = [query for query in file.queries if _key(file, query) in added]
        files[name] = replace(old, evals=[*old.evals, *evals], queries=[*old.queries, *queries])
    return tuple(files.values())


def _files(folder: Path) -> dict[str, bytes]:
    """Return the content of a skill's files, without its evals and tests."""
    contents: dict[str, bytes] = {}
    for text, folders, names in os.walk(folder):
        inside = Path(text)
        closed = {name for name in folders if name in UNDELIVERED or name == ".git" or holds_runs(inside / name)}
        folders[:] = [name for name in folders if name not in closed]
        paths = (inside / name for name in names if name != "evals.json")
        contents |= {str(path.relative_to(folder)): path.read_bytes() for path in paths if path.is_file()}
    return contents


def _digest(folder: Path) -> str:
    files = {name: hashlib.sha256(content).hexdigest() for name, content in _files(folder).items()}
    return digest(files)


def _entries(skill: CheckedSkill) -> dict[str, object]:
    """Return what an agent and judges get of each eval and query, by its key."""
    entries: dict[str, object] = {}
    for file in skill.files:
        for entry in file.evals:
            value = (entry.prompt, entry.expected, entry.assertions, entry.setup, _content(entry))
            entries[_key(file, entry)] = value
        entries |= {_key(file, query): query.label for query in file.queries}
    return entries


def _key(file: EvalFile, entry: SkillEval | TriggerQuery) -> str:
    """Return what identifies an eval or a query of a skill in two versions."""
    own = f"eval {entry.id}" if isinstance(entry, SkillEval) else f"query {entry.query}"
    return f"{Path(file.path).name} {own}"


def _content(skill_eval: SkillEval) -> list[tuple[str, bytes]]:
    """Return the names and contents of an eval's files."""
    contents: list[tuple[str, bytes]] = []
    for name, content in skill_eval.files.items():
        if content is not None:
            contents.append((name, content.encode()))
            continue
        path = Path(name)
        inner = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
        contents += [(file.name, file.read_bytes()) for file in inner]
    return contents


def measure_changes(
    request: SkillRequest,
    check: SkillsCheck,
    names: Sequence[str],
    measure: Callable[[SkillsCheck], SkillsAnswer],
    say: Print,
    *,
    only_changed: bool,
) -> SkillsAnswer:
    """Measure some of the skills, and store the answer for a comment.

    Args:
        request: options.
        check: all checked skills; those that are not measured are installed beside the others.
        names: of the skills to measure; empty: all.
        measure: measures skills.
        say: prints a line.
        only_changed: measure only those that differ from the last version.

    Raises:
        ConfigError: a named skill, eval or query does not exist, or there is no last version.
    """
    require_known_parts(request, check, names)
    # Without a key an earlier badge turns grey if the skill changed, and a comment in GitHub Actions tells the answer.
    is_in_actions = os.environ.get("GITHUB_ACTIONS") == "true"
    is_stored = not missing_keys(request) or is_in_actions or measurement_path(request).exists()
    with tempfile.TemporaryDirectory() as folder:
        base = base_version(request, check.root, Path(folder), say).root if only_changed else None
        if only_changed and base is None:
            raise ConfigError("--changed: there is no last version to compare with; give --base REF")
        changes = skill_changes(check, base)
        for change in changes:
            for note in change.notes:
                say(f"{change.skill.name}: {note}")
        rows = [_row(check.root, change) for change in changes]
        skills = [
            change.skill if _is_chosen(change, names, only_changed=only_changed) else replace(change.skill, files=())
            for change in changes
        ]
        named = [_under_its_name(check.root, skill, Path(folder) / "head") for skill in skills]
        try:
            answer = measure(replace(check, skills=tuple(named)))
        except ScyllaError as error:
            if is_stored:
                _store(request, SkillsAnswer(failure=error), rows)
            raise
    if is_stored or answer.reports:
        _store(request, answer, rows)
    return answer


def require_known_parts(request: SkillRequest, check: SkillsCheck, names: Sequence[str]) -> None:
    """Check that the named skills, evals and queries exist.

    Raises:
        ConfigError: one does not.
    """
    files = [file for skill in check.skills for file in skill.files]
    skills = [skill.name for skill in check.skills]
    ids = [skill_eval.id for file in files for skill_eval in file.evals]
    _require_known("--skill", "skill", sorted(set(names) - set(skills)), skills)
    _require_known("--eval", "eval", sorted(set(request.evals) - set(ids)), ids)
    texts = [query.query for file in files for query in file.queries]
    unknown = [part for part in request.queries if not any(part.lower() in text.lower() for text in texts)]
    if unknown:
        known = [clipped(" ".join(text.split()), _LONGEST_QUERY) for text in texts]
        there = f"there are: {first_of(known, _MOST_QUERIES, '; ')}" if known else "there are none"
        raise ConfigError(f"--query: no query contains the text {unknown[0]!r}; {there}")


def _require_known(option: str, what: str, unknown: Sequence[str], known: Sequence[str]) -> None:
    if unknown:
        there = f"there are: {first_of(known, _MOST_NAMED)}" if known else "there are none"
        raise ConfigError(f"{option}: {', '.join(unknown)}: no {what} in the checked folder has this name; {there}")


def _is_chosen(change: SkillChange, names: Sequence[str], *, only_changed: bool) -> bool:
    return (change.is_changed or not only_changed) and (not names or change.skill.name in names)


def _row(root: Path, change: SkillChange) -> SkillRow:
    return change.row.model_copy(update={"digest": _digest(root / change.skill.folder)})


def _under_its_name(root: Path, skill: CheckedSkill, staging: Path) -> CheckedSkill:
    """Return a skill whose folder has its name, which that of a clone may not have."""
    folder = named_folder(root / skill.folder, skill.name, staging) if skill.files else root / skill.folder
    return skill if folder == root / skill.folder else replace(skill, folder=str(folder))


def measurement_path(request: SkillRequest) -> Path:
    """Return the path of the stored answer."""
    return request.run(RUN).root / REPORT_FILE


def _store(request: SkillRequest, answer: SkillsAnswer, rows: Sequence[SkillRow]) -> None:
    """Write the answer, and a badge for each skill."""
    request.make_out()
    path = measurement_path(request)
    before = read_record(path, SkillMeasurement)
    answered = [_answered(row, answer, before) for row in rows]
    for row in answered:
        write_text(path.parent / f"{row.name}.svg", skill_badge(row.figures))
    write_record(path, SkillMeasurement(rows=tuple(answered), failure=str(answer.failure or "")))


def _answered(row: SkillRow, answer: SkillsAnswer, before: SkillMeasurement | None) -> SkillRow:
    """Return a row with its answer; what was not measured now keeps the figures of the same version of the skill."""
    earlier = before.rows if before else ()
    known = next((old.figures for old in earlier if (old.name, old.digest) == (row.name, row.digest)), "")
    values = _answer(row.name, answer)
    measured = {part.kind for part, report in answer.reports if any(_own_sentences(row.name, report))}
    return row.model_copy(update={**values, "figures": joined_figures(known, values["figures"], measured)})


def joined_figures(before: str, now: str, measured: Collection[Kind]) -> str:
    """Return figures of the kinds that were measured now, and those of before of the other kinds."""
    if not measured:
        return before
    pieces = {
        kind: [piece for piece in text.split(_BETWEEN) if piece.endswith(_POINTS) == (kind == "evals")]
        for kind in KINDS
        for text in [now if kind in measured else before]
    }
    known = [piece for kind in KINDS for piece in pieces[kind] if piece not in {"", _TOO_FEW}]
    return _BETWEEN.join(known) or _TOO_FEW


def _answer(name: str, answer: SkillsAnswer) -> dict[str, Any]:
    """Return what the parts say of one skill; a part on triggers is about several."""
    sentences: list[str] = []
    figures: list[str] = []
    is_worse = False
    for part, report in answer.reports:
        sentences += _own_sentences(name, report)
        is_worse |= report.is_worse and part.skill == name
        figures += _figures(name, report.data)
        for skill in report.data.get("skills", ()):
            changes = (skill["change"] or {}).values() if skill["skill"] == name else ()
            is_worse |= any(isinstance(ruling, dict) and ruling["verdict"] == "worse" for ruling in changes)
    short = _BETWEEN.join(figures) or (_TOO_FEW if sentences else "")
    return {"sentences": tuple(sentences), "figures": short, "is_worse": is_worse}


def _own_sentences(name: str, report: PartReport) -> list[str]:
    return [text.removeprefix(f"{name}: ") for text in report.sentences if text.startswith(f"{name}: ")]


def _figures(name: str, data: Mapping[str, Any]) -> Iterator[str]:
    """Yield the rates of triggers and the points that a skill helps by, without intervals."""
    for skill in data.get("skills", ()):
        if skill["skill"] == name:
            if skill["should"]:
                yield f"fires {100 * skill['should']['rate']:.0f} %"
            if skill["should_not"]:
                yield f"quiet {100 - 100 * skill['should_not']['rate']:.0f} %"
    for contrast in data.get("contrasts", ()) if data.get("skill") == name else ():
        if contrast["against"] == "none" and contrast["here"]:
            yield f"{100 * contrast['here']['value']:+.0f}{_POINTS}"
