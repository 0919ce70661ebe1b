"""Arms that the family `modes` should compare and cannot, which plan and report name."""

from scylla_gha.model.plan import Plan


def unpaired_arms(plan: Plan) -> dict[str, str]:
    """Return why arms of other modes than the baseline's are compared with nothing; none in another family."""
    if plan.family != "modes":
        return {}
    pairs, mode, planned = plan.pairs, plan.reference_mode, {cell.arm for cell in plan.cells}
    others = (arm.id for arm in plan.arms if arm.mode and arm.mode.id != mode)
    unpaired = f"no single arm of mode {mode} has its variant, agent and model"
    return {arm: f"no cell of {pairs[arm]} is planned" if arm in pairs else unpaired
            for arm in others if arm in planned and pairs.get(arm) not in planned}  # fmt: skip
