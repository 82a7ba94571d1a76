"""Why tenants could not be shut out."""


class NotShut(Exception):
    """IAM did not take it, or did not answer. Each role refuses whom it refused before or whom it was to refuse."""


class TooManySuspended(NotShut):
    """More tenants than a role's inline policies have room for; nothing was changed on that role."""
