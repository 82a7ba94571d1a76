"""Projection expressions."""

from functools import lru_cache

from keyfence_iam.evaluator.requests.expressions.reading import NAMES, REMEMBERED, grammar_of


@lru_cache(REMEMBERED)
def projection(text: str) -> tuple[str, ...]:
    """The attributes that it selects, or selects a part of."""
    grammar = grammar_of(text)
    found = [grammar.path(*NAMES).root]
    while grammar.tokens.accept(","):
        found.append(grammar.path(*NAMES).root)
    grammar.tokens.expect_end()
    return tuple(dict.fromkeys(found))
