"""`TenantLayout`: the session tag and the key prefix that separate tenants in a table."""

import re
from dataclasses import dataclass

from keyfence_iam.tenant import CONTROL_PLANE_PREFIX, SESSION_TAG, TENANT_ID_PATTERN, tenant_key_prefix

_TENANT_PLACEHOLDER = "{tenant}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantLayout:
    """The session tag that names a tenant, and the prefix of the tenant's partition keys.

    The defaults are those of Keyfence. Raises ValueError if the key prefix has no delimiter after `{tenant}`: a tenant
    `acme` could then reach the keys of `acmecorp`.
    """

    session_tag: str = SESSION_TAG
    key_prefix: str = tenant_key_prefix(_TENANT_PLACEHOLDER)
    """The prefix of each partition key of a tenant, with `{tenant}` in place of the tenant's id."""
    shared_prefixes: tuple[str, ...] = (CONTROL_PLANE_PREFIX,)
    """Prefixes of partition keys that belong to no tenant. A condition with such a prefix may have no other value."""
    tenant_id_pattern: re.Pattern[str] = TENANT_ID_PATTERN

    def __post_init__(self) -> None:
        if self.key_prefix.count(_TENANT_PLACEHOLDER) != 1 or not self.delimiter:
            raise ValueError(
                f"key_prefix {self.key_prefix!r} needs {_TENANT_PLACEHOLDER} once, and a delimiter after it"
            )

    @property
    def prefix_before_tenant(self) -> str:
        return self.key_prefix.partition(_TENANT_PLACEHOLDER)[0]

    @property
    def delimiter(self) -> str:
        """The text after the tenant's id, such as `#`."""
        return self.key_prefix.partition(_TENANT_PLACEHOLDER)[2]

    @property
    def principal_tag(self) -> str:
        """The condition key that has the tenant of the caller's session."""
        return f"aws:PrincipalTag/{self.session_tag}"

    @property
    def request_tag(self) -> str:
        """The condition key that has the tenant of a session that is about to be created."""
        return f"aws:RequestTag/{self.session_tag}"

    def fill_placeholders(self, text: str) -> str:
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
