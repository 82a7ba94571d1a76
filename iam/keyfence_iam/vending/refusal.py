"""Why a session could not be had."""


class NoSession(Exception):
    """There are no credentials for this, and nobody else's are used instead; the text is for the log."""


class CutOff(NoSession):
    """The connection to STS was closed under the call, as idle ones are: the next one may well be answered."""


class OverBudget(NoSession):
    """Too many sessions are being asked for just now."""

    def __init__(self, text: str, retry_after: float) -> None:
        super().__init__(text)
        self.retry_after = retry_after
        """In seconds."""
