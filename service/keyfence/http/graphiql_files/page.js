// Renders GraphiQL into the page. The element #graphiql names the endpoint in data-url.
const root = document.getElementById("graphiql");
const fetcher = GraphiQL.createFetcher({ url: root.dataset.url });
ReactDOM.createRoot(root).render(
  React.createElement(GraphiQL, { fetcher, defaultEditorToolsVisibility: "headers" }),
);
