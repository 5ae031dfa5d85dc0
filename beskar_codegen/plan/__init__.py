"""Valid handlers -> what goes into which file. Pure: same model and settings, same plan."""

from beskar_codegen.plan.descriptors import module_of, plan_descriptors
from beskar_codegen.plan.plans import DescriptorModulePlan, Mode, PlanSettings, StubPlan
from beskar_codegen.plan.stubs import plan_stub, stub_modules, stub_path

__all__ = [
    "DescriptorModulePlan",
    "Mode",
    "PlanSettings",
    "StubPlan",
    "module_of",
    "plan_descriptors",
    "plan_stub",
    "stub_modules",
    "stub_path",
]
