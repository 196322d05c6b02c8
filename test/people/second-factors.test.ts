/** Second factors over HTTP: an authenticator app with recovery codes, sign-in in two steps, and what attackers send to it. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Secret, TOTP } from "otpauth";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { type Browser, openBrowser, password, signUpFirst } from "../harness/people.ts";
import { type RunningProgram, runCommand, startProgram } from "../harness/program.ts";
import { passServiceTime } from "../harness/time.ts";
import { until } from "../harness/wait.ts";

const email = "owner@there.test";

describe("an authenticator app", () => {
  let database: TestDatabase;
  let program: RunningProgram;
  let owner: { browser: Browser; workspace: string };
  let secret: string;
  let codes: string[];
  let enrolledWith: string;
  before(async () => {
    database = await createTestDatabase();
    program = await startProgram({ databaseUrl: database.url, env: { POSTHORN_TRUSTED_PROXIES: "127.0.0.1/32" } });
    owner = await signUpFirst(program);
  });
  after(async () => {
    await program?.remove();
    await database?.drop();
  });

  /** A code of the app, this many steps from now by the database's clock. */
  async function code(steps = 0): Promise<string> {
    const [row] = await database.sql<{ ms: number }[]>`select (extract(epoch from wall_time()) * 1000)::float8 as ms`;
    return new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: row!.ms + steps * 30_000 });
  }

  /** Lets the same codes work again, which saves a test from waiting 30 seconds. */
  const forgetUses = () => database.sql`update people_totp set used_steps = '{}'`;

  let client = 0;
  /** From another address each time, so that the limits of one client stay out of the way. */
  function visitor() {
    const browser = openBrowser(program);
    const from = { "x-forwarded-for": `198.51.100.${++client}` };
    const post = (path: string, body: unknown = {}) => browser.post(path, body, from);
    return { browser, post };
  }

  async function firstStep() {
    const { browser, post } = visitor();
    const answer = await post("/auth/sign-in", { email, password });
    assert.equal(answer.status, 200);
    return { browser, post, answer };
  }

  const isSignedIn = async (browser: Browser) => (await browser.get("/auth/state")).body.person !== null;

  const refusals = async () =>
    (
      await database.sql<{ reason: string }[]>`
        select reason from audit_entries where action in ('sign_in.refused', 'confirmation.refused') order by id`
    ).map(({ reason }) => reason);

  it("is added with a code that is right, and gives ten recovery codes", async () => {
    const { browser } = owner;
    const none = (await browser.get("/auth/factors")).body;
    assert.deepEqual([none.totp, none.recoveryCodes, none.passkeys, none.isRequired], [false, 0, [], false]);
    assert.deepEqual(none.confirm, { password: true, code: false, passkey: false, providers: [], signIn: false });
    const begun = (await browser.post("/auth/begin-totp")).body;
    secret = String(begun.secret);
    assert.match(String(begun.uri), /^otpauth:\/\/totp\/Posthorn:owner%40there\.test\?/);
    const [stored] = await database.sql<{ secret: string }[]>`select secret_sealed as secret from people_totp`;
    assert.ok(!stored!.secret.includes(secret), "the secret is sealed");
    for (const wrong of ["000000", "", await code(3), await code(-3)]) {
      const { status, body } = await browser.post("/auth/confirm-totp", { code: wrong });
      assert.equal(status, 401, wrong);
      assert.deepEqual((body.violations as { field: string }[])[0]?.field, "code");
    }
    assert.equal((await browser.get("/auth/factors")).body.totp, false);
    enrolledWith = await code();
    const confirmed = await browser.post("/auth/confirm-totp", { code: enrolledWith });
    codes = confirmed.body.recoveryCodes as string[];
    assert.equal(codes.length, 10);
    const after = (await browser.get("/auth/factors")).body;
    assert.deepEqual([after.totp, after.recoveryCodes, after.hasSecondFactor], [true, 10, true]);
    assert.deepEqual(after.confirm, { password: true, code: true, passkey: false, providers: [], signIn: false });
    assert.equal((await browser.post("/auth/begin-totp")).body.code, "already_exists");
  });

  it("is asked for after the password, and the first step opens no session", async () => {
    const { browser, post, answer } = await firstStep();
    assert.deepEqual(answer.body, { secondFactor: { methods: ["totp", "recovery"] } });
    assert.deepEqual([...browser.cookies.keys()], ["posthorn.sign_in"]);
    assert.match(browser.lastSet[0]!, /Max-Age=600; Path=\/; HttpOnly; SameSite=Strict$/);
    assert.equal(await isSignedIn(browser), false);
    assert.deepEqual((await browser.get("/auth/state")).body.secondFactor, { methods: ["totp", "recovery"] });
    const again = await post("/auth/second-factor", { code: enrolledWith });
    assert.equal(again.status, 401, "the code of the enrolment is used up");
    await forgetUses();
    const done = await post("/auth/second-factor", { code: await code() });
    assert.equal(done.status, 200, JSON.stringify(done.body));
    assert.equal((done.body.person as { email: string }).email, email);
    assert.deepEqual([...browser.cookies.keys()], ["posthorn.session_token"]);
    assert.equal(await isSignedIn(browser), true);
  });

  it("gives each code once, also at enrolment and in concurrent sign-ins", async () => {
    await forgetUses();
    const now = await code();
    const sessions = await Promise.all(Array.from({ length: 4 }, firstStep));
    const answers = await Promise.all(sessions.map(({ post }) => post("/auth/second-factor", { code: now })));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 401, 401, 401]);
    const refused = answers.find(({ status }) => status === 401)!;
    assert.equal(refused.body.message, "The code was used already. Wait for the next code.");
    assert.ok((await refusals()).filter((reason) => reason === "reused_code").length >= 3);
  });

  it("takes codes of one step before and after now, and no others (RFC 6238 §5.2)", async () => {
    const enter = async (steps: number) => {
      await forgetUses();
      const { post } = await firstStep();
      return (await post("/auth/second-factor", { code: await code(steps) })).status;
    };
    for (const steps of [-3, 3]) assert.equal(await enter(steps), 401, `${steps} steps`);
    assert.equal(await enter(1), 200);
    // Once more if a step ended between the computation of the code and its check.
    assert.ok((await enter(-1)) === 200 || (await enter(-1)) === 200);
  });

  it("ends a sign-in after five wrong codes, and the next right one needs the password again", async () => {
    const { browser, post } = await firstStep();
    for (let i = 0; i < 5; i++) {
      const { body } = await post("/auth/second-factor", { code: "000000" });
      assert.match(String(body.message), /^The code is wrong/);
    }
    await forgetUses();
    const { status, body } = await post("/auth/second-factor", { code: await code() });
    assert.deepEqual([status, body.reason], [401, "SIGN_IN_ENDED"]);
    assert.equal(await isSignedIn(browser), false);
    const metrics = await (await fetch(`${program.opsUrl}/metrics`)).text();
    assert.ok(Number(/posthorn_sign_in_refusals_total\{reason="wrong_code"\} (\d+)/.exec(metrics)?.[1]) >= 5);
  });

  it("limits wrong codes of one client across sign-ins", async () => {
    const browser = openBrowser(program);
    const from = { "x-forwarded-for": "198.51.100.250" };
    const statuses: number[] = [];
    for (let i = 0; i < 12; i++) {
      if (i % 4 === 0) await browser.post("/auth/sign-in", { email, password }, from);
      statuses.push((await browser.post("/auth/second-factor", { code: "000000" }, from)).status);
    }
    assert.deepEqual(new Set(statuses), new Set([401, 429]));
    assert.equal(statuses.indexOf(429), 8);
  });

  it("ends a sign-in after ten minutes of service time, and when it is canceled", async () => {
    const late = await firstStep();
    await passServiceTime(database.sql, "10 minutes 1 second");
    await forgetUses();
    assert.equal((await late.post("/auth/second-factor", { code: await code() })).body.reason, "SIGN_IN_ENDED");
    const canceled = await firstStep();
    const cookie = canceled.browser.cookies.get("posthorn.sign_in")!;
    await canceled.post("/auth/cancel-sign-in");
    canceled.browser.cookies.set("posthorn.sign_in", cookie);
    assert.equal((await canceled.post("/auth/second-factor", { code: await code() })).body.reason, "SIGN_IN_ENDED");
    const { post } = visitor();
    for (const body of [{}, { code: "123456" }, { credential: {} }])
      assert.equal((await post("/auth/second-factor", body)).body.reason, "SIGN_IN_ENDED");
  });

  it("is replaced by a recovery code once", async () => {
    const one = await firstStep();
    const used = codes.shift()!;
    assert.equal((await one.post("/auth/second-factor", { code: used.toUpperCase() })).status, 200);
    const two = await firstStep();
    assert.equal((await two.post("/auth/second-factor", { code: used })).status, 401);
    const left = (await owner.browser.get("/auth/factors")).body.recoveryCodes;
    assert.equal(left, 9);
    const rows = await database.sql<{ hash: string }[]>`select code_hash as hash from people_recovery_codes`;
    assert.ok(rows.every(({ hash }) => /^[0-9a-f]{64}$/.test(hash)));
  });

  it("stays after a password reset", async () => {
    const run = (...args: string[]) => runCommand(args, { dataDir: program.dataDir, databaseUrl: database.url });
    const link = (await run("people", "reset-password", email)).stdout.trim();
    const token = link.split("#token=")[1];
    const before = await firstStep();
    const { post } = visitor();
    assert.equal((await post("/auth/reset-password", { token, newPassword: password })).status, 200);
    const { answer } = await firstStep();
    assert.ok(answer.body.secondFactor);
    await forgetUses();
    const late = await before.post("/auth/second-factor", { code: await code() });
    assert.equal(late.body.reason, "SIGN_IN_ENDED", "a sign-in with the old password has ended");
    const again = await firstStep();
    await again.post("/auth/second-factor", { code: await code() });
    owner.browser.cookies.set("posthorn.session_token", again.browser.cookies.get("posthorn.session_token")!);
    assert.equal(await isSignedIn(owner.browser), true);
  });

  it("is changed only with a recent proof, which needs the password and a code", async () => {
    const { browser } = owner;
    await passServiceTime(database.sql, "15 minutes 1 second");
    for (const path of ["begin-totp", "confirm-totp", "remove-totp", "replace-recovery-codes"]) {
      const { status, body } = await browser.post(`/auth/${path}`);
      assert.deepEqual([status, body.reason], [400, "FRESH_AUTHENTICATION_REQUIRED"], path);
    }
    const change = { currentPassword: password, newPassword: `${password} too` };
    assert.equal((await browser.post("/auth/change-password", change)).body.reason, "FRESH_AUTHENTICATION_REQUIRED");
    await forgetUses();
    for (const [wrong, field] of [
      [{ password: "a guess", code: await code() }, "password"],
      [{ password }, "code"],
      [{ password, code: "000000" }, "code"],
      [{ code: await code() }, "password"],
    ] as const) {
      const { status, body } = await browser.post("/auth/confirm", wrong);
      assert.deepEqual([status, (body.violations as { field: string }[])[0]?.field], [401, field]);
    }
    assert.equal((await browser.post("/auth/confirm", { password, code: await code() })).status, 200);
    const replaced = await browser.post("/auth/replace-recovery-codes");
    assert.equal((replaced.body.recoveryCodes as string[]).length, 10);
    const { post } = await firstStep();
    assert.equal((await post("/auth/second-factor", { code: codes[0] })).status, 401, "the old codes are void");
    codes = replaced.body.recoveryCodes as string[];
  });

  it("a changed password keeps the time of the last proof, and is a proof itself only without a second factor", async () => {
    const { browser } = owner;
    await passServiceTime(database.sql, "10 minutes");
    const change = { currentPassword: password, newPassword: `${password} too` };
    assert.equal((await browser.post("/auth/change-password", change)).status, 200);
    assert.equal((await browser.post("/auth/replace-recovery-codes")).status, 200, "still recent");
    await passServiceTime(database.sql, "6 minutes");
    assert.equal((await browser.post("/auth/replace-recovery-codes")).body.reason, "FRESH_AUTHENTICATION_REQUIRED");
    await forgetUses();
    const confirmed = await browser.post("/auth/confirm", { password: `${password} too`, code: await code() });
    assert.equal(confirmed.status, 200);
    const back = { currentPassword: `${password} too`, newPassword: password };
    assert.equal((await browser.post("/auth/change-password", back)).status, 200);
    const replaced = await browser.post("/auth/replace-recovery-codes");
    codes = replaced.body.recoveryCodes as string[];
  });

  it("is removed by its owner", async () => {
    assert.equal((await owner.browser.post("/auth/remove-totp")).status, 200);
    const gone = (await owner.browser.get("/auth/factors")).body;
    assert.deepEqual([gone.totp, gone.recoveryCodes, gone.hasSecondFactor], [false, 0, false]);
    const { browser } = await firstStep();
    assert.equal(await isSignedIn(browser), true, "the password alone signs in");
    await passServiceTime(database.sql, "16 minutes");
    assert.equal((await owner.browser.post("/auth/begin-totp")).body.reason, "FRESH_AUTHENTICATION_REQUIRED");
    const wrong = { currentPassword: "a wrong password", newPassword: `${password} too` };
    assert.equal((await owner.browser.post("/auth/change-password", wrong)).status, 400);
    const change = { currentPassword: password, newPassword: `${password} too` };
    assert.equal((await owner.browser.post("/auth/change-password", change)).status, 200);
    assert.equal((await owner.browser.post("/auth/begin-totp")).status, 200, "the current password was a proof");
    const back = { currentPassword: `${password} too`, newPassword: password };
    assert.equal((await owner.browser.post("/auth/change-password", back)).status, 200);
  });

  it("is removed by the operator when it is lost, and every session ends", async () => {
    const run = (...args: string[]) => runCommand(args, { dataDir: program.dataDir, databaseUrl: database.url });
    const begun = (await owner.browser.post("/auth/begin-totp")).body;
    secret = String(begun.secret);
    const confirmed = await owner.browser.post("/auth/confirm-totp", { code: await code() });
    assert.equal(confirmed.status, 200, JSON.stringify([begun, confirmed.body]));
    assert.match((await run("people", "list")).stdout, /SECOND FACTORS[\s\S]*owner@there\.test.*\bapp\b/);
    const removed = await run("people", "remove-factors", email);
    assert.deepEqual([removed.code, removed.stderr], [0, ""]);
    assert.match(removed.stdout, /Removed from owner@there\.test: app\./);
    assert.equal(await isSignedIn(owner.browser), false);
    assert.match((await run("people", "remove-factors", email)).stdout, /had no second factor/);
    assert.notEqual((await run("people", "remove-factors", "nobody@there.test")).code, 0);
    const { browser } = await firstStep();
    assert.equal(await isSignedIn(browser), true);
  });

  it("leaves every step in the audit log", async () => {
    const rows = await until("the entries", async () => {
      const found = await database.sql<{ action: string; actor: string }[]>`
        select action, actor from audit_entries order by id`;
      return found.length > 0 ? found : undefined;
    });
    const seen = new Set(rows.map(({ action, actor }) => `${actor} ${action}`));
    for (const entry of [
      "person person.signed_up",
      "person session.opened",
      "person factor.added",
      "person factor.removed",
      "command factor.removed",
      "person recovery_codes.replaced",
      "person password.reset",
      "person session.confirmed",
      "stranger sign_in.refused",
      "person confirmation.refused",
    ])
      assert.ok(seen.has(entry), `${entry} is missing from ${[...seen].join(", ")}`);
    const reasons = new Set(await refusals());
    assert.deepEqual(reasons, new Set(["wrong_code", "reused_code", "wrong_password"]));
    const text = JSON.stringify(rows);
    assert.ok(!text.includes("there.test"));
  });
});
