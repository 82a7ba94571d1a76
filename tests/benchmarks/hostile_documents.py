"""Ten shapes of GraphQL requests that cost the server much CPU time, each just inside the limits of a request.

The comment at the end of each document is different in each request, so that no cache knows the document.
"""

import json
from collections.abc import Mapping

from tests.benchmarks.load_client import NONCE

FIELD = "viewer { role }"


def _many_operations() -> str:
    return " ".join(f"query q{number} {{ ...f }}" for number in range(10)) + f" fragment f on Query {{ {FIELD} }}"


def _fragment_chain() -> str:
    links = " ".join(f"fragment f{number} on Query {{ ...f{number + 1} }}" for number in range(49))
    return f"query a {{ ...f0 }} query b {{ ...f0 }} {links} fragment f49 on Query {{ {FIELD} }}"


def _deep_selection() -> str:
    inside = "edges { node { groups(first: 1) { edges { node { members(first: 1) { edges { cursor } } } } } } }"
    return "{ " + f"users(first: 1) {{ {inside} }} " * 14 + "}"


def _many_aliases() -> str:
    return "{ " + " ".join(f"a{number}: {FIELD}" for number in range(15)) + " }"


def _directive_storm() -> str:
    return "{ viewer { " + "role @include(if: true) @skip(if: false) " * 25 + "} }"


def _long_literal_list() -> str:
    return "{ productsInCategory(first: 1, path: [" + '"a" ' * 900 + "]) { edges { cursor } } }"


def _block_strings() -> str:
    return '{ users(first: 1, after: """' + "\\n   x" * 2_500 + '""") { edges { cursor } } }'


def _introspection() -> str:
    of_type = "ofType { name kind " * 10 + "} " * 10
    return "{ __schema { types { name fields { name args { name type { " + of_type + "} } } } } }"


def _invalid_document() -> str:
    return "{ " + " ".join(f"x{number}" for number in range(990)) + " }"


DOCUMENTS: Mapping[str, str] = {
    "many operations": _many_operations(),
    "fragment chain": _fragment_chain(),
    "deep selection": _deep_selection(),
    "many aliases": _many_aliases(),
    "directive storm": _directive_storm(),
    "long list of literals": _long_literal_list(),
    "block strings": _block_strings(),
    "introspection": _introspection(),
    "invalid document": _invalid_document(),
}

HUGE_VARIABLES = {
    "query": "query ($path: [String!]!) { productsInCategory(first: 1, path: $path) { edges { cursor } } } # " + NONCE,
    "variables": {"path": ["a" * 25] * 1_900},
}

HOSTILE_BODIES: Mapping[str, str] = {
    **{name: json.dumps({"query": f"{text} # {NONCE}"}) for name, text in DOCUMENTS.items()},
    "huge variables": json.dumps(HUGE_VARIABLES),
}
