/** Links that show the records of a domain without a sign-in: what they reveal, how they end, and that a view leads to a check. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { type ScriptedDns, startScriptedDns } from "../harness/dns.ts";
import { domainOf, recordOf, type WireDomain } from "../harness/domain-answers.ts";
import { type RunningProgram, startProgram } from "../harness/program.ts";
import { until } from "../harness/wait.ts";

let database: TestDatabase;
let dns: ScriptedDns;
let program: RunningProgram;
let domain: WireDomain;
before(async () => {
  database = await createTestDatabase();
  dns = await startScriptedDns();
  dns.zone("test");
  dns.zone("contoso.test");
  dns.set("contoso.test", "NS", "ada.ns.cloudflare.com");
  program = await startProgram({
    databaseUrl: database.url,
    env: { POSTHORN_RESOLVERS: `127.0.0.1:${dns.port}`, POSTHORN_PUBLIC_URL: "https://posthorn.example" },
  });
  domain = domainOf(await program.call("DomainService/AddDomain", { domain: "mail.contoso.test" }));
});
after(async () => {
  await program?.remove();
  await dns?.stop();
  await database?.drop();
});

type Created = { url: string; link: { id: string; domainId: string; createdAt: string; expiresAt: string } };

async function share(request: object = {}): Promise<Created & { token: string }> {
  const { status, body } = await program.call("DomainService/CreateDomainLink", { id: domain.id, ...request });
  assert.equal(status, 200, JSON.stringify(body));
  const created = body as unknown as Created;
  const token = /^https:\/\/posthorn\.example\/dns#([\w-]{43})$/.exec(created.url)?.[1];
  return { ...created, token: token ?? assert.fail(created.url) };
}

async function open(token: string) {
  const response = await fetch(`${program.url}/shared/domain`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ token }),
  });
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as Record<string, unknown>,
  };
}

test("a link shows the records, what was found and the provider, and nothing else", async () => {
  const { token, link } = await share();
  assert.equal(Date.parse(link.expiresAt) - Date.parse(link.createdAt), 7 * 86_400_000);
  await until("the zone is known", async () => (await open(token)).body.zone === "contoso.test");
  const { status, body, headers } = await open(token);
  assert.equal(status, 200);
  assert.equal(headers.get("cache-control"), "no-store");
  const fields = ["domain", "expiresAt", "importedKeyRecords", "provider", "records", "zone"];
  assert.deepEqual(Object.keys(body).toSorted(), fields);
  assert.equal((body.provider as { id: string }).id, "cloudflare");
  const stored = domainOf(await program.call("DomainService/GetDomain", { id: domain.id }));
  assert.deepEqual(body.records, stored.records);
  assert.doesNotMatch(JSON.stringify(body), new RegExp(domain.id));
  const [row] = await database.sql<{ text: string }[]>`select to_jsonb(l)::text as text from domain_links l`;
  assert.ok(!row!.text.includes(token), "only the hash is stored");
});

test("a view leads to a check soon, but not to one for every view", async () => {
  const { token } = await share();
  const { name, value } = recordOf(domain, "dkim1");
  dns.set(name, "CNAME", value);
  await database.sql`update domains set registered_at = registered_at - interval '1 minute'`;
  const statusOf = async () => {
    const { body } = await open(token);
    return (body.records as WireDomain["records"]).dkimRecords[0]!.status;
  };
  await until("the record is found", async () => (await statusOf()) === "RECORD_STATUS_FOUND");
  const checkedAt = (await open(token)).body.lastCheckedAt;
  for (let n = 0; n < 5; n++) assert.equal((await open(token)).body.lastCheckedAt, checkedAt);
});

test("wrong, expired and revoked links, and links of a deleted domain, all answer the same", async () => {
  const revoked = await share({ days: 1 });
  const { body } = await program.call("DomainService/ListDomainLinks", { id: domain.id });
  const listed = body.data as { id: string; lastViewedAt?: string }[];
  assert.equal(listed[0]?.id, revoked.link.id);
  assert.ok(listed.at(-1)?.lastViewedAt, "the first link was opened");
  assert.equal((await program.call("DomainService/RevokeDomainLink", { id: revoked.link.id })).status, 200);
  assert.equal((await program.call("DomainService/RevokeDomainLink", { id: revoked.link.id })).body.code, "not_found");
  const expired = await share({ days: 30 });
  await database.sql`update domain_links set service_expires_at = service_time() where id = ${expired.link.id.slice(4)}`;
  const orphan = await share();
  assert.equal((await open(orphan.token)).status, 200);
  await program.call("DomainService/DeleteDomain", { id: domain.id });
  const answers = await Promise.all(
    [revoked.token, expired.token, orphan.token, "x".repeat(43), "", "'; --"].map((token) => open(token)),
  );
  for (const { status, body } of answers) {
    assert.equal(status, 404);
    assert.deepEqual(body, answers[0]!.body);
  }
});

test("days out of range are rejected, and a stranger who asks too often has to wait", async () => {
  const other = domainOf(await program.call("DomainService/AddDomain", { domain: "other.test" }));
  for (const days of [-1, 31]) {
    const { body } = await program.call("DomainService/CreateDomainLink", { id: other.id, days });
    assert.equal(body.code, "invalid_argument");
    assert.match(String(body.message), /days: must be between 1 and 30/);
  }
  const answers = await Promise.all(Array.from({ length: 80 }, () => open("x".repeat(43))));
  const refused = answers.filter(({ status }) => status === 429);
  assert.ok(refused.length > 0, "the burst is 60");
  assert.ok(Number(refused[0]!.headers.get("retry-after")) >= 1);
});
