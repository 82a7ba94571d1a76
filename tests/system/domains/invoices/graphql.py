"""GraphQL type, queries and mutations of invoices."""

from datetime import datetime
from decimal import Decimal

import strawberry

from keyfence.auth.principal import Role
from keyfence.graphql.context import Context, DataLoader, Info
from keyfence.graphql.mutation_checks import mutation
from keyfence.graphql.relay_types import Connection, Node, connection, page_size
from tests.system.domains.invoices import model
from tests.system.domains.invoices.model import InvoiceId, checked_invoice_id
from tests.system.domains.invoices.repository import InvoiceRepository


def invoice_repository(context: Context) -> InvoiceRepository:
    return InvoiceRepository(context.table)


def invoice_loader(context: Context) -> DataLoader[InvoiceId, model.Invoice | None]:
    return DataLoader(load_fn=context.get(invoice_repository).find_many)


async def load_invoice(context: Context, id: str) -> Node | None:
    found = await context.loader(invoice_loader).load(InvoiceId(id))
    return Invoice.of(found) if found else None


@strawberry.type(description="An amount that a debtor owes.")
class Invoice(Node):
    """An invoice."""

    number: str
    debtor: str
    amount_due: Decimal
    paid_at: datetime | None

    @classmethod
    def of(cls, invoice: model.Invoice) -> "Invoice":
        return cls(
            id=strawberry.ID(invoice.id),
            number=invoice.number,
            debtor=invoice.debtor,
            amount_due=invoice.amount_due,
            paid_at=invoice.paid_at,
        )


@strawberry.type
class InvoiceQueries:
    """Queries of invoices."""

    @strawberry.field(description="All invoices, newest first.")
    async def invoices(self, info: Info, first: int | None = 20, after: str | None = None) -> Connection[Invoice]:
        page = await info.context.get(invoice_repository).newest(first=page_size(first), after=after)
        return connection(page, Invoice.of)

    @strawberry.field(description="The invoices of a debtor, newest first.")
    async def invoices_of_debtor(
        self, info: Info, debtor: str, first: int | None = 20, after: str | None = None
    ) -> Connection[Invoice]:
        page = await info.context.get(invoice_repository).of_debtor(debtor, first=page_size(first), after=after)
        return connection(page, Invoice.of)


@strawberry.type
class InvoiceMutations:
    """Mutations of invoices."""

    @mutation(needs=Role.MEMBER, description="Create an invoice.")
    async def create_invoice(self, info: Info, number: str, debtor: str, amount_due: Decimal) -> Invoice:
        repository = info.context.get(invoice_repository)
        return Invoice.of(await repository.create(number=number, debtor=debtor, amount_due=amount_due))

    @mutation(needs=Role.MEMBER, description="Mark an invoice as paid.")
    async def pay_invoice(self, info: Info, id: strawberry.ID, expected_version: int | None = None) -> Invoice:
        repository = info.context.get(invoice_repository)
        return Invoice.of(await repository.pay(checked_invoice_id(id), expected_version=expected_version))
