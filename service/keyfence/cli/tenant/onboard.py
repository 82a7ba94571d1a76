"""`keyfence tenant onboard` and `keyfence tenant keys`."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from keyfence.cli.file_arguments import read_file_argument
from keyfence.cli.operator_session import OperatorOption, OperatorSession, TenantArgument
from keyfence.cli.table_connection import DataOption, EndpointUrlOption, JsonOption, parse_tenant_option
from keyfence.cli.tenant.change import TenantCommand
from keyfence.errors import BadInput
from keyfence.local.data_directory import DEFAULT_DIRECTORY
from keyfence.tenancy.tier_quotas import Tier

if TYPE_CHECKING:
    from keyfence.admin.context import AdminContext
    from keyfence.admin.onboarding import OnboardingResult
    from keyfence.tenancy.tenant import Tenant
    from keyfence_iam.tenant import TenantId


JwksOption = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="A file with the issuer's public keys, a JSON Web Key Set. - reads stdin."),
]
MappingOption = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="A JSON file that says which claims the issuer's tokens have. - reads stdin.",
    ),
]
DiscoverOption = Annotated[
    bool, typer.Option("--discover", help="Fetch the keys from the address that the issuer's metadata name.")
]
JwksUriOption = Annotated[
    str | None, typer.Option(metavar="URL", help="The https:// address at which the issuer publishes its keys.")
]


def keys(
    id: TenantArgument,
    jwks: JwksOption = None,
    jwks_uri: JwksUriOption = None,
    discover: DiscoverOption = False,
    mapping: MappingOption = None,
    operator: OperatorOption = None,
    json: JsonOption = False,
    data: DataOption = DEFAULT_DIRECTORY,
    endpoint_url: EndpointUrlOption = None,
) -> None:
    """Replace the keys of a tenant's issuer, the address at which the issuer publishes them, or its claim mapping.

    To rotate keys in a file without refusing valid tokens: first set the old and the new keys together, and remove the
    old ones when all tokens signed by them have expired. With --jwks-uri the issuer rotates its keys itself.

    [bold]Example:[/bold] keyfence tenant keys initech --jwks keys.json

    [bold]Example:[/bold] keyfence tenant keys initech --jwks-uri https://id.initech.example/keys

    [bold]Example:[/bold] keyfence tenant keys initech --discover --mapping mapping.json
    """
    has_keys = _count_key_sources(jwks, jwks_uri, discover=discover) == 1
    if not has_keys and mapping is None:
        raise BadInput("Say where the issuer's keys are: --jwks FILE, --jwks-uri URL or --discover. Or give --mapping.")
    replaced = " and ".join(name for name, given in {"keys": has_keys, "claim mapping": bool(mapping)}.items() if given)
    key_set, claim_mapping = read_key_set(jwks), read_mapping(mapping)

    async def replace_keys(context: "AdminContext", tenant_id: "TenantId") -> "Tenant":
        return await context.rotate_issuer_keys(tenant_id, key_set, jwks_uri, discover=discover, mapping=claim_mapping)

    TenantCommand(id=id, operator=operator, data=data, endpoint_url=endpoint_url, json=json).run(
        replace_keys, lambda tenant: f"Replaced the {replaced} of {tenant.issuer}, the issuer of {tenant.id}."
    )


def _count_key_sources(jwks: str | None, jwks_uri: str | None, *, discover: bool = False) -> int:
    """Returns 0 or 1. Raises BadInput if the options name several sources of keys."""
    count = sum((jwks is not None, jwks_uri is not None, discover))
    if count > 1:
        raise BadInput("The issuer's keys have one source: give only one of --jwks, --jwks-uri and --discover.")
    return count


def read_key_set(file: str | None) -> dict[str, Any] | None:
    """Returns the key set in the file, or None if no file is named."""
    return None if file is None else _read_object(file, 'a key set. Its form must be {"keys": [...]}.')


def read_mapping(file: str | None) -> dict[str, Any] | None:
    """Returns the claim mapping in the file, or None if no file is named."""
    return None if file is None else _read_object(file, "a claim mapping. It must be a JSON object.")


def _read_object(file: str, expected: str) -> dict[str, Any]:
    content = _read_json(file)
    if not isinstance(content, dict):
        raise BadInput(f"{file} is not {expected}")
    return content


def _read_json(file: str) -> object:
    import json

    try:
        return json.loads(read_file_argument(file))
    except ValueError as error:
        raise BadInput(f"{file} is not JSON: {error}.") from error


NameOption = Annotated[str, typer.Option(metavar="NAME", help="The tenant's display name.")]
TierOption = Annotated[Tier, typer.Option(case_sensitive=False, help="The tier, which determines the quotas.")]
OwnerEmailOption = Annotated[
    str, typer.Option(metavar="EMAIL", help="The email address of the first user, who gets the role OWNER.")
]
OwnerNameOption = Annotated[str, typer.Option(metavar="NAME", help="The name of the first user.")]
IssuerOption = Annotated[
    str, typer.Option(metavar="URL", help="The `iss` claim of the tenant's tokens, character for character.")
]


def onboard(
    id: TenantArgument,
    name: NameOption,
    owner_email: OwnerEmailOption,
    owner_name: OwnerNameOption,
    issuer: IssuerOption,
    jwks: JwksOption = None,
    jwks_uri: JwksUriOption = None,
    mapping: MappingOption = None,
    tier: TierOption = Tier.STANDARD,
    operator: OperatorOption = None,
    json: JsonOption = False,
    data: DataOption = DEFAULT_DIRECTORY,
    endpoint_url: EndpointUrlOption = None,
) -> None:
    """Create a tenant with its own token issuer and its first user, an OWNER.

    Without --jwks and --jwks-uri, the keys are fetched from the address that the issuer's metadata name.

    The command can be repeated, also after an interruption: with the same options it continues, and returns the same
    tenant. On AWS a key that `keyfence jwks` created is refused.

    [bold]Example:[/bold] keyfence tenant onboard initech --name Initech --owner-email owner@initech.example
    --owner-name "First Owner" --issuer https://id.initech.example --jwks-uri https://id.initech.example/keys

    [bold]Example:[/bold] keyfence tenant onboard initech --name Initech --tier premium
    --owner-email owner@initech.example --owner-name "First Owner" --issuer https://id.initech.example --jwks keys.json
    """
    from keyfence.admin.onboarding import OnboardingRequest

    _count_key_sources(jwks, jwks_uri)
    request = OnboardingRequest(
        id=parse_tenant_option(id, "TENANT"),
        name=name,
        tier=tier,
        owner_email=owner_email,
        owner_name=owner_name,
        issuer=issuer,
        jwks=read_key_set(jwks),
        jwks_uri=jwks_uri,
        mapping=read_mapping(mapping),
    )

    async def work(context: "AdminContext") -> "OnboardingResult":
        return await context.onboard(request)

    _print_result(OperatorSession(data, endpoint_url).change(operator, request.id, work), as_json=json)


def _print_result(result: "OnboardingResult", *, as_json: bool) -> None:
    from keyfence.cli.tenant_json import tenant_json
    from keyfence.cli.terminal_output import print_json

    tenant, owner = result.tenant, result.owner
    if as_json:
        owner_json = {"id": owner.id, "email": owner.email, "name": owner.name, "role": owner.role}
        print_json({"created": result.created, "tenant": tenant_json(tenant), "owner": owner_json})
        return
    outcome = "is onboarded" if result.created else "was already onboarded by the same request"
    typer.echo(f"{tenant.id} {outcome}: {tenant.name}, {tenant.tier}, {tenant.status}.")
    typer.echo(f"Its owner is {owner.name} <{owner.email}>, with the user id {owner.id}.")
    typer.echo(f"Its tokens need the claims iss={tenant.issuer} and tenant={tenant.id}.")
