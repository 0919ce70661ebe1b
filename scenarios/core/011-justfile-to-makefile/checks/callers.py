"""The places that call the targets: nightly script, workflow and README."""

import os
import re
from pathlib import Path

from report import Report, commands
from sandbox import Sandbox

LOG = """#Version: 1.0
2024-06-02 11:00:00 10.8.0.1 GET /a 500 90
2024-06-02 11:10:00 10.8.0.2 GET /b 200 400
2024-06-02 12:20:00 10.8.0.2 GET /c 503 600
"""
VARIABLES = set("PYTHON OUT VERSION BUNDLE SAMPLE COMMENT LOGTOOLS_LIMIT LOGTOOLS_OUT".split())
VARIABLES |= set("ARGS LOG TOP TEXT DIR KEEP MAKEFLAGS VAR NAME VARIABLE".split())
DOCUMENTED = "summary top-talkers errors note weekly rotate bundle check test publish".split()
CRON = re.compile(r"\s*[\d*]+ [\d*]+ \S+ \S+ \S+ (.*)")
COMMAND = re.compile(r"\s*(?:cd \S+ && )?(?:\w+=\S* )*make\b")
SHIM = """#!/bin/sh
printf '%s\\037' "$@" >> {record}
echo >> {record}
PATH="{path}" exec make -n "$@"
"""
RECIPES = "test|lint|check|index|summary|top-talkers|errors|note|weekly|docs|bundle|publish|rotate"
TRACES = re.compile(
    rf"(?i:justfile|setup-just|just\.systems|just-version)|`just\b|\[just\]|\bjust (?:-|{RECIPES}\b|[a-z]+=)"
)


def nightly(report: Report) -> None:
    """The script for the log host writes the same three files, from any directory."""
    with Sandbox() as box:
        log = box.root.parent / "web.log"
        log.write_text(LOG)
        os.utime(log, (1_700_000_000, 1_700_000_000))
        target = box.root.parent / "reports" / "today"
        away = box.root.parent / "away"
        away.mkdir()
        result = box.run("sh", str(box.root / "scripts/nightly.sh"), str(log), str(target), cwd=away)
        report.equal("nightly.sh: exit code", 0, result.code)
        texts = {path.name: path.read_text() for path in target.glob("*.*")} if target.is_dir() else {}
        report.equal("talkers.txt", "2 10.8.0.2\n1 10.8.0.1\n", texts.get("talkers.txt"))
        errors = [line.strip() for line in texts.get("errors.txt", "").splitlines()]
        report.equal("errors.txt", ["1 2024-06-02T11", "1 2024-06-02T12"], errors)
        report.equal("index.json is there", True, '"requests": 3' in texts.get("index.json", ""))
        report.equal("files in the working directory", [], list(away.iterdir()))
        expected = [f"logtools prepare {target}", f"logtools index {log} {target}/index.json"]
        report.equal("commands of nightly.sh", expected, commands(box.calls()))
        missing = box.run("sh", str(box.root / "scripts/nightly.sh"), str(log) + "x", str(target), cwd=away)
        report.equal("nightly.sh with a missing log fails", True, missing.code != 0)


def workflow(report: Report) -> None:
    """The steps of the workflow that call make do what they did."""
    import yaml

    data = yaml.safe_load(Path(".github/workflows/ci.yml").read_text())
    jobs = data.get("jobs", {})
    report.equal("jobs", {"check", "bundle"}, set(jobs))
    report.equal("bundle needs check", True, "check" in str(jobs.get("bundle", {}).get("needs")))
    with Sandbox(light=True) as box:
        for name, job in jobs.items():
            steps = job.get("steps", [])
            used = {str(step.get("uses", "")).split("@")[0] for step in steps}
            report.equal(f"{name}: action that installs just", False, "extractions/setup-just" in used)
            report.equal(f"{name}: checkout and Python", True, {"actions/checkout", "actions/setup-python"} <= used)
            for step in steps:
                script = str(step.get("run", ""))
                if not re.search(r"\bmake\b", script) or "apt-get" in script:
                    continue
                env = (data.get("env") or {}) | (job.get("env") or {}) | (step.get("env") or {})
                result = box.run("bash", "-e", "-c", script, **{key: str(value) for key, value in env.items()})
                report.equal(f"{name}: {script.strip().splitlines()[0]}: exit code", 0, result.code)
        expected = [
            "logtools lint samples/access.log samples/shop.log",
            "unittest discover -s tests -v",
            "logtools prepare dist",
            "logtools index samples/access.log dist/index.json",
            "logtools contents dist/site",
            "logtools summary --top 5 samples/shop.log",
        ]
        report.equal("commands of the workflow", expected, commands(box.calls()))
        report.equal("archive", True, (box.root / "dist/logtools-1.4.0.tar.gz").is_file())
        report.equal("dist/errors.txt", "1 2024-05-14T07", box.read("dist/errors.txt").strip())


def readme(report: Report) -> None:
    """Each make command of the README names targets and variables that exist."""
    source = Path("README.md").read_text()
    blocks = "".join(re.findall(r"^```[^\n]*\n(.*?)^```", source, re.M | re.S)).splitlines()
    inline = re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", source, flags=re.S))
    with Sandbox() as box:
        away = box.root.parent / "away"
        away.mkdir()
        record = box.root.parent / "make.calls"
        shim = box.bin / "make"
        shim.write_text(SHIM.format(record=record, path=os.environ["PATH"]))
        shim.chmod(0o755)
        for line in blocks + inline:
            script = re.sub(r"^\s*\$ |\s+#.*", "", line).replace("/srv/log-tools", str(box.root))
            cron = CRON.match(script)
            script = cron[1] if cron else script
            if not COMMAND.match(script) or re.search(r"[<>\[\]…]|\.\.\.", script):
                continue
            result = box.run("sh", "-c", script, cwd=away if cron else None)
            if line in blocks:
                report.equal(f"README: {line.strip()[:80]}: exit code", 0, result.code)
        words = [call.split("\037")[:-1] for call in record.read_text().splitlines()] if record.exists() else []
    names = {word.partition("=")[0] for call in words for word in call if re.match(r"\w+=", word)}
    report.equal("variables in the README that do not exist", set(), names - VARIABLES)
    targets = {word for call in words for word in call if "=" not in word}
    report.equal("documented targets that are missing", [], [name for name in DOCUMENTED if name not in targets])


def just_left(report: Report) -> None:
    """No file speaks of just or its file."""
    found = []
    for path in sorted(Path(".").rglob("*")):
        if path.is_file() and not path.is_symlink() and ".git" not in path.parts:
            for number, line in enumerate(path.read_text(errors="replace").splitlines(), start=1):
                if TRACES.search(line):
                    found.append(f"{path}:{number}")
    report.equal("lines that speak of just", [], found)
