// Renders GraphiQL into the page. The element #graphiql names the endpoint in data-url. If it also has data-sign-in,
// the page gets a bar in which a developer chooses a tenant, a user and a role, and requests get their token.
const root = document.getElementById("graphiql");
const send = GraphiQL.createFetcher({ url: root.dataset.url });
let token = null;

function fetcher(parameters, options) {
  const headers = token ? { Authorization: `Bearer ${token}`, ...options?.headers } : options?.headers;
  return send(parameters, { ...options, headers });
}

function select(label, name) {
  const element = document.createElement("select");
  element.name = name;
  const wrapper = document.createElement("label");
  wrapper.append(`${label} `, element);
  return [wrapper, element];
}

function fill(element, options) {
  element.replaceChildren(...options.map(([value, text]) => new Option(text, value)));
}

async function load(path) {
  const response = await fetch(path);
  if (!response.ok) throw new Error((await response.json()).error ?? response.statusText);
  return response.json();
}

async function signIn(bar, path) {
  const isOperator = root.dataset.url.startsWith("/admin");
  const [tenantLabel, tenants] = select("Tenant", "tenant");
  const [userLabel, users] = select("User", "user");
  const [roleLabel, roles] = select("Role", "role");
  const status = document.createElement("output");
  bar.append(...(isOperator ? [] : [tenantLabel, userLabel, roleLabel]), status);

  async function requestToken() {
    const choice = isOperator ? { operator: true } : { tenant: tenants.value, user: users.value, role: roles.value };
    const response = await fetch(`${path}/token`, { method: "POST", body: JSON.stringify(choice) });
    const answer = await response.json();
    token = answer.token ?? null;
    status.value = token ? "Requests are signed in for an hour." : answer.error;
  }

  async function showUsers() {
    const people = await load(`${path}/tenants/${encodeURIComponent(tenants.value)}/users`);
    fill(users, people.map((person) => [person.id, `${person.name} (${person.role})`]));
    users.onchange = () => {
      roles.value = people.find((person) => person.id === users.value)?.role ?? "VIEWER";
      return requestToken();
    };
    await users.onchange();
  }

  try {
    if (!isOperator) {
      fill(roles, ["OWNER", "ADMIN", "MEMBER", "VIEWER"].map((role) => [role, role]));
      fill(tenants, (await load(`${path}/tenants`)).map((tenant) => [tenant.id, `${tenant.name} (${tenant.id})`]));
      tenants.onchange = showUsers;
      roles.onchange = requestToken;
      await showUsers();
    } else {
      await requestToken();
    }
  } catch (error) {
    status.value = error.message;
  }
}

async function start() {
  if (root.dataset.signIn) {
    const bar = document.createElement("form");
    bar.id = "sign-in";
    document.body.prepend(bar);
    await signIn(bar, root.dataset.signIn);
  }
  const options = { fetcher, defaultEditorToolsVisibility: root.dataset.signIn ? "variables" : "headers" };
  ReactDOM.createRoot(root).render(React.createElement(GraphiQL, options));
}

start();
