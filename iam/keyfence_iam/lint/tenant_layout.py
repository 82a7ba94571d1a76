"""How a table keeps its tenants apart, as the linter needs to know it."""

import re
from dataclasses import dataclass

from keyfence_iam.tenant import CONTROL_PLANE_PREFIX, SESSION_TAG, TENANT_ID_PATTERN, tenant_key_prefix

_TENANT = "{tenant}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantLayout:
    """The session tag that names a tenant, and the prefix of the tenant's partition keys. Keyfence's by default.

    Raises ValueError if the key prefix has no delimiter after `{tenant}`: acme could then reach the keys of acmecorp.
    """

    session_tag: str = SESSION_TAG
    key_prefix: str = tenant_key_prefix(_TENANT)
    """The beginning of each partition key of a tenant, with `{tenant}` in place of its id."""
    shared_prefixes: tuple[str, ...] = (CONTROL_PLANE_PREFIX,)
    """Beginnings of partition keys that belong to no tenant. A system role may name one of them."""
    tenant_id: re.Pattern[str] = TENANT_ID_PATTERN

    def __post_init__(self) -> None:
        if self.key_prefix.count(_TENANT) != 1 or not self.delimiter:
            raise ValueError(f"key_prefix {self.key_prefix!r} needs {_TENANT} once, and a delimiter after it")

    @property
    def before_tenant(self) -> str:
        return self.key_prefix.partition(_TENANT)[0]

    @property
    def delimiter(self) -> str:
        return self.key_prefix.partition(_TENANT)[2]

    @property
    def principal_tag(self) -> str:
        return f"aws:PrincipalTag/{self.session_tag}"

    @property
    def request_tag(self) -> str:
        return f"aws:RequestTag/{self.session_tag}"

    def describe(self, text: str) -> str:
        """Replaces `<tag>`, `<request tag>`, `<variable>` and `<keys>` in the text of a rule."""
        replacements = {
            "<tag>": self.session_tag,
            "<request tag>": self.request_tag,
            "<variable>": f"${{{self.principal_tag}}}",
            "<keys>": f"{self.key_prefix}*",
        }
        for placeholder, value in replacements.items():
            text = text.replace(placeholder, value)
        return text
