"""What a member of a tenant may do, from reading to owning."""

from enum import StrEnum


class Role(StrEnum):
    """Declared from the strongest to the weakest; each covers all that follow it."""

    OWNER = "OWNER"
    ADMIN = "ADMIN"
    MEMBER = "MEMBER"
    VIEWER = "VIEWER"

    def covers(self, needed: "Role") -> bool:
        return _RANK[self] <= _RANK[needed]


_RANK = {role: rank for rank, role in enumerate(Role)}
