"""The partitions that a WHERE clause cannot leave."""

from keyfence_iam.evaluator.requests.expressions.node import Literal, Node, Operation, Parameter, Path, roots, terms


def partitions(where: Node | None, attribute: str) -> tuple[Node, ...] | None:
    """The values that the attribute has in every item for which the clause holds; None where it may have any."""
    match where:
        case Operation("AND", operands):
            found = [values for one in operands if (values := partitions(one, attribute)) is not None]
            return sum(found, ()) if found else None
        case Operation("OR", operands):
            either = [partitions(one, attribute) for one in operands]
            return None if None in either else sum((values or () for values in either), ())
        case Operation("=", (Path(root, False), value) | (value, Path(root, False))) if root == attribute:
            return _given((value,))
        case Operation("IN", (Path(root, False), *values)) if root == attribute:
            return _given(tuple(values))
    return None


def only_partition(where: Node | None, attribute: str) -> Node | None:
    """The value that the attribute must be equal to, where nothing else is said of it."""
    if where is None:
        return None
    about = [term for term in terms(where) if attribute in roots(term)]
    values = partitions(about[0], attribute) if len(about) == 1 else None
    return values[0] if values and isinstance(about[0], Operation) and about[0].operator == "=" else None


def _given(values: tuple[Node, ...]) -> tuple[Node, ...] | None:
    return values if all(isinstance(value, Literal | Parameter) for value in values) else None
