// Runs graphql-http's audits of a server, given its address and an Authorization header, and prints what they found.
import { serverAudits } from 'graphql-http';

const [url, authorization] = process.argv.slice(2);

const fetchFn = (input, init = {}) => fetch(input, { ...init, headers: { ...init.headers, authorization } });

const results = [];
for (const audit of serverAudits({ url, fetchFn })) {
  const { id, name, status, reason } = await audit.fn();
  results.push({ id, name, status, reason });
}
console.log(JSON.stringify(results));
