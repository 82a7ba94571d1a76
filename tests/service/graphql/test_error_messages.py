"""The message about an invalid value contains no text of an unexpected exception, and has a bounded length."""

import pytest
from graphql import (
    GraphQLArgument,
    GraphQLError,
    GraphQLField,
    GraphQLObjectType,
    GraphQLScalarType,
    GraphQLSchema,
    GraphQLString,
    get_variable_values,
    parse,
    validate,
)
from graphql.language import OperationDefinitionNode

from keyfence.errors import BadInput
from keyfence.graphql.error_masking import MAX_MESSAGE_LENGTH, render_request_error


def schema_with_failing_scalar(error: Exception) -> GraphQLSchema:
    def read(_: object) -> object:
        raise error

    scalar = GraphQLScalarType("Picky", coerce_input_value=read)
    return GraphQLSchema(GraphQLObjectType("Query", {"f": GraphQLField(GraphQLString, {"a": GraphQLArgument(scalar)})}))


def variable_error(error: Exception, value: object = "x") -> GraphQLError:
    operation = parse("query ($a: Picky) { f(a: $a) }").definitions[0]
    assert isinstance(operation, OperationDefinitionNode)
    errors = get_variable_values(schema_with_failing_scalar(error), operation.variable_definitions or (), {"a": value})
    assert isinstance(errors, list)
    return errors[0]


def literal_error(error: Exception) -> GraphQLError:
    return validate(schema_with_failing_scalar(error), parse('{ f(a: "x") }'))[0]


@pytest.mark.parametrize("make_error", [variable_error, literal_error])
def test_an_unexpected_error_of_a_scalar_is_not_shown(make_error: object) -> None:
    assert callable(make_error)
    message = str(render_request_error(make_error(ValueError("invalid literal for int()")))["message"])
    assert "invalid literal" not in message
    assert "Expected value of type 'Picky'" in message


@pytest.mark.parametrize("make_error", [variable_error, literal_error])
def test_an_expected_error_of_a_scalar_is_shown(make_error: object) -> None:
    assert callable(make_error)
    assert "no such id" in str(render_request_error(make_error(BadInput("no such id")))["message"])
    assert "no such id" in str(render_request_error(make_error(GraphQLError("no such id")))["message"])


def test_a_message_with_a_very_long_value_is_cut() -> None:
    error = variable_error(GraphQLError("not " + "x" * 100_000))
    assert len(str(render_request_error(error)["message"])) == MAX_MESSAGE_LENGTH + len("...")
