"""The page that people try the API out on."""

import json
import re

from keyfence.http.graphiql import graphiql_page


def options(page: str) -> dict[str, str]:
    found = re.search(r"const \{ url, headers \} = (.*);", page)
    assert found
    parsed: dict[str, str] = json.loads(found[1])
    return parsed


def test_the_page_opens_with_the_token_in_its_headers() -> None:
    given = options(graphiql_page(url="/graphql", token="abc.def"))
    assert given["url"] == "/graphql"
    assert json.loads(given["headers"]) == {"Authorization": "Bearer abc.def"}


def test_without_a_token_the_page_has_no_headers() -> None:
    assert options(graphiql_page())["headers"] == ""


def test_nothing_given_to_the_page_can_leave_its_script() -> None:
    page = graphiql_page(token="</script><script>alert(1)</script>")
    assert page.count("</script>") == graphiql_page().count("</script>")
    assert "$" not in page.replace("${", "")


def test_every_import_of_the_page_is_mapped() -> None:
    page = graphiql_page()
    mapped = json.loads(re.findall(r'<script type="importmap">(.*)</script>', page)[0])["imports"]
    for name in re.findall(r'(?:from|import) "([^"]+)"', page):
        assert name in mapped or any(name.startswith(prefix) for prefix in mapped if prefix.endswith("/"))
