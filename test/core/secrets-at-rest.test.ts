/** Whoever reads the database reads mail, and nothing that opens a door: no secret that was ever handed out lies in any table. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createSecrets } from "../../src/store/secrets.ts";
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

async function ask(method: string, request: object = {}): Promise<Record<string, unknown>> {
  const { status, body } = await program.call(method, request);
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

/** Everything secret that this instance gave to somebody or keeps for itself, by name. */
async function handedOut(): Promise<Record<string, string>> {
  const { secret: key } = await ask("KeyService/CreateKey", { name: "worker", permission: "KEY_PERMISSION_SEND" });
  const { signingSecret, webhook } = await ask("WebhookService/CreateWebhook", { url: "https://example.com/hook" });
  const { id } = webhook as { id: string };
  const { signingSecret: rotated } = await ask("WebhookService/RotateWebhookSecret", { id });
  await ask("DomainService/AddDomain", { domain: "shop.test" });

  const { browser } = await signUpFirst(program);
  const cookie = decodeURIComponent([...browser.cookies.values()].find((value) => value.includes("."))!);
  const options = { dataDir: program.dataDir, databaseUrl: database.url };
  const invited = await runCommand(["people", "invite", "ann@there.test"], options);
  const joining = tokenIn(invited.stdout);
  const ann = openBrowser(program);
  assert.equal((await ann.post("/auth/sign-up", { token: joining, name: "Ann", password: annsPassword })).status, 200);
  const reset = await runCommand(["people", "reset-password", "ann@there.test"], options);
  return {
    "the first key": program.key,
    "a key": key as string,
    "a webhook's secret": (signingSecret as string).slice("whsec_".length),
    "a webhook's new secret": (rotated as string).slice("whsec_".length),
    // The token itself is a row's name there; the cookie is worth something only with its signature, which nobody stores.
    "a session's signature": cookie.split(".")[1]!,
    "an invitation's token": joining,
    "a reset's token": tokenIn(reset.stdout),
    "a password": password,
    "another password": annsPassword,
    "the instance's secret": testSecret,
  };
}

const annsPassword = "a battery of staples, quite correct";

test("no table holds a secret as it was handed out, or the bytes of one", async () => {
  const secrets = { ...(await handedOut()), ...(await privateKeys()) };
  const rows = await everyRow();
  assert.ok(rows.length > 20, "there is something to look through");
  for (const [name, secret] of Object.entries(secrets)) {
    assert.ok(secret.length >= 16, name);
    for (const [form, text] of Object.entries(formsOf(secret))) {
      const place = rows.find(({ row }) => row.includes(text));
      assert.equal(place?.table, undefined, `${name}, ${form}, lies in ${place?.table}`);
    }
  }
});

test("a session's token out of the database opens nothing without its signature", async () => {
  const [session] = await database.sql<{ token: string }[]>`select token from people_sessions limit 1`;
  const headers = { "content-type": "application/json", origin: program.url, "connect-protocol-version": "1" };
  const { token } = session!;
  for (const value of [token, `${token}.`, `${token}.${"A".repeat(43)}=`]) {
    const cookie = `posthorn.session_token=${encodeURIComponent(value)}`;
    const page = await fetch(`${program.url}/auth/state`, { headers: { ...headers, cookie } });
    const state = (await page.json()) as { person?: unknown };
    assert.ok(!state.person, "nobody is signed in by it");
    const call = { method: "POST", headers: { ...headers, cookie }, body: "{}" };
    assert.equal((await fetch(`${program.url}/v1.WorkspaceService/ListWorkspaces`, call)).status, 401);
  }
});

/** Opened as the program opens them; that this works shows that the rows below are those keys, sealed. */
async function privateKeys(): Promise<Record<string, string>> {
  const rows = await database.sql<{ id: string; privateKeySealed: string }[]>`
    select id, private_key_sealed as "privateKeySealed" from dkim_keys`;
  assert.ok(rows.length >= 2);
  const { open } = createSecrets(testSecret);
  return Object.fromEntries(
    rows.map(({ id, privateKeySealed }, i) => {
      const plain = open(privateKeySealed, `dkim ${id}`);
      // Of a PEM text the middle, which no two keys share.
      return [`DKIM key ${i}`, plain.replace(/-----[^-]+-----|\s/g, "").slice(200, 260)];
    }),
  );
}

/** The whole database as text: each row of each table, partitions included. */
async function everyRow(): Promise<{ table: string; row: string }[]> {
  const tables = await database.sql<{ name: string }[]>`
    select tablename as name from pg_tables where schemaname = 'public'`;
  const found: { table: string; row: string }[] = [];
  for (const { name } of tables)
    for (const { row } of await database.sql.unsafe<{ row: string }[]>(`select t::text as row from "${name}" t`))
      found.push({ table: name, row });
  return found;
}

/** As it is; as base64 and hex of its text; and, where it is base64 itself, as hex of the bytes behind it. */
function formsOf(secret: string): Record<string, string> {
  const bytes = Buffer.from(secret);
  return {
    "as it is": secret,
    "as base64": bytes.toString("base64").replace(/=+$/, ""),
    "as hex": bytes.toString("hex"),
    "as the hex of its bytes": Buffer.from(secret, "base64").toString("hex"),
  };
}
