"""Arms that the family `modes` cannot compare, with the reasons that plan and report show."""

from scylla_gha.model.plan import Plan


def unpaired_arms(plan: Plan) -> dict[str, str]:
    """Return the arms that the family `modes` cannot compare, with reasons; empty for other families."""
    if plan.family != "modes":
        return {}
    pairs, mode, planned = plan.pairs, plan.reference_mode, {cell.arm for cell in plan.cells}
    others = (arm.id for arm in plan.arms if arm.mode and arm.mode.id != mode)
    unpaired = f"no single arm of mode {mode} has its variant, agent and model"
    return {arm: f"no cell of {pairs[arm]} is planned" if arm in pairs else unpaired
            for arm in others if arm in planned and pairs.get(arm) not in planned}  # fmt: skip
