"""`random_request`: a random GraphQL request over a schema: fields, aliases, fragments, directives and variables."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

from graphql import (
    GraphQLArgument,
    GraphQLField,
    GraphQLInterfaceType,
    GraphQLObjectType,
    GraphQLSchema,
    get_named_type,
    is_leaf_type,
    is_required_argument,
)

from tests.isolation.fuzz.argument_values import ArgumentValues
from tests.isolation.fuzz.odd_values import as_json, as_literal

MAX_DEPTH = 5
MAX_FIELDS = 30
"""After this number of fields, a document gets no more fields that need a selection."""
DIRECTIVES = ("@skip(if: false)", "@include(if: true)", "@skip(if: true)", "@include(if: false)")
INVALID_DIRECTIVES = (
    "@include(if: null)", "@skip", "@unknown", "@deprecated", '@include(if: "true")', "@include(if: $missing)",
    "@skip(if: false) @skip(if: false)",
)  # fmt: skip
INTROSPECTION = ("__schema { types { name fields { name } } }", '__type(name: "User") { name }', "__nothing")


@dataclass(frozen=True, slots=True)
class RandomRequest:
    """The parameters of a GraphQL request. `variables` is JSON, and possibly a number that Python cannot write."""

    operation: str
    query: str
    variables: str
    root_fields: tuple[str, ...]


def random_request(schema: GraphQLSchema, operation: str, values: ArgumentValues) -> RandomRequest:
    root = schema.mutation_type if operation == "mutation" else schema.query_type
    assert root is not None
    return _DocumentBuilder(schema, values.random, values).build(operation, root)


@dataclass(slots=True)
class _DocumentBuilder:
    schema: GraphQLSchema
    random: Random
    values: ArgumentValues
    fields_left: int = MAX_FIELDS
    aliases: int = 0
    fragments: list[str] = field(default_factory=list)
    variable_definitions: list[str] = field(default_factory=list)
    variable_values: dict[str, Any] = field(default_factory=dict)

    def build(self, operation: str, root: GraphQLObjectType) -> RandomRequest:
        names = self.random.choices(list(root.fields), k=self.random.choice((1, 1, 1, 2, 2)))
        selections = [selection for name in names for selection in self._root_fields(name, root.fields[name])]
        if self.values.is_odd(0.2):
            selections.append(self.random.choice(INTROSPECTION))
        definitions = f"({', '.join(self.variable_definitions)})" if self.variable_definitions else ""
        text = " ".join([f"{operation} Fuzz{definitions} {{ {' '.join(selections)} }}", *self.fragments])
        if self.values.is_odd(0.4):
            text = self._break(text)
        return RandomRequest(operation, text, as_json(self.variable_values), tuple(names))

    def _root_fields(self, name: str, definition: GraphQLField) -> Iterator[str]:
        """Yields a root field, and sometimes the same field again with the same arguments and another selection.

        Both fields then wait for the same objects to be loaded."""
        call = f"{name}{self._arguments(name, definition)}"
        for _ in range(self.random.choice((1, 2))):
            yield f"{self._alias(name)}{call} {self._directive()}{self._selection(definition.type, 1)}"

    def _field(self, name: str, definition: GraphQLField, depth: int) -> str:
        self.fields_left -= 1
        alias = self._alias(name) if self.random.random() < 0.1 else ""
        call = f"{alias}{name}{self._arguments(name, definition)}"
        return f"{call} {self._directive()}{self._selection(definition.type, depth)}"

    def _arguments(self, name: str, definition: GraphQLField) -> str:
        arguments = ", ".join(
            f"{argument}: {self._argument(argument, part, f'{name} {argument}')}"
            for argument, part in definition.args.items()
            if self._is_sent(argument, part)
        )
        return f"({arguments})" if arguments else ""

    def _alias(self, name: str) -> str:
        self.aliases += 1
        return f"a{self.aliases}_{name}: "

    def _is_sent(self, name: str, argument: GraphQLArgument) -> bool:
        if is_required_argument(argument):
            return not self.values.is_odd(0.1)
        return self.random.random() < (0.15 if name == "after" else 0.4)

    def _argument(self, name: str, argument: GraphQLArgument, hint: str) -> str:
        value = self.values.value(argument.type, name, hint)
        return as_literal(value) if self.random.random() < 0.5 else self._variable(argument, value)

    def _variable(self, argument: GraphQLArgument, value: Any) -> str:
        """Defines a variable with this value, and returns its name. Some variables have no value or a wrong type."""
        name, is_default = f"v{len(self.variable_definitions)}", self.random.random() < 0.1
        is_wrong = self.values.is_odd(0.1)
        type_ = self.random.choice(("Int", "String!", "[ID!]", "Unknown")) if is_wrong else str(argument.type)
        self.variable_definitions.append(f"${name}: {type_}{f' = {as_literal(value)}' if is_default else ''}")
        if not is_default and not self.values.is_odd(0.1):
            self.variable_values[name] = value
        return f"${name}"

    def _directive(self) -> str:
        if self.values.is_odd(0.05):
            return f"{self.random.choice(INVALID_DIRECTIVES)} "
        return f"{self.random.choice(DIRECTIVES)} " if self.random.random() < 0.03 else ""

    def _selection(self, type_: Any, depth: int) -> str:
        named_type = get_named_type(type_)
        if is_leaf_type(named_type):
            return "{ id }" if self.values.is_odd(0.01) else ""
        if isinstance(named_type, GraphQLInterfaceType):
            types = self.random.sample(self.schema.get_possible_types(named_type), 2)
            inner = " ".join(["__typename id", *(f"... on {one.name} {self._selection(one, depth)}" for one in types)])
            return f"{{ {inner} }}"
        return self._wrap(named_type.name, " ".join(self._fields(named_type, depth)))

    def _fields(self, type_: GraphQLObjectType, depth: int) -> Iterator[str]:
        """Yields the selected fields. A connection has few fields, and without its edges it shows nothing."""
        names = self.random.sample(list(type_.fields), k=self.random.randint(1, min(6, len(type_.fields))))
        chosen = dict.fromkeys([*names, "edges"] if "edges" in type_.fields else names)
        yield "__typename id" if "id" in type_.fields else "__typename"
        for name in chosen:
            definition = type_.fields[name]
            may_select = depth < MAX_DEPTH + 2 and self.fields_left > 0
            if is_leaf_type(get_named_type(definition.type)) or may_select:
                yield self._field(name, definition, depth + (name not in {"edges", "node"}))

    def _wrap(self, type_name: str, fields: str) -> str:
        """Returns the selection, sometimes in an inline fragment or in a named fragment."""
        chance = self.random.random()
        if chance < 0.05:
            return f"{{ ... on {type_name} {{ {fields} }} }}"
        if chance < 0.1:
            name = f"F{len(self.fragments)}"
            inner = f"...{name}" if self.values.is_odd(0.1) else fields  # a fragment that spreads itself is invalid
            self.fragments.append(f"fragment {name} on {type_name} {{ {inner} }}")
            return f"{{ ...{name} __typename }}"
        return f"{{ {fields} }}"

    def _break(self, text: str) -> str:
        position = self.random.randrange(len(text))
        inserted = self.random.choice(("", "", "{", "}", "\x00", "\ufeff", '"', "#", "$", "@", "...", "😀", "\ud800"))
        return text[:position] + inserted + text[position + 1 :]
