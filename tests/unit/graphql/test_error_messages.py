"""Messages of refused values: no foreign words in them, and never endless."""

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
from keyfence.graphql.errors import MAX_MESSAGE_LENGTH, render_request_error


def picky(error: Exception) -> GraphQLSchema:
    def read(_: object) -> object:
        raise error

    scalar = GraphQLScalarType("Picky", coerce_input_value=read)
    return GraphQLSchema(GraphQLObjectType("Query", {"f": GraphQLField(GraphQLString, {"a": GraphQLArgument(scalar)})}))


def variable_error(error: Exception, value: object = "x") -> GraphQLError:
    operation = parse("query ($a: Picky) { f(a: $a) }").definitions[0]
    assert isinstance(operation, OperationDefinitionNode)
    errors = get_variable_values(picky(error), operation.variable_definitions or (), {"a": value})
    assert isinstance(errors, list)
    return errors[0]


def literal_error(error: Exception) -> GraphQLError:
    return validate(picky(error), parse('{ f(a: "x") }'))[0]


@pytest.mark.parametrize("found", [variable_error, literal_error])
def test_what_a_scalar_raised_by_accident_is_not_told(found: object) -> None:
    assert callable(found)
    message = str(render_request_error(found(ValueError("invalid literal for int()")))["message"])
    assert "invalid literal" not in message
    assert "Expected value of type 'Picky'" in message


@pytest.mark.parametrize("found", [variable_error, literal_error])
def test_what_a_scalar_raised_on_purpose_is_told(found: object) -> None:
    assert callable(found)
    assert "no such id" in str(render_request_error(found(BadInput("no such id")))["message"])
    assert "no such id" in str(render_request_error(found(GraphQLError("no such id")))["message"])


def test_a_message_that_quotes_an_endless_value_is_cut() -> None:
    error = variable_error(GraphQLError("not " + "x" * 100_000))
    assert len(str(render_request_error(error)["message"])) == MAX_MESSAGE_LENGTH + len("...")
