"""The media type of a response follows from the Accept header."""

import pytest

from keyfence.http.media_types import MediaType, is_json, negotiate, prefers_html

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"


@pytest.mark.parametrize(
    ("accept", "media"),
    [
        (None, MediaType.JSON),
        ("", MediaType.JSON),
        ("*/*", MediaType.JSON),
        ("application/*", MediaType.JSON),
        ("application/json", MediaType.JSON),
        ("application/graphql-response+json", MediaType.GRAPHQL),
        ("Application/GraphQL-Response+JSON; charset=utf-8", MediaType.GRAPHQL),
        ("application/json, application/graphql-response+json", MediaType.GRAPHQL),
        ("application/graphql-response+json, application/json;q=0.9", MediaType.GRAPHQL),
        ("application/graphql-response+json;q=0.8, application/json", MediaType.JSON),
        ("application/json, */*", MediaType.JSON),
        ("application/graphql-response+json, */*;q=0.1", MediaType.GRAPHQL),
        ("application/graphql-response+json;q=0, */*", MediaType.JSON),
        ("application/json;q=0, */*", MediaType.GRAPHQL),
        ("text/event-stream, application/json;q=0.5", MediaType.JSON),
        (BROWSER, MediaType.JSON),
        ("text/html", None),
        ("application/xml, image/*", None),
        ("application/json;q=0", None),
        ("application/json;q=0, application/graphql-response+json;q=0.0", None),
        ("application/json;q=much", None),
        (";;,,;q=1", None),
        ("application", None),
        ("a" * 100_000, None),
    ],
)
def test_the_response_has_the_media_type_with_the_highest_quality(accept: str | None, media: MediaType | None) -> None:
    assert negotiate(accept) is media


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        (BROWSER, True),
        ("text/html", True),
        ("text/html;q=0.5, application/json", False),
        ("text/html, application/json", False),
        ("text/html;q=0", False),
        ("*/*", False),
        (None, False),
    ],
)
def test_a_page_is_for_callers_that_prefer_html(accept: str | None, expected: bool) -> None:
    assert prefers_html(accept) is expected


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json",
        "Application/JSON",
        "application/json;charset=utf-8",
        'application/json; charset="UTF-8"',
        "application/json; charset=utf8; boundary=x",
    ],
)
def test_json_in_utf_8_is_read(content_type: str) -> None:
    assert is_json(content_type)


@pytest.mark.parametrize(
    "content_type",
    [
        None,
        "",
        "text/plain",
        "application/graphql",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/json; charset=utf-16",
        "application/json; charset=utf-8; charset=latin-1",
        "application/json, application/json",
        "application/jsonp",
        "text/plain; application/json",
    ],
)
def test_other_content_types_are_not_json(content_type: str | None) -> None:
    assert not is_json(content_type)
