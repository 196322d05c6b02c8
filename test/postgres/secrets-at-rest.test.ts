/** Read access to the database gives access to mail, but to no credential: no table contains a secret in plain text. */
import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { after, before, test } from "node:test";
import { createSecrets } from "../../src/postgres/sealing.ts";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { openBrowser, password, signUpFirst, tokenIn } from "../harness/people.ts";
import { type RunningProgram, runCommand, startProgram, testSecret } from "../harness/program.ts";

let database: TestDatabase;
let program: RunningProgram;
before(async () => {
  database = await createTestDatabase();
  program = await startProgram({ databaseUrl: database.url });
});
after(async () => {
  await program?.remove();
  await database?.drop();
});

async function call(method: string, request: object = {}): Promise<Record<string, unknown>> {
  const { status, body } = await program.call(method, request);
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

/** All secrets that this instance has issued or keeps, by name. */
async function issuedSecrets(): Promise<Record<string, string>> {
  const { secret: key } = await call("KeyService/CreateKey", { name: "worker", permission: "KEY_PERMISSION_SEND" });
  const { signingSecret, webhook } = await call("WebhookService/CreateWebhook", { url: "https://example.com/hook" });
  const { id } = webhook as { id: string };
  const { signingSecret: rotated } = await call("WebhookService/RotateWebhookSecret", { id });
  const { domain } = await call("DomainService/AddDomain", { domain: "shop.test" });
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const privateKeyPem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  await call("DomainService/ImportDkimKey", { id: (domain as { id: string }).id, selector: "s1", privateKeyPem });

  const { browser } = await signUpFirst(program);
  const cookie = decodeURIComponent([...browser.cookies.values()].find((value) => value.includes("."))!);
  const options = { dataDir: program.dataDir, databaseUrl: database.url };
  const invited = await runCommand(["people", "invite", "ann@there.test"], options);
  const invitationToken = tokenIn(invited.stdout);
  const ann = openBrowser(program);
  assert.equal(
    (await ann.post("/auth/sign-up", { token: invitationToken, name: "Ann", password: annsPassword })).status,
    200,
  );
  const reset = await runCommand(["people", "reset-password", "ann@there.test"], options);
  return {
    "the first key": program.key,
    "a key": key as string,
    "a webhook's secret": (signingSecret as string).slice("whsec_".length),
    "a webhook's new secret": (rotated as string).slice("whsec_".length),
    // The session's token is stored. A cookie is valid only with the signature, which is not stored.
    "a session's signature": cookie.split(".")[1]!,
    "an invitation's token": invitationToken,
    "a reset's token": tokenIn(reset.stdout),
    "a password": password,
    "another password": annsPassword,
    "the instance's secret": testSecret,
  };
}

const annsPassword = "a battery of staples, quite correct";

test("no table contains an issued secret, plain or encoded", async () => {
  const secrets = { ...(await issuedSecrets()), ...(await privateKeys()) };
  const rows = await everyRow();
  assert.ok(rows.length > 20, "there are rows to search");
  for (const [name, secret] of Object.entries(secrets)) {
    assert.ok(secret.length >= 16, name);
    for (const [form, text] of Object.entries(formsOf(secret))) {
      const match = rows.find(({ row }) => row.includes(text));
      assert.equal(match?.table, undefined, `${name}, ${form}, is in ${match?.table}`);
    }
  }
});

test("a session token from the database is rejected without its signature", async () => {
  const [session] = await database.sql<{ token: string }[]>`select token from people_sessions limit 1`;
  const headers = { "content-type": "application/json", origin: program.url, "connect-protocol-version": "1" };
  const { token } = session!;
  for (const value of [token, `${token}.`, `${token}.${"A".repeat(43)}=`]) {
    const cookie = `posthorn.session_token=${encodeURIComponent(value)}`;
    const page = await fetch(`${program.url}/auth/state`, { headers: { ...headers, cookie } });
    const state = (await page.json()) as { person?: unknown };
    assert.ok(!state.person, "not signed in");
    const request = { method: "POST", headers: { ...headers, cookie }, body: "{}" };
    assert.equal((await fetch(`${program.url}/v1.WorkspaceService/ListWorkspaces`, request)).status, 401);
  }
});

/** The DKIM keys, unsealed as the program does. This proves that the rows contain these keys in sealed form. */
async function privateKeys(): Promise<Record<string, string>> {
  const rows = await database.sql<{ id: string; privateKeySealed: string }[]>`
    select id, private_key_sealed as "privateKeySealed" from dkim_keys
    union all select id, private_key_sealed from imported_dkim_keys`;
  assert.ok(rows.length >= 3);
  const { open } = createSecrets(testSecret);
  return Object.fromEntries(
    rows.map(({ id, privateKeySealed }, i) => {
      const plain = open(privateKeySealed, `dkim ${id}`);
      // The middle of the PEM text, which differs between keys.
      return [`DKIM key ${i}`, plain.replace(/-----[^-]+-----|\s/g, "").slice(200, 260)];
    }),
  );
}

/** The whole database as text: each row of each table, including partitions. */
async function everyRow(): Promise<{ table: string; row: string }[]> {
  const tables = await database.sql<{ name: string }[]>`
    select tablename as name from pg_tables where schemaname = 'public'`;
  const found: { table: string; row: string }[] = [];
  for (const { name } of tables)
    for (const { row } of await database.sql.unsafe<{ row: string }[]>(`select t::text as row from "${name}" t`))
      found.push({ table: name, row });
  return found;
}

/** The secret in plain text, as base64 and hex of its text, and, if it is base64 itself, as hex of the decoded bytes. */
function formsOf(secret: string): Record<string, string> {
  const bytes = Buffer.from(secret);
  return {
    "in plain text": secret,
    "as base64": bytes.toString("base64").replace(/=+$/, ""),
    "as hex": bytes.toString("hex"),
    "as hex of its decoded bytes": Buffer.from(secret, "base64").toString("hex"),
  };
}
