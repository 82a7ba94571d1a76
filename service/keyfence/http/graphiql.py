"""The page on which people try the API out."""

import json
from string import Template

from keyfence.http.response import HttpResponse

ESM = "https://esm.sh"

_PAGE = Template("""\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Keyfence GraphiQL</title>
<style>body { margin: 0 } #graphiql { height: 100dvh } .loading { padding: 2rem; font-family: sans-serif }</style>
<link rel="stylesheet" href="$esm/graphiql@5.4.0/dist/style.css">
<script type="importmap">$imports</script>
<script type="module">
  import React from "react";
  import { createRoot } from "react-dom/client";
  import { GraphiQL } from "graphiql";
  import { createGraphiQLFetcher } from "@graphiql/toolkit";
  import "graphiql/setup-workers/esm.sh";
  const { url, headers } = $options;
  const fetcher = createGraphiQLFetcher({ url });
  const page = { fetcher, defaultEditorToolsVisibility: "headers", initialHeaders: headers, defaultHeaders: headers };
  createRoot(document.getElementById("graphiql")).render(React.createElement(GraphiQL, page));
</script>
</head>
<body><div id="graphiql"><p class="loading">Loading GraphiQL from $esm ...</p></div></body>
</html>
""")

_IMPORTS = {
    "react": f"{ESM}/react@19.1.0",
    "react/": f"{ESM}/react@19.1.0/",
    "react-dom": f"{ESM}/react-dom@19.1.0",
    "react-dom/": f"{ESM}/react-dom@19.1.0/",
    "graphql": f"{ESM}/graphql@16.11.0",
    "graphiql": f"{ESM}/graphiql@5.4.0?standalone&external=react,react-dom,@graphiql/react,graphql",
    "graphiql/": f"{ESM}/graphiql@5.4.0/",
    "@graphiql/react": (
        f"{ESM}/@graphiql/react@0.39.1?standalone"
        "&external=react,react-dom,graphql,@graphiql/toolkit,@emotion/is-prop-valid"
    ),
    "@graphiql/toolkit": f"{ESM}/@graphiql/toolkit@0.12.1?standalone&external=graphql",
    "@emotion/is-prop-valid": "data:text/javascript,",
}


def graphiql_page(*, url: str = "/graphql", token: str | None = None) -> str:
    """With a token, the page opens with it already in the headers."""
    headers = json.dumps({"Authorization": f"Bearer {token}"}) if token else ""
    options = {"url": url, "headers": headers}
    return _PAGE.substitute(esm=ESM, imports=json.dumps({"imports": _IMPORTS}), options=_script(options))


def _script(value: object) -> str:
    """JSON that cannot end the script element that it stands in."""
    return json.dumps(value).replace("<", "\\u003c")


def graphiql_response(url: str) -> HttpResponse:
    return HttpResponse(body=graphiql_page(url=url).encode(), content_type="text/html; charset=utf-8")
