"""Export results as JUnit XML for CI systems: an arm is a test suite, a cell is a test case.

A trial that did not pass is a failure. A trial that does not measure the agent, or was not judged, is an error. A
missing trial is skipped.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from scylla_gha.interop.exporters.rows import ArmRows, PlannedCell, escape_xml, further_columns, rows_by_arm
from scylla_gha.model.plan import Plan
from scylla_gha.model.result import Result

_MISSING: Final = "no trial was collected"


def junit(plan: Plan, results: Iterable[Result], reasons: Mapping[str, str], arms: Sequence[str] = ()) -> bytes:
    """Return the XML document in UTF-8.

    Args:
        plan: plan whose cells become test cases.
        results: results of the plan; at most one per cell.
        reasons: why cells were not started, by cell.
        arms: ids of the arms to write; empty: all.

    Raises:
        ConfigError: a row does not belong to the plan, or a cell has two rows.
    """
    suites = [_suite(plan, arm, reasons) for arm in rows_by_arm(plan, results) if not arms or arm.arm.id in arms]
    root = Element("testsuites", {"name": escape_xml(plan.experiment.id)})
    for name in ("tests", "failures", "errors", "skipped"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in suites)))
    root.set("time", f"{sum(float(suite.get('time', '0')) for suite in suites):.3f}")
    root.extend(suites)
    indent(root, " ")
    return bytes(tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"


def _suite(plan: Plan, arm: ArmRows, reasons: Mapping[str, str]) -> Element:
    cases = [_case(cell, reasons) for cell in arm.cells]
    suite = Element("testsuite", {"name": escape_xml(arm.arm.id), "tests": str(len(cases))})
    for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(name, str(sum(case.find(tag) is not None for case in cases)))
    suite.set("time", f"{sum(row.seconds or 0 for row in arm.rows):.3f}")
    facts = {
        "experiment": plan.experiment.id,
        "agent": arm.arm.agent,
        "agent_version": arm.arm.version,
        "model": arm.arm.model,
        "variant": arm.arm.variant.id if arm.arm.variant else None,
    }
    _properties(suite, facts)
    suite.extend(cases)
    return suite


def _case(planned: PlannedCell, reasons: Mapping[str, str]) -> Element:
    cell, row = planned.cell, planned.row
    case = Element("testcase", {"classname": escape_xml(cell.arm), "name": escape_xml(cell.id)})
    if row is None:
        SubElement(case, "skipped", {"message": escape_xml(reasons.get(cell.id, _MISSING))})
        return case
    if row.seconds is not None:
        case.set("time", f"{row.seconds:.3f}")
    _properties(case, {name: getattr(row, name) for name in further_columns()["junit"]})
    if not row.measures_agent or row.passed is None:
        reason = row.reason if not row.measures_agent else f"not judged: {row.reason}"
        SubElement(case, "error", {"type": row.outcome.value, "message": escape_xml(reason)})
    elif not row.passed:
        score = "not scored" if row.score is None else f"score {row.score:g}"
        SubElement(case, "failure", {"type": row.outcome.value, "message": escape_xml(f"{score}: {row.reason}")})
    return case


def _properties(parent: Element, values: Mapping[str, object]) -> None:
    """Add the known values as properties; JUnit has no null."""
    known = {name: value for name, value in values.items() if value is not None}
    if known:
        group = SubElement(parent, "properties")
        for name, value in known.items():
            text = str(value).lower() if isinstance(value, bool) else str(value)
            SubElement(group, "property", {"name": name, "value": escape_xml(text)})
