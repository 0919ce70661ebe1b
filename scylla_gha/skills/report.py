"""Check of all skills in a folder, with results as lines, JSON and SARIF."""

import json
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import quote

from scylla_gha import __version__
from scylla_gha.agents.skill_listing import SkillListing
from scylla_gha.counting import counted, first_of
from scylla_gha.errors import ConfigError
from scylla_gha.model import one_line
from scylla_gha.skills import SkillFinding
from scylla_gha.skills.checks import count_findings, duplicate_findings, specification_findings
from scylla_gha.skills.eval_paths import EvalPath, EvalSearch, link_findings, without_copies
from scylla_gha.skills.find import SkillFolder, command_names, find_skills, top_of
from scylla_gha.skills.listing import (
    ShownDescriptions,
    listing_findings,
    overlap_findings,
    shown_descriptions,
)
from scylla_gha.skills.read_evals import EvalFile, EvalReader
from scylla_gha.skills.read_triggers import KnownSkills
from scylla_gha.skills.references import file_findings, skill_content
from scylla_gha.skills.skill_file import SkillFile, read_skill_file

_EXAMPLES: Final = {
    "evals": ("evals/evals.json", '{"evals": [{"id": 1, "prompt": "...", "expectations": ["..."]}]}'),
    "triggers": ("evals/trigger-evals.json", '[{"query": "...", "should_trigger": true}]'),
}
_LEVELS: Final = ("error", "warning", "note")
_MOST_FILES: Final = 2_000  # in the folders of evals of one skill
_MOST_NAMED: Final = 12
_LONGEST_LINE: Final = 500
_SARIF_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"


@dataclass(frozen=True, slots=True)
class CheckedSkill:
    """A skill, its files of evals, and the findings about both."""

    name: str
    folder: str
    file: str
    invoked_as: tuple[str, ...]
    user_only: bool
    files: tuple[EvalFile, ...]
    findings: tuple[SkillFinding, ...]

    @property
    def counts(self) -> dict[str, int]:
        """Return the numbers of evals, assertions and queries."""
        evals = [skill_eval for file in self.files for skill_eval in file.evals]
        assertions = [assertion for skill_eval in evals for assertion in skill_eval.assertions]
        queries = [query for file in self.files for query in file.queries]
        coded = sum(assertion.code is not None for assertion in assertions)
        positive = sum(bool(query.label.expected) for query in queries)
        return {
            "evals": len(evals),
            "judged": len(assertions) - coded,
            "coded": coded,
            "about_the_skill": sum(assertion.about_skill for assertion in assertions),
            "invoked_by_name": sum(skill_eval.by_name for skill_eval in evals),
            "should_trigger": positive,
            "should_not_trigger": len(queries) - positive,
            "not_evals": sum(file.kind == "not evals" for file in self.files),
        }


@dataclass(frozen=True, slots=True)
class SkillsCheck:
    """Result for a folder; `findings` are about the folder, not about a skill."""

    root: Path
    skills: tuple[CheckedSkill, ...]
    listing: tuple[ShownDescriptions, ...]
    findings: tuple[SkillFinding, ...]

    @property
    def all_findings(self) -> list[SkillFinding]:
        """Findings of all skills and of the folder."""
        return [*(finding for skill in self.skills for finding in skill.findings), *self.findings]

    def counted_levels(self) -> Counter[str]:
        """Return the number of findings per level."""
        return Counter(finding.level for finding in self.all_findings)

    def require_entries(self, kind: str) -> None:
        """Check that a skill has a file of a kind, `evals` or `triggers`.

        Raises:
            ConfigError: none has.
        """
        has_queries = any(file.queries for skill in self.skills for file in skill.files)
        has_file = any(file.kind == kind for skill in self.skills for file in skill.files)
        if not has_file and not (kind == "triggers" and has_queries):
            name, example = _EXAMPLES[kind]
            raise ConfigError(
                f"--only {kind}: no skill in {self.root} has {kind}; write {name} beside SKILL.md: {example}"
            )


def check_skills(root: Path, rules: SkillListing | None, progress: Callable[[int, int], None]) -> SkillsCheck:
    """Check all skills in a folder, without a model and without the network.

    Args:
        root: folder of one skill, or of several.
        rules: the agent's rules for its list of skills; None: unknown, so the list is not checked.
        progress: called with the number of checked skills, and of all skills.

    Raises:
        ConfigError: there is no skill.
    """
    root = root.resolve()
    folders, findings = find_skills(root)
    if not folders:
        links = f" ({counted(len(findings), 'link is', 'links are')} not followed)" if findings else ""
        raise ConfigError(f"{root}: no SKILL.md in it or below it{links}; name the folder of a skill, or one above it")
    read = [(folder, read_skill_file(folder.file)) for folder in folders]
    names = frozenset({*(folder.name for folder in folders), *(file.text("name") for _, file in read)} - {""})
    names |= command_names(root)
    shown = shown_descriptions(read, rules) if rules else []
    listing = listing_findings(read, shown, rules) if rules else ()
    together = [*duplicate_findings(read), *listing, *overlap_findings(read)]
    search = EvalSearch(root, len({folder.name for folder in folders}) == 1)
    paths = {folder.folder: search.files(folder, file.text("name")) for folder, file in read}
    skills = []
    for number, (folder, file) in enumerate(read):
        progress(number, len(read))
        unread = link_findings(folder, file.text("name"), is_only=len(read) == 1)
        together_here = [*unread, *(finding for finding in together if finding.path == folder.shown(folder.file))]
        skills.append(_check_skill(folder, file, paths[folder.folder], names, together_here))
    skills = list(_without_repeated(skills))
    known = {found.path for files in paths.values() for found in files}
    findings += [*_shared_findings(skills), *search.unread(folders, known), *_without_evals(skills)]
    return SkillsCheck(root, tuple(skills), tuple(shown), tuple(findings))


def _without_repeated(skills: Iterable[CheckedSkill]) -> Iterator[CheckedSkill]:
    """Yield skills; a finding about a file of several skills stays at the first of them."""
    seen: set[SkillFinding] = set()
    for skill in skills:
        yield replace(skill, findings=tuple(finding for finding in skill.findings if finding not in seen))
        seen.update(finding for file in skill.files for finding in file.findings)


def _shared_findings(skills: Sequence[CheckedSkill]) -> Iterator[SkillFinding]:
    """Yield a note on each file that counts for several skills."""
    names: dict[str, list[str]] = {}
    for skill in skills:
        for file in skill.files:
            if file.kind != "not evals":
                names.setdefault(file.path, []).append(skill.name)
    for path, owners in names.items():
        if len(owners) > 1:
            message = f"counts for {counted(len(owners), 'skill')}: {first_of(owners, _MOST_NAMED)}"
            yield SkillFinding("evals", "note", path, 1, message)


def _without_evals(skills: list[CheckedSkill]) -> Iterator[SkillFinding]:
    """Yield one finding about all skills without evals."""
    without = [skill for skill in skills if all(file.kind == "not evals" for file in skill.files)]
    if without:
        what = counted(len(without), "skill has", "skills have")
        name, example = _EXAMPLES["evals"]
        message = f"{what} no evals; begin with a file {name} beside SKILL.md: {example}"
        yield SkillFinding("no-evals", "note", without[0].file, 1, message)


def _check_skill(
    skill: SkillFolder, file: SkillFile, found: list[EvalPath], names: frozenset[str], together: list[SkillFinding]
) -> CheckedSkill:
    user_only = file.is_true("disable-model-invocation")
    beside = (
        {path.name for path in skill.folder.parent.iterdir() if path.is_dir()} if skill.folder == skill.root else set()
    )
    known = KnownSkills(
        skill.name, names | {name for name in beside if (skill.folder.parent / name / "SKILL.md").is_file()}
    )
    reader = EvalReader(skill, file.text("name"), known, user_only)
    different, copies = without_copies(found)
    files = tuple(reader.read(each) for each in different[:_MOST_FILES])
    path = skill.shown(skill.file)
    findings = [
        *specification_findings(skill, file),
        *together,
        *file_findings(skill_content(skill), file),
        *count_findings(files, user_only=user_only),
        *(finding for eval_file in files for finding in eval_file.findings),
    ]
    for copy, first in copies.items():
        message = f"is equal to {skill.shown(first)}, which is read"
        findings.append(SkillFinding("evals", "note", skill.shown(copy), 1, message))
    if len(different) > _MOST_FILES:
        message = f"has more than {_MOST_FILES:,} files in its folders of evals; only these were read"
        findings.append(SkillFinding("evals", "warning", path, 1, message))
    return CheckedSkill(
        skill.name, skill.shown(skill.folder), path, skill.invoked_as, user_only, files, tuple(findings)
    )


def check_lines(check: SkillsCheck, shown_root: Path) -> Iterator[str]:
    """Yield the command's output lines; `shown_root` is the folder as the user named it."""
    for skill in check.skills:
        yield one_line(f"{skill.name} ({shown_root / skill.folder}): {_counts_text(skill)}")
        for file in skill.files:
            if file.kind != "not evals":
                yield f"  {one_line(str(shown_root / file.path))}: {_file_text(file)}"
        if left := [file.path for file in skill.files if file.kind == "not evals"]:
            yield f"  not evals, ignored:  {one_line(first_of(left, _MOST_NAMED))}"
        for finding in sorted(skill.findings, key=lambda finding: _LEVELS.index(finding.level)):
            yield f"  {_finding_text(finding, shown_root)}"
    yield from (_finding_text(finding, shown_root) for finding in check.findings)
    yield from (_listing_text(listing) for listing in check.listing)
    levels = check.counted_levels()
    numbers = ", ".join(counted(levels[level], level) for level in _LEVELS)
    yield f"{counted(len(check.skills), 'skill')}: {numbers}"


def error_lines(check: SkillsCheck, shown_root: Path, kinds: Collection[str]) -> Iterator[str]:
    """Yield a line on each file of evals or queries of which not all is run, since it has errors."""
    for file in (file for skill in check.skills for file in skill.files if file.kind in kinds):
        errors = [finding for finding in file.findings if finding.level == "error"]
        if errors:
            what = counted(file.in_error, "entry with an error is", "entries with errors are")
            missing = f"{what} not run" if file.read else "has errors; nothing of it is run"
            yield f"{shown_root / file.path}:{errors[0].line}: {missing}"


def _finding_text(finding: SkillFinding, root: Path) -> str:
    text = one_line(f"{root / finding.path}:{finding.line}: {finding.level}: {finding.message} [{finding.rule}]")
    return text if len(text) <= _LONGEST_LINE else f"{text[:_LONGEST_LINE]}..."


def _counts_text(skill: CheckedSkill) -> str:
    counts = skill.counts
    parts = []
    if counts["evals"]:
        assertions = counted(counts["judged"] + counts["coded"], "assertion")
        parts.append(f"{counted(counts['evals'], 'eval')} with {assertions}, {counts['coded']} of them decided by code")
    if total := counts["should_trigger"] + counts["should_not_trigger"]:
        queries = counted(total, "query", "queries")
        parts.append(f"{queries}, {counts['should_trigger']} of them should trigger a skill")
    return "; ".join(parts) or "no evals"


def _file_text(file: EvalFile) -> str:
    if file.is_unreadable:
        return "cannot be read"
    entries = counted(file.entries, "entry", "entries")
    return f"{file.kind}: {entries}, {file.read} read, {file.skipped} skipped, {file.in_error} in error"


def _listing_text(listing: ShownDescriptions) -> str:
    total = len(listing.whole) + len(listing.by_name_only)
    text = f"{listing.models} in {listing.version}: {len(listing.whole)} of {counted(total, 'description')} shown"
    if listing.by_name_only:
        text += f"; by name only: {first_of(listing.by_name_only, _MOST_NAMED)}"
    return one_line(f"{text} ({listing.used:,} of {counted(listing.room, 'character')})")


def annotations(check: SkillsCheck) -> Iterator[tuple[Literal["error", "warning"], SkillFinding]]:
    """Yield errors, then warnings, with paths from the top folder of the repository."""
    prefix = check.root.relative_to(top_of(check.root))
    for level in ("error", "warning"):
        for finding in check.all_findings:
            if finding.level == level:
                yield level, replace(finding, path=os.path.normpath(prefix / finding.path))


def setup_finding(check: SkillsCheck) -> tuple[bool, str, str]:
    """Return `doctor`'s result for the skills in a folder: whether all are valid, a summary, and a command."""
    levels = check.counted_levels()
    with_evals = sum(any(file.kind != "not evals" for file in skill.files) for skill in check.skills)
    what = f"{counted(len(check.skills), 'skill')}, {with_evals} with evals or queries"
    if levels["error"]:
        what += f"; {counted(levels['error'], 'error')}"
    return not levels["error"], what, "" if with_evals and not levels["error"] else "scylla-gha skill ."


def check_data(check: SkillsCheck) -> dict[str, Any]:
    """Return the result as a value for JSON."""
    skills = [{**asdict(skill), "counts": skill.counts} for skill in check.skills]
    listing = [asdict(shown) for shown in check.listing]
    findings = [asdict(finding) for finding in check.findings]
    return {"root": str(check.root), "skills": skills, "listing": listing, "findings": findings}


def check_sarif(check: SkillsCheck) -> str:
    """Return the findings as SARIF 2.1.0; paths are relative to the top folder of the repository."""
    prefix = check.root.relative_to(top_of(check.root))
    rules = sorted({finding.rule for finding in check.all_findings})
    results = [_sarif_result(finding, prefix) for finding in check.all_findings]
    driver = {
        "name": "scylla-gha",
        "version": __version__,
        "rules": [{"id": f"skill/{rule}", "shortDescription": {"text": f"Check of skills: {rule}"}} for rule in rules],
    }
    runs = [{"tool": {"driver": driver}, "results": results, "columnKind": "unicodeCodePoints"}]
    return json.dumps({"$schema": _SARIF_SCHEMA, "version": "2.1.0", "runs": runs}, indent=1)


def _sarif_result(finding: SkillFinding, prefix: Path) -> dict[str, Any]:
    location = {
        "artifactLocation": {"uri": quote((prefix / finding.path).as_posix(), errors="surrogateescape")},
        "region": {"startLine": finding.line},
    }
    return {
        "ruleId": f"skill/{finding.rule}",
        "level": finding.level,
        "message": {"text": one_line(finding.message)},
        "locations": [{"physicalLocation": location}],
    }
