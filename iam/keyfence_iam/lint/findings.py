"""`LintRule` and `Finding`: the weaknesses that the linter knows, and those that it found."""

from dataclasses import asdict, dataclass

from keyfence_iam.lint.tenant_layout import TenantLayout


@dataclass(frozen=True, slots=True)
class LintRule:
    """A weakness that a policy can have. The codes of rules are explained in docs/reference/lint-rules.md."""

    code: str
    name: str
    fix: str
    """How to remove the weakness. The text can contain the placeholders of TenantLayout.fill_placeholders."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A weakness that a policy has: where it is, what is wrong, and how to remove it."""

    code: str
    name: str
    location: str
    problem: str
    fix: str

    @classmethod
    def of(cls, rule: LintRule, layout: TenantLayout, location: str, problem: str) -> "Finding":
        fix = layout.fill_placeholders(rule.fix)
        return cls(code=rule.code, name=rule.name, location=location, problem=problem, fix=fix)

    def as_json(self) -> dict[str, str]:
        return asdict(self)
