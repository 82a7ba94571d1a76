"""The session tag that says whose session it is, and the conditions that demand or refuse it."""

from keyfence_iam.document import Condition

TENANT_TAG = "tenant"
TENANT_OF_SESSION = f"${{aws:PrincipalTag/{TENANT_TAG}}}"

EXACTLY_THE_TENANT = (
    Condition("StringLike", f"aws:RequestTag/{TENANT_TAG}", ("?*",)),
    Condition("ForAllValues:StringEquals", "aws:TagKeys", (TENANT_TAG,)),
    Condition("Null", "aws:TagKeys", ("false",)),
    Condition("Null", "sts:TransitiveTagKeys", ("true",)),
)
"""One tag, with a value, which the session does not hand on."""

NO_TAGS = (Condition("Null", "aws:TagKeys", ("true",)),)
