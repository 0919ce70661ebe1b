"""Workflow files: filters of triggers, expressions, and the plan that the runner gets, or why it gets none."""

from typing import Any

import pytest

from scylla_gha.hub.operations.workflow_expressions import ExpressionError, ExpressionScope, filled_in, is_true
from scylla_gha.hub.operations.workflow_filters import TriggerEvent, is_selected, is_triggered
from scylla_gha.hub.operations.workflow_plan import WorkflowError, plan_workflow

STEP = "{run: make}"
CYCLE = f"""
on: push
jobs:
  a: {{needs: b, runs-on: ubuntu-latest, steps: [{STEP}]}}
  b: {{needs: [a], runs-on: ubuntu-latest, steps: [{STEP}]}}
"""
LARGE = f"""
on: push
env: {{A: &s {"y" * 3000}, {", ".join(f"v{at}: *s" for at in range(250))}}}
jobs: {{a: {{runs-on: ubuntu-latest, steps: [{STEP}]}}}}
"""


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("feature/*", ["feature/my-branch"], ["feature/beta-a/my-branch", "feature"]),
        ("feature/**", ["feature/beta-a/my-branch", "feature/x"], ["features/x"]),
        ("**", ["all/the/branches", "main"], []),
        ("*feature", ["mona-feature", "feature"], ["feature-mona", "a/feature"]),
        ("v[12].[0-9]+.[0-9]+", ["v1.10.1", "v2.0.0"], ["v3.0.0", "v1.1"]),
        ("*.jsx?", ["page.js", "page.jsx"], ["page.jsxx", "js/page.js"]),
        ("**/README.md", ["README.md", "js/README.md", "a/b/README.md"], ["XREADME.md"]),
        ("docs/**/*.md", ["docs/README.md", "docs/mona/octocat.md"], ["docs/x.txt"]),
        ("**.js", ["index.js", "src/js/app.js"], ["index.jsx"]),
        ("Octoc\\*t", ["Octoc*t"], ["Octocat"]),
        ("**a" * 90, ["a" * 90], ["b" * 250]),
    ],
)
def test_patterns_match_what_githubs_cheat_sheet_says(pattern: str, matching: list[str], others: list[str]) -> None:
    """https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-syntax#filter-pattern-cheat-sheet"""
    assert [name for name in [*matching, *others] if is_selected([pattern], name)] == matching


def test_the_last_pattern_that_matches_decides() -> None:
    """https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-syntax#onpushbranchestagsbranches-ignoretags-ignore"""
    patterns = ["releases/**", "!releases/**-alpha", "releases/1-alpha"]
    names = ["releases/10", "releases/10-alpha", "releases/1-alpha", "main"]
    assert [is_selected(patterns, name) for name in names] == [True, False, True, False]


def push(branch: str | None = "main", tag: str | None = None, *paths: str) -> TriggerEvent:
    return TriggerEvent("push", branch=None if tag else branch, tag=tag, paths=lambda: paths)


def pull(activity: str = "opened", base: str = "main", *paths: str) -> TriggerEvent:
    return TriggerEvent("pull_request", branch=base, activity=activity, paths=lambda: paths)


@pytest.mark.parametrize(
    ("triggers", "event", "starts"),
    [
        ({"push": None}, push(), True),
        ({"push": None}, push(tag="v1"), True),
        ({"push": {"branches": ["main"]}}, push("topic"), False),
        ({"push": {"branches": "main"}}, push(), True),
        ({"push": {"branches": ["**"]}}, push(tag="v1"), False),
        ({"push": {"tags": ["v*"]}}, push(), False),
        ({"push": {"tags": ["v*"]}}, push(tag="v1"), True),
        ({"push": {"tags-ignore": ["v*"]}}, push(tag="v1"), False),
        ({"push": {"branches-ignore": ["docs/*"]}}, push("docs/x"), False),
        ({"push": {"paths": ["src/**"]}}, push("main", None, "README.md"), False),
        ({"push": {"paths": ["src/**"]}}, push("main", None, "README.md", "src/a/b.py"), True),
        ({"push": {"paths": ["src/**"]}}, push(tag="v1"), True),
        ({"push": {"paths-ignore": ["docs/**"]}}, push("main", None, "docs/a.md"), False),
        ({"push": {"paths-ignore": ["docs/**"]}}, push("main", None, "docs/a.md", "a.py"), True),
        ({"push": None}, pull(), False),
        ({"pull_request": None}, pull("synchronize"), True),
        ({"pull_request": None}, pull("closed"), False),
        ({"pull_request": {"types": ["closed"]}}, pull("opened"), False),
        ({"pull_request": {"branches": ["main"]}}, pull("opened", "release"), False),
        ({"pull_request": {"branches": ["main"], "paths": ["*.py"]}}, pull("reopened", "main", "a.py"), True),
    ],
)
def test_triggers_start_a_workflow_as_on_github(triggers: dict[str, Any], event: TriggerEvent, starts: bool) -> None:
    """https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-syntax#onpushbranchestagsbranches-ignoretags-ignore"""
    assert is_triggered(triggers, event) is starts


SCOPE = ExpressionScope(
    {"github": {"ref": "refs/heads/main", "event_name": "push"}, "env": {"N": "3"}, "steps": {},
     "needs": {"build": {"result": "success", "outputs": {"file": "a.txt"}}}},
    "failure",
)  # fmt: skip


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("always()", True),
        ("failure() && github.event_name == 'PUSH'", True),
        ("success() || cancelled()", False),
        ("github.ref == 'refs/heads/main'", False),  # and success(), which a condition without a function asks for
        ("${{ !success() && startsWith(github.ref, 'refs/heads/') }}", True),
        ("failure() && env.N > 2 && env.N != 4", True),
        ("failure() && needs.build.outputs['file'] == 'a.txt'", True),
        ("failure() && (github.nothing || contains('abc', 'B'))", True),
        (None, False),
    ],
)
def test_conditions_hold_as_on_github(condition: str | None, holds: bool) -> None:
    """https://docs.github.com/en/actions/reference/workflows-and-actions/expressions"""
    assert is_true(condition, SCOPE) is holds


def test_expressions_are_filled_in_and_what_is_unknown_is_named() -> None:
    text = "${{ github.event_name }}-${{ env.N == '3' }}-${{ github.nothing }}-${{ 1.5 }}-${{ 'it''s' }}"
    assert filled_in(text, SCOPE) == "push-true--1.5-it's"
    faults = ["secrets.KEY", "hashFiles('x')", "github.event.pull_request.title", "1 +", "(" * 99, "x" * 9000, "a b"]
    for fault in faults:
        with pytest.raises(ExpressionError, match=r"support|unexpected|not complete|too long"):
            filled_in(f"${{{{ {fault} }}}}", SCOPE)


def test_outputs_that_are_put_into_outputs_again_and_again_do_not_grow_without_end() -> None:
    scope = ExpressionScope({"steps": {"a": {"outputs": {"x": "y" * 400_000}}}})
    text = "${{ steps.a.outputs.x }}"
    assert len(filled_in(text * 2, scope)) == 800_000
    with pytest.raises(ExpressionError, match="more than 1000000 characters"):
        filled_in(text * 10_000, scope)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("on: push\njobs: [", "error in your yaml syntax: .* on line 2"),
        ("on: push", "No jobs defined"),
        ("jobs: {a: {runs-on: ubuntu-latest, steps: [{run: x}]}}", "No event triggers"),
        (f"on: push\njobs: {{a: {{runs-on: ubuntu-latest, strategy: {{matrix: {{}}}}, steps: [{STEP}]}}}}", "a matrix"),
        (f"on: push\njobs: {{a: {{runs-on: ubuntu-latest, services: {{}}, steps: [{STEP}]}}}}", "services"),
        ("on: push\njobs: {a: {uses: ./x.yml}}", "a reusable workflow"),
        (f"on: push\njobs: {{a: {{runs-on: windows-latest, steps: [{STEP}]}}}}", "only ubuntu runners"),
        (f"on: push\njobs: {{a: {{runs-on: ubuntu-latest, stepps: [{STEP}]}}}}", "Unexpected value 'stepps'"),
        ("on: push\njobs: {a: {runs-on: ubuntu-latest, steps: [{uses: actions/cache@v4}]}}", "actions/cache@v4 is not"),
        ("on: push\njobs: {a: {runs-on: ubuntu-latest, steps: [{uses: actions/checkout@v4, with: {ref: x}}]}}",
         "ref of actions/checkout"),
        ("on: push\njobs: {a: {runs-on: ubuntu-latest, steps: [{run: x, uses: y}]}}", "and not both"),
        ("on: push\njobs: {a: {runs-on: ubuntu-latest, steps: [{run: 'echo ${{ secrets.A }}'}]}}",
         r"jobs.a.steps\[0\].run: .* context secrets"),
        ("on: push\njobs: {a: {runs-on: ubuntu-latest, steps: [{run: x, shell: pwsh}]}}", "'pwsh' is not supported"),
        (f"on: push\njobs: {{a: {{needs: b, runs-on: ubuntu-latest, steps: [{STEP}]}}}}", "unknown job 'b'"),
        (CYCLE, "need each other"),
        ("on: {push: {branches: [a], branches-ignore: [b]}}\njobs: {}", "only define one of"),
        ("a: &a [x, x]\non: push\njobs: " + "[" * 900, "error in your yaml"),
        (f"on: push\nx: {STEP}\njobs: {{}}", "Unexpected value 'x'"),
        ("on: push\njobs: {a: {runs-on: ubuntu-latest, steps: [{run: !!int ''}]}}", "error in your yaml"),
        ("on: push\njobs: {a: {runs-on: ubuntu-latest, steps: [{run: !!bool maybe}]}}", "error in your yaml"),
        ("on: push\njobs: {a: {runs-on: ubuntu-latest, steps: [{run: !!timestamp x}]}}", "error in your yaml"),
        ("on: push\njobs: {a: {runs-on: ubuntu-latest, steps: [{run: \"\\ud800\"}]}}", "invalid Unicode"),
        ("on: push\njobs: {a: {runs-on: ubuntu-latest, steps: [{run: 0x" + "f" * 5000 + "}]}}", "too large"),
        ("on: push\njobs: {a: {runs-on: ubuntu-latest, timeout-minutes: 1" + "0" * 400 + ", steps: [{run: x}]}}",
         "a number above 0"),
        ("on: push\njobs: {a: {runs-on: ubuntu-latest, timeout-minutes: .nan, steps: [{run: x}]}}", "a number above 0"),
        ("on: push\nname: 0x" + "f" * 5000, "No jobs defined"),
        (LARGE, "too large"),
        ("#" * 70_000, "more than 64000 bytes"),
    ],
)  # fmt: skip
def test_what_cannot_be_run_is_named_with_its_key(text: str, fault: str) -> None:
    """https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-syntax"""
    with pytest.raises(WorkflowError, match=fault):
        plan_workflow(text.encode())


def test_a_plan_has_jobs_behind_those_that_they_need_and_texts_as_they_stand() -> None:
    plan = plan_workflow(b"""
on: [push, schedule]
permissions: write-all
concurrency: one
env: {A: 1, B: true}
defaults: {run: {working-directory: src, shell: sh}}
jobs:
  last:
    needs: [first]
    if: always()
    runs-on: [ubuntu-24.04]
    continue-on-error: true
    steps: [{uses: actions/setup-node@v4, with: {node-version: 22}}]
  first:
    name: The first
    runs-on: ubuntu-latest
    timeout-minutes: 5
    outputs: {x: "${{ steps.a.outputs.x }}"}
    steps:
      - {id: a, run: "echo ${{ env.A }}", shell: python, if: false}
      - {run: pwd, continue-on-error: true, timeout-minutes: 1}
""")
    assert plan.env == {"A": "1", "B": "true"}
    assert [(job.key, job.name, job.needs, job.condition) for job in plan.jobs] == [
        ("first", "The first", (), None), ("last", "last", ("first",), "always()")]  # fmt: skip
    first, second = plan.jobs[0].steps
    assert (first.name, first.shell, first.folder, first.condition) == (
        "Run echo ${{ env.A }}",
        "python",
        "src",
        "false",
    )
    assert (second.shell, second.continue_on_error, second.minutes) == ("sh", True, 1.0)
    assert [step.action for step in plan.jobs[1].steps] == ["none"]
