"""`Invoice`, and checks of its fields."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import NewType

from keyfence.errors import BadInput
from keyfence.store.ids import checked_id
from keyfence.validation import checked_line

InvoiceId = NewType("InvoiceId", str)
MAX_NUMBER_LENGTH = 40
MAX_AMOUNT = 10**9


@dataclass(frozen=True, slots=True, kw_only=True)
class Invoice:
    """An amount that a debtor owes."""

    id: InvoiceId
    number: str
    debtor: str
    amount_due: Decimal
    created_at: datetime
    updated_at: datetime
    paid_at: datetime | None = None
    version: int = 1


def checked_invoice_id(text: str, field: str = "id") -> InvoiceId:
    return InvoiceId(checked_id("inv", text, field))


def checked_number(number: str) -> str:
    return checked_line(number, "number", MAX_NUMBER_LENGTH)


def checked_amount(amount: Decimal) -> Decimal:
    if not 0 < amount < MAX_AMOUNT or amount != amount.quantize(Decimal("0.01")):
        raise BadInput(
            f"amountDue must be more than 0 and less than {MAX_AMOUNT:,}, with at most two decimal places",
            field="amountDue",
        )
    return amount
