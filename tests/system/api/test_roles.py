"""Viewers can only read, members can also write, admins can manage users, and only owners can change owners."""

from typing import Any

from graphql import GraphQLInputObjectType, GraphQLNonNull, get_named_type, is_enum_type
from graphql.type import GraphQLField

from keyfence.app.domain_loading import load_domains
from keyfence.auth.principal import Role
from tests.stack import ApiClient, ServiceStack

MUTATION_TYPE = load_domains().schema._schema.mutation_type
MUTATIONS = dict(MUTATION_TYPE.fields) if MUTATION_TYPE else {}
ADMIN_MUTATIONS = [name for name, field in MUTATIONS.items() if "Needs the role ADMIN" in (field.description or "")]
EXAMPLE_BY_SCALAR = {"Int": "1", "Float": "1.5", "Decimal": '"1.5"'}
NO_USER, NO_GROUP = "usr_" + "0" * 26, "grp_" + "0" * 26


def example_call(name: str, field: GraphQLField) -> str:
    """Returns a call of this mutation with an example value for each required argument."""
    arguments = ", ".join(
        f"{key}: {example(key, argument.type)}"
        for key, argument in field.args.items()
        if isinstance(argument.type, GraphQLNonNull)
    )
    selection = "" if not hasattr(get_named_type(field.type), "fields") else "{ __typename }"
    mutation_call = f"{name}({arguments})" if arguments else name
    return f"mutation {{ {mutation_call} {selection} }}"


def example(key: str, type_: Any) -> str:
    named_type = get_named_type(type_)
    if isinstance(named_type, GraphQLInputObjectType):
        required_fields = {
            name: part for name, part in named_type.fields.items() if isinstance(part.type, GraphQLNonNull)
        }
        return "{" + ", ".join(f"{name}: {example(name, part.type)}" for name, part in required_fields.items()) + "}"
    if is_enum_type(named_type):
        return str(next(iter(named_type.values)))
    if named_type.name == "ID":
        return f'"{NO_GROUP if "group" in key.lower() else NO_USER}"'
    return EXAMPLE_BY_SCALAR.get(named_type.name, '"a@x.example"')


async def test_a_viewer_can_call_no_mutation(stack: ServiceStack, owner: ApiClient) -> None:
    viewer = stack.api_client(owner.tenant, Role.VIEWER)
    assert (await viewer.data("{ viewer { role } }"))["viewer"]["role"] == "VIEWER"
    stack.take_calls()
    codes = {name: await viewer.error_code(example_call(name, field)) for name, field in MUTATIONS.items()}
    assert codes == dict.fromkeys(MUTATIONS, "FORBIDDEN")
    assert not stack.take_operations()


async def test_a_member_can_call_no_mutation_for_admins(stack: ServiceStack, owner: ApiClient) -> None:
    member = stack.api_client(owner.tenant, Role.MEMBER)
    codes = {
        name: await member.error_code(example_call(name, MUTATIONS[name]))
        for name in (*ADMIN_MUTATIONS, "revokeSession", "revokeLogin", "revokeSubject")
    }
    assert codes == dict.fromkeys(codes, "FORBIDDEN")


CREATE = 'mutation($r: Role!) { createUser(input: {email: "%s", name: "N", role: $r}) { id } }'


async def test_only_an_owner_can_create_change_or_delete_an_owner(stack: ServiceStack, owner: ApiClient) -> None:
    admin = stack.api_client(owner.tenant, Role.ADMIN)
    assert await admin.error_code(CREATE % "o@x.example", r="OWNER") == "FORBIDDEN"
    owner_id = (await owner.data(CREATE % "o@x.example", r="OWNER"))["createUser"]["id"]
    admin_id = (await admin.data(CREATE % "h@x.example", r="ADMIN"))["createUser"]["id"]
    update = "mutation($id: ID!, $r: Role) { updateUser(id: $id, input: {role: $r}) { role } }"
    assert await admin.error_code(update, id=owner_id, r="VIEWER") == "FORBIDDEN"
    assert await admin.error_code(update, id=admin_id, r="OWNER") == "FORBIDDEN"
    assert await admin.error_code("mutation($id: ID!) { deleteUser(id: $id) }", id=owner_id) == "FORBIDDEN"
    assert (await owner.data(update, id=owner_id, r="VIEWER"))["updateUser"]["role"] == "VIEWER"


async def test_a_member_changes_own_settings_and_an_admin_any_settings(stack: ServiceStack, owner: ApiClient) -> None:
    own_id = (await owner.data(CREATE % "m@x.example", r="MEMBER"))["createUser"]["id"]
    other_id = (await owner.data(CREATE % "n@x.example", r="MEMBER"))["createUser"]["id"]
    put = 'mutation($id: ID!) { putSetting(userId: $id, name: "theme", value: {dark: true}) { value } }'
    member = stack.api_client(owner.tenant, Role.MEMBER, user=own_id)
    assert (await member.data(put, id=own_id))["putSetting"]["value"] == {"dark": True}
    assert await member.error_code(put, id=other_id) == "FORBIDDEN"
    admin = stack.api_client(owner.tenant, Role.ADMIN)
    assert (await admin.data(put, id=other_id))["putSetting"]["value"] == {"dark": True}
