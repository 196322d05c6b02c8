/** Answers of a provider that are wrong: each is refused with its reason, counted, limited and recorded, and opens no session. */
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import type { oidcSentences } from "../../src/people/rules/oidc-refusal.ts";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { comeBack, makeKeys, signInBy, startProvider, type TestProvider, visitProvider } from "../harness/oidc.ts";
import { openBrowser } from "../harness/people.ts";
import { type RunningProgram, startProgram } from "../harness/program.ts";
import { shiftWallTime } from "../harness/time.ts";
import { until } from "../harness/wait.ts";

let provider: TestProvider;
let database: TestDatabase;
let program: RunningProgram;
const ann = { sub: "ann-1", email: "ann@corp.example", email_verified: true };
before(async () => {
  provider = await startProvider({ idTokenClaims: true });
  database = await createTestDatabase();
  const env = {
    ...provider.env,
    POSTHORN_TRUSTED_PROXIES: "127.0.0.1/32",
    POSTHORN_OIDC_TEST_DOMAINS: "corp.example",
    POSTHORN_OIDC_TEST_WORKSPACE: "default",
    POSTHORN_OIDC_TEST_ROLE: "owner",
  };
  program = await startProgram({ databaseUrl: database.url, env });
  provider.register(program);
});
after(async () => {
  await program?.remove();
  await provider?.stop();
  await database?.drop();
});
afterEach(() => {
  provider.account = ann;
  provider.tamper = undefined;
  provider.isDown = false;
});

async function counted(result: string): Promise<number> {
  const text = await (await fetch(`${program.opsUrl}/metrics`)).text();
  return Number(new RegExp(`^posthorn_oidc_sign_ins_total\\{result="${result}"\\} (\\d+)`, "m").exec(text)?.[1]);
}

async function recorded(): Promise<{ reason: string; actor: string; address: string | null }[]> {
  return await database.sql`
    select e.reason, e.actor, c.address from audit_entries e left join audit_clients c on c.entry_id = e.id
    where e.action = 'sign_in.refused' order by e.id`;
}

let clients = 0;
/** Runs a sign-in that must be refused for this reason. Each comes from a client of its own, whose limits are fresh. */
async function assertRefused(
  reason: keyof typeof oidcSentences,
  run: (address: string) => Promise<string>,
): Promise<void> {
  const address = `198.51.100.${++clients}`;
  const before = { counted: await counted(reason), recorded: (await recorded()).length };
  const sessions = async () => (await database.sql`select 1 from people_sessions`).length;
  const opened = await sessions();
  const location = await run(address);
  assert.match(location, new RegExp(`^/sign-in\\?problem=${reason}(&provider=test)?$`));
  assert.equal(await sessions(), opened, "no session was opened");
  assert.equal(await counted(reason), before.counted + 1);
  const entries = (await recorded()).slice(before.recorded);
  assert.deepEqual(entries, [{ reason, actor: "stranger", address }]);
}

const hourAgo = () => Math.floor(Date.now() / 1000) - 3600;
const tampered: [what: string, reason: keyof typeof oidcSentences, change: Parameters<TestProvider["forge"]>[1]][] = [
  ["the nonce of another sign-in", "oidc_nonce", { claims: { nonce: "another" } }],
  ["no nonce", "oidc_nonce", { claims: { nonce: undefined } }],
  ["another issuer", "oidc_issuer", { claims: { iss: "https://evil.example" } }],
  ["another audience", "oidc_audience", { claims: { aud: "another-client" } }],
  ["a second audience", "oidc_audience", { claims: { aud: ["posthorn", "another-client"] } }],
  ["the algorithm none", "oidc_algorithm", { header: { alg: "none" }, unsigned: true }],
  ["the algorithm none in capitals", "oidc_algorithm", { header: { alg: "NONE" }, unsigned: true }],
  ["a symmetric algorithm", "oidc_algorithm", { header: { alg: "HS256" } }],
  ["an expired ID token", "oidc_expired", { claims: { exp: hourAgo() } }],
  ["an ID token for later", "oidc_expired", { claims: { nbf: hourAgo() + 7200 } }],
  ["a signature of another key", "oidc_signature", { key: makeKeys().privateKey }],
  ["no signature", "oidc_signature", { unsigned: true }],
  ["an unknown key", "oidc_signature", { header: { kid: "unknown" } }],
];

test("a first sign-in works, so that each refusal below has its own cause", async () => {
  provider.account = ann;
  assert.equal(await signInBy(openBrowser(program), program), "/");
  assert.equal(await counted("ok"), 1);
});

for (const [what, reason, change] of tampered)
  test(`an answer with ${what} is refused`, async () => {
    provider.tamper = (tokens) => provider.forge(tokens, change);
    await assertRefused(reason, (address) => signInBy(openBrowser(program), program, {}, address));
  });

test("an answer without an ID token, or with one that cannot be read, is refused", async () => {
  provider.tamper = ({ access_token }) => ({ access_token, token_type: "bearer" });
  await assertRefused("oidc_answer", (address) => signInBy(openBrowser(program), program, {}, address));
  provider.tamper = (tokens) => ({ ...tokens, id_token: "a.b" });
  await assertRefused("oidc_answer", (address) => signInBy(openBrowser(program), program, {}, address));
  provider.tamper = (tokens) => ({ ...tokens, more: "x".repeat(2 * 1024 * 1024) });
  await assertRefused("oidc_answer", (address) => signInBy(openBrowser(program), program, {}, address));
});

test("a wrong state, another browser and a second use are refused", async () => {
  const browser = openBrowser(program);
  const { back } = await visitProvider(browser, program);
  const wrong = new URL(back);
  wrong.searchParams.set("state", "x".repeat(43));
  await assertRefused("oidc_state", (address) => comeBack(browser, wrong, address));
  const without = new URL(back);
  without.searchParams.delete("state");
  await assertRefused("oidc_state", (address) => comeBack(browser, without, address));
  // An attacker who sends the address of their own sign-in to another person.
  await assertRefused("oidc_state", (address) => comeBack(openBrowser(program), back, address));
  const victim = openBrowser(program);
  await visitProvider(victim, program);
  await assertRefused("oidc_state", (address) => comeBack(victim, back, address));
  assert.equal(await comeBack(browser, back), "/", "none of these used up the sign-in");
  await assertRefused("oidc_state", (address) => comeBack(browser, back, address));
});

test("an answer that names another issuer is refused before its code is used", async () => {
  const browser = openBrowser(program);
  const { back } = await visitProvider(browser, program);
  assert.equal(back.searchParams.get("iss"), provider.issuer);
  back.searchParams.set("iss", "https://evil.example");
  provider.requests.length = 0;
  await assertRefused("oidc_issuer", (address) => comeBack(browser, back, address));
  assert.ok(!provider.requests.includes("/token"));
  const second = await visitProvider(browser, program);
  second.back.searchParams.delete("iss");
  await assertRefused("oidc_issuer", (address) => comeBack(browser, second.back, address));
});

test("an error of the provider is a sentence of ours", async () => {
  provider.account = undefined;
  await assertRefused("oidc_denied", (address) => signInBy(openBrowser(program), program, {}, address));
  const browser = openBrowser(program);
  provider.account = ann;
  const { back } = await visitProvider(browser, program);
  back.searchParams.delete("code");
  back.searchParams.set("error", "server_error");
  back.searchParams.set("error_description", "<script>alert(1)</script>");
  await assertRefused("oidc_provider", (address) => comeBack(browser, back, address));
  const second = await visitProvider(browser, program);
  second.back.searchParams.set("code", "guessed");
  await assertRefused("oidc_provider", (address) => comeBack(browser, second.back, address));
});

test("a provider that is down leaves the sign-in page usable", async () => {
  const browser = openBrowser(program);
  const { back } = await visitProvider(browser, program);
  provider.isDown = true;
  await assertRefused("oidc_unavailable", (address) => comeBack(browser, back, address));
  provider.isDown = false;
  assert.equal(await signInBy(browser, program), "/");
});

test("a provider may replace its keys at any time", async () => {
  const browser = openBrowser(program);
  assert.equal(await signInBy(browser, program), "/");
  provider.replaceKeys();
  assert.equal(await signInBy(browser, program), "/");
});

test("a flood of refusals is limited, counted, and fills neither the log nor the database", async () => {
  const browser = openBrowser(program);
  const forged = new URL(`${program.url}/auth/oidc/callback?state=${"x".repeat(43)}&code=x`);
  const before = { state: await counted("oidc_state"), limit: await counted("oidc_limit") };
  const entries = (await recorded()).length;
  const locations = [];
  for (let i = 0; i < 80; i++) locations.push(await comeBack(browser, forged));
  assert.equal(locations.at(-1), "/sign-in?problem=oidc_limit");
  const after = { state: await counted("oidc_state"), limit: await counted("oidc_limit") };
  assert.equal(after.state + after.limit - before.state - before.limit, 80);
  assert.ok(after.limit - before.limit >= 30, `${after.limit - before.limit} limited`);
  const added = (await recorded()).length - entries;
  assert.ok(added > 0 && added <= 21, `${added} entries`);
  // A password still works from that network.
  const { status } = await browser.post("/auth/sign-in", { email: "a@b.example", password: "wrong wrong wrong" });
  assert.equal(status, 401);
});

test("the database's clock decides whether an answer has expired", async () => {
  provider.account = ann;
  const come = () => signInBy(openBrowser(program), program, {}, "198.51.100.250");
  assert.equal(await come(), "/");
  await shiftWallTime(database.sql, "1 hours");
  await until("the program to follow the clock", async () => (await come()).includes("oidc_expired"), {
    everyMs: 1000,
  });
  await shiftWallTime(database.sql, "0 hours");
  await until("the program to follow the clock back", async () => (await come()) === "/", { everyMs: 1000 });
});
