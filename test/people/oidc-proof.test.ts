/** Recent proofs by a provider: only a sign-in there within the last 15 minutes counts, by the provider's own word. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Secret, TOTP } from "otpauth";
import { addPasskey } from "../harness/authenticator.ts";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import {
  comeBack,
  followUntil,
  type ProviderOptions,
  signInBy,
  startProvider,
  type TestProvider,
  visitProvider,
} from "../harness/oidc.ts";
import { type Browser, joinAs, openBrowser, password, type Session, signUpFirst } from "../harness/people.ts";
import { type RunningProgram, startProgram } from "../harness/program.ts";
import { passServiceTime } from "../harness/time.ts";
import { until } from "../harness/wait.ts";

let provider: TestProvider;
let database: TestDatabase;
let program: RunningProgram;
let owner: { browser: Browser; session: Session; workspace: string };
const settings = {
  POSTHORN_OIDC_TEST_DOMAINS: "corp.example",
  POSTHORN_OIDC_TEST_WORKSPACE: "default",
  POSTHORN_OIDC_TEST_ROLE: "owner",
};
before(async () => {
  provider = await startProvider();
  database = await createTestDatabase();
  program = await startProgram({ databaseUrl: database.url, env: { ...provider.env, ...settings } });
  provider.register(program);
  owner = await signUpFirst(program);
});
after(async () => {
  await program?.remove();
  await provider?.stop();
  await database?.drop();
});

const person = (name: string) => ({ sub: name, email: `${name}@corp.example`, email_verified: true });

async function signIn(name: string): Promise<Browser> {
  provider.account = person(name);
  const browser = openBrowser(program);
  assert.equal(await signInBy(browser, program), "/");
  return browser;
}

const confirm = (browser: Browser) => signInBy(browser, program, { purpose: "confirm", return: "/keys" });
const refused = (reason: string) => `/account?problem=${reason}&provider=test`;

/** A sensitive call. */
async function isRecent(browser: Browser): Promise<boolean> {
  const request = { name: "k", permission: "KEY_PERMISSION_READ" };
  const { status, body } = await browser.rpc("KeyService/CreateKey", request, owner.workspace);
  if (status === 200) return true;
  assert.match(JSON.stringify(body), /FRESH_AUTHENTICATION_REQUIRED/);
  return false;
}

/** Lets the ID token name this time; undefined: none. */
async function withAuthTime<T>(agoSeconds: number | undefined, work: () => Promise<T>): Promise<T> {
  const time = agoSeconds === undefined ? undefined : Math.floor(Date.now() / 1000) - agoSeconds;
  provider.tamper = (tokens) => provider.forge(tokens, { claims: { auth_time: time } });
  try {
    return await work();
  } finally {
    provider.tamper = undefined;
  }
}

const entries = async (action: string, name: string) =>
  (
    await database.sql<{ reason: string | null }[]>`
      select e.reason from audit_entries e join people p on p.id = e.actor_id
      where e.action = ${action} and p.email = ${`${name}@corp.example`} order by e.id`
  ).map(({ reason }) => reason);

test("a sign-in at the provider, which may have asked nothing, is no recent proof", async () => {
  const browser = await signIn("ann");
  assert.equal(await isRecent(browser), false);
  assert.equal((await browser.post("/auth/begin-totp")).body.reason, "FRESH_AUTHENTICATION_REQUIRED");
  assert.equal((await browser.post("/auth/oidc/start", { provider: "test", purpose: "link" })).status, 400);
  const { confirm: by } = (await browser.get("/auth/factors")).body as { confirm: object };
  const providers = [{ name: "test", label: "Example login" }];
  assert.deepEqual(by, { password: false, code: false, passkey: false, providers, signIn: false });
  const refusal = await browser.post("/auth/confirm", { password: "x" });
  assert.deepEqual([refusal.status, refusal.body.code], [400, "failed_precondition"]);
  assert.match(String(refusal.body.message), /with a linked provider/);
});

test("the provider is asked to let the person sign in anew, and its answer confirms for 15 minutes", async () => {
  const browser = await signIn("ann");
  const plain = await visitProvider(browser, program);
  const parameters = (url: unknown) => new URL(String(url)).searchParams;
  assert.equal(parameters(plain.started.body.url).get("prompt"), null);
  const { started, back } = await visitProvider(browser, program, { purpose: "confirm", return: "/keys" });
  const asked = parameters(started.body.url);
  assert.deepEqual([asked.get("prompt"), asked.get("max_age")], ["login", "0"]);
  assert.equal(await comeBack(browser, back), "/keys");
  assert.equal(await isRecent(browser), true);
  assert.deepEqual(await entries("session.confirmed", "ann"), [null]);
  assert.equal(await comeBack(browser, back), "/sign-in?problem=oidc_state", "once");
  await passServiceTime(database.sql, "15 minutes 1 second");
  assert.equal(await isRecent(browser), false);
});

test("the proof is as old as the sign-in at the provider", async () => {
  const browser = await signIn("bea");
  assert.equal(await withAuthTime(16 * 60, () => confirm(browser)), refused("oidc_not_recent"));
  assert.equal(await isRecent(browser), false);
  assert.equal(await withAuthTime(10 * 60, () => confirm(browser)), "/keys");
  assert.equal(await isRecent(browser), true);
  await passServiceTime(database.sql, "6 minutes");
  assert.equal(await isRecent(browser), false);
  assert.equal(await withAuthTime(0, () => confirm(browser)), "/keys");
  assert.equal(await withAuthTime(10 * 60, () => confirm(browser)), "/keys");
  await passServiceTime(database.sql, "6 minutes");
  assert.equal(await isRecent(browser), true, "an older proof takes nothing away");
  // The same for a sign-in.
  const other = openBrowser(program);
  await withAuthTime(14 * 60, () => signInBy(other, program));
  assert.equal(await isRecent(other), true);
  await passServiceTime(database.sql, "90 seconds");
  assert.equal(await isRecent(other), false);
});

test("another account at the provider confirms nothing", async () => {
  const browser = await signIn("cleo");
  provider.account = person("bea");
  assert.equal(await confirm(browser), refused("oidc_other_account"));
  provider.account = person("unknown");
  assert.equal(await confirm(browser), refused("oidc_other_account"));
  assert.equal(await isRecent(browser), false);
  assert.deepEqual(await entries("confirmation.refused", "cleo"), ["oidc_other_account", "oidc_other_account"]);
  assert.equal((await database.sql`select 1 from people where email = 'unknown@corp.example'`).length, 0);
});

test("a refused answer to a confirmation is recorded as one of the person", async () => {
  const browser = await signIn("ida");
  provider.account = undefined;
  assert.equal(await confirm(browser), refused("oidc_denied"));
  provider.account = person("ida");
  provider.tamper = (tokens) => provider.forge(tokens, { claims: { nonce: "another" } });
  assert.equal(await confirm(browser), refused("oidc_nonce"));
  provider.tamper = undefined;
  assert.deepEqual(await entries("confirmation.refused", "ida"), ["oidc_denied", "oidc_nonce"]);
});

test("a session that has ended meanwhile, and a stranger, confirm nothing", async () => {
  const browser = await signIn("cleo");
  const { back } = await visitProvider(browser, program, { purpose: "confirm" });
  const cookies = new Map(browser.cookies);
  await browser.post("/auth/sign-out");
  for (const [name, value] of cookies) browser.cookies.set(name, value);
  assert.equal(await comeBack(browser, back), refused("oidc_session"));
  const stranger = await openBrowser(program).post("/auth/oidc/start", { provider: "test", purpose: "confirm" });
  assert.equal(stranger.status, 401);
});

test("a provider that can name the time, but did not, confirms nothing and permits no first factor", async () => {
  const browser = await signIn("dan");
  for (const time of [undefined, -120])
    assert.equal(await withAuthTime(time, () => confirm(browser)), refused("oidc_no_auth_time"), String(time));
  // The request is not signed: a thief at an unlocked browser removes what makes the provider ask.
  const { body } = await browser.post("/auth/oidc/start", { provider: "test", purpose: "confirm" });
  const url = new URL(body.url as string);
  url.searchParams.delete("prompt");
  url.searchParams.delete("max_age");
  assert.equal(await comeBack(browser, await followUntil(program.url, url.href)), refused("oidc_no_auth_time"));
  assert.equal(await isRecent(browser), false);
  assert.equal((await browser.post("/auth/begin-totp")).body.reason, "FRESH_AUTHENTICATION_REQUIRED");
});

/** A service of its own, with a provider of its own. */
async function withService(
  { env = {}, ...options }: ProviderOptions & { env?: Record<string, string> },
  work: (service: RunningProgram, at: TestProvider, sql: TestDatabase["sql"]) => Promise<void>,
): Promise<void> {
  const other = await startProvider(options);
  const itsDatabase = await createTestDatabase();
  const service = await startProgram({ databaseUrl: itsDatabase.url, env: { ...other.env, ...settings, ...env } });
  try {
    other.register(service);
    await work(service, other, itsDatabase.sql);
  } finally {
    await service.remove();
    await other.stop();
    await itsDatabase.drop();
  }
}

test("a provider that may not know the time lets a person without anything else add a factor", async () => {
  await withService({ withoutAuthTime: "no list" }, async (service, silent, sql) => {
    silent.tamper = (tokens) => silent.forge(tokens, { claims: { auth_time: undefined } });
    const first = await signUpFirst(service);
    silent.account = person("dan");
    const [browser, other] = [openBrowser(service), openBrowser(service)];
    const purpose = { purpose: "confirm" };
    for (const one of [browser, other]) assert.equal(await signInBy(one, service), "/");
    assert.equal(await signInBy(browser, service, purpose), refused("oidc_auth_time"));
    assert.equal((await other.post("/auth/begin-totp")).status, 400, "another session");
    await addPasskey(browser, service);
    const again = await browser.post("/auth/begin-totp");
    assert.equal(again.body.reason, "FRESH_AUTHENTICATION_REQUIRED", "until the passkey confirms it");

    const eve = await joinAs(first, service, { email: "eve@corp.example", role: "owner" });
    silent.account = person("eve");
    assert.equal(await signInBy(eve, service, { purpose: "link" }), "/account?linked=test");
    await passServiceTime(sql, "16 minutes");
    assert.equal(await signInBy(eve, service, purpose), refused("oidc_auth_time"));
    assert.equal((await eve.post("/auth/begin-totp")).status, 400, "a person with a password");
  });
});

test("a link and a factor that began before the first factor was added do not end after it", async () => {
  assert.equal((await owner.browser.post("/auth/confirm", { password })).status, 200);
  const email = "hal@corp.example";
  const first = await joinAs(owner, program, { email, role: "owner" });
  const second = openBrowser(program);
  assert.equal((await second.post("/auth/sign-in", { email, password })).status, 200);
  provider.account = person("hal");
  const { back } = await visitProvider(second, program, { purpose: "link" });
  const { secret } = (await second.post("/auth/begin-totp")).body as { secret: string };
  const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate();
  // The code is checked before the first factor exists, and the app is stored after it.
  let confirming: ReturnType<Browser["post"]> | undefined;
  await database.sql.begin(async (tx) => {
    const [row] = await tx<{ id: string }[]>`select id from people where email = ${email} for no key update`;
    confirming = second.post("/auth/confirm-totp", { code });
    const waiting = () => database.sql`
      select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`;
    await until("the second session to wait", async () => (await waiting()).length > 0);
    await tx`insert into people_passkeys (id, person_id, credential_id, public_key, counter, transports, name)
      values (gen_random_uuid(), ${row!.id}, 'c', 'k', 0, '{}', 'n')`;
  });
  assert.equal((await confirming!).body.reason, "FRESH_AUTHENTICATION_REQUIRED");
  assert.equal(await comeBack(second, back), refused("oidc_needs_factor"));
  assert.deepEqual((await first.post("/auth/sign-in-methods")).body.linked, []);
});

test("a provider that is not trusted for it does not replace a second factor", async () => {
  const browser = await signIn("fay");
  assert.equal(await confirm(browser), "/keys");
  const { secret } = (await browser.post("/auth/begin-totp")).body as { secret: string };
  const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate();
  assert.equal((await browser.post("/auth/confirm-totp", { code })).status, 200);
  await passServiceTime(database.sql, "16 minutes");
  assert.equal(await confirm(browser), refused("oidc_needs_factor"));
  assert.equal(await isRecent(browser), false);
  const { confirm: by } = (await browser.get("/auth/factors")).body as { confirm: { providers: object[] } };
  assert.deepEqual(by.providers, []);
});

for (const [title, options] of [
  ["whose discovery rules the time out", { withoutAuthTime: "not listed" }],
  ["that never names the time, by the settings,", { env: { POSTHORN_OIDC_TEST_AUTH_TIME: "never" } }],
] as const)
  test(`a provider ${title} is not asked, and a new sign-in lets the person add a factor`, async () => {
    const env = { ...("env" in options && options.env), POSTHORN_PASSWORD_SIGN_IN: "off" };
    await withService({ ...options, env }, async (service, silent, sql) => {
      silent.account = person("gil");
      const browser = openBrowser(service);
      assert.equal(await signInBy(browser, service), "/");
      const started = await browser.post("/auth/oidc/start", { provider: "test", purpose: "confirm" });
      assert.deepEqual([started.status, started.body.code], [400, "failed_precondition"]);
      assert.match(String(started.body.message), /^Example login does not say when people signed in there/);
      await passServiceTime(sql, "16 minutes");
      assert.equal((await browser.post("/auth/passkey-options", { purpose: "add" })).status, 400);
      assert.equal(await signInBy(browser, service), "/");
      await addPasskey(browser, service);
    });
  });

for (const [title, options] of [
  ["a password does not replace a trusted provider", {}],
  ["unless the session has just come from one that cannot confirm", { withoutAuthTime: "not listed" }],
] as const)
  test(title, async () => {
    const env = { POSTHORN_OIDC_TEST_SECOND_FACTOR: "trusted" };
    await withService({ ...options, env }, async (service, trusted, sql) => {
      const email = "kim@corp.example";
      const kim = await joinAs(await signUpFirst(service), service, { email, role: "owner" });
      trusted.account = person("kim");
      assert.equal(await signInBy(kim, service, { purpose: "link" }), "/account?linked=test");
      await passServiceTime(sql, "16 minutes");
      assert.equal((await kim.post("/auth/confirm", { password })).status, 200, "a session without a second factor");
      const browser = openBrowser(service);
      assert.equal(await signInBy(browser, service), "/");
      const { confirm: by } = (await browser.get("/auth/factors")).body as { confirm: object };
      const providers = [{ name: "test", label: "Example login" }];
      const canConfirm = !("withoutAuthTime" in options);
      assert.deepEqual(by, { password: !canConfirm, code: false, passkey: false, providers, signIn: false });
      const confirmed = await browser.post("/auth/confirm", { password });
      assert.equal(confirmed.status, canConfirm ? 400 : 200);
      const change = { currentPassword: password, newPassword: `another ${password}` };
      assert.equal((await browser.post("/auth/change-password", change)).status, 200);
      assert.equal((await browser.post("/auth/begin-totp")).status, canConfirm ? 400 : 200);
      if (!canConfirm) return;
      assert.equal(await signInBy(browser, service, { purpose: "confirm", return: "/keys" }), "/keys");
      assert.equal((await browser.post("/auth/begin-totp")).status, 200);
    });
  });

test("a provider that is not trusted does not replace one that is", async () => {
  const second = await startProvider();
  const env = Object.fromEntries(
    Object.entries(second.env).map(([name, value]) => [name.replace("_TEST_", "_MORE_"), value]),
  );
  const both = { ...env, POSTHORN_OIDC: "test,more", POSTHORN_OIDC_TEST_SECOND_FACTOR: "trusted" };
  try {
    await withService({ env: both }, async (service, trusted) => {
      second.register(service);
      trusted.account = second.account = person("lea");
      const browser = openBrowser(service);
      assert.equal(await signInBy(browser, service), "/");
      assert.equal(await signInBy(browser, service, { purpose: "confirm" }), "/");
      const more = { provider: "more" };
      assert.equal(await signInBy(browser, service, { ...more, purpose: "link" }), "/account?linked=more");
      const { confirm: by } = (await browser.get("/auth/factors")).body as { confirm: { providers: object[] } };
      assert.deepEqual(by.providers, [{ name: "test", label: "Example login" }]);
      const refusal = await signInBy(browser, service, { ...more, purpose: "confirm" });
      assert.equal(refusal, "/account?problem=oidc_needs_factor&provider=more");
    });
  } finally {
    await second.stop();
  }
});
