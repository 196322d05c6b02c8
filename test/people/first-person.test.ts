/** The first person: sign-up, workspace, key, a sent email; then sign-out, sign-in and change of password. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { type Browser, firstLink, openBrowser, password, type Session, tokenIn } from "../harness/people.ts";
import { type RunningProgram, runCommand, startProgram } from "../harness/program.ts";
import { until } from "../harness/wait.ts";

describe("the first person on this machine", () => {
  let database: TestDatabase;
  let program: RunningProgram;
  let browser: Browser;
  let workspace: string;
  let token: string;
  const run = (...args: string[]) => runCommand(args, { dataDir: program.dataDir, databaseUrl: database.url });
  before(async () => {
    database = await createTestDatabase({ example: true });
    program = await startProgram({ databaseUrl: database.url });
    browser = openBrowser(program);
  });
  after(async () => {
    await program?.remove();
    await database?.drop();
  });

  it("gets the sign-up link from a file, the command line and the sign-in page", async () => {
    await until("the welcome", () => program.output().includes(join(program.dataDir, "first-sign-up")));
    const link = await firstLink(program);
    assert.ok(link.startsWith(`${program.url}/sign-up#token=`), link);
    token = tokenIn(link);
    assert.equal((await stat(join(program.dataDir, "first-sign-up"))).mode & 0o777, 0o600);
    assert.ok(!program.output().includes(token), "the link is in the output");
    const printed = await run("people", "first-link");
    assert.deepEqual([printed.code, printed.stdout.trim(), printed.stderr], [0, link, ""]);
    const { body } = await browser.get("/auth/state");
    assert.equal(body.person, null);
    assert.deepEqual(body.workspaces, []);
    assert.deepEqual(body.password, { minLength: 10, maxLength: 128 });
    const { by, first, message } = body.signUp as Record<string, unknown>;
    assert.deepEqual([by, first], ["link", true]);
    assert.match(String(message), /first-sign-up in the server's data directory/);
    assert.equal(body.passwordReset, "mail");
  });

  it("needs the link, even on loopback", async () => {
    const newcomer = { email: "eve@there.test", name: "Eve", password };
    const without = await browser.post("/auth/sign-up", newcomer);
    assert.deepEqual([without.status, without.body.code], [403, "permission_denied"]);
    assert.match(String(without.body.message), /first-sign-up/);
    const guessed = await browser.post("/auth/sign-up", { ...newcomer, token: "A".repeat(43) });
    assert.equal(guessed.status, 404);
    assert.equal(browser.cookies.size, 0);
  });

  it("has the same link after a restart and on every node", async () => {
    await program.stop();
    program = await startProgram({ databaseUrl: database.url, dataDir: program.dataDir });
    browser = openBrowser(program);
    assert.equal(tokenIn(await firstLink(program)), token);
    const other = await startProgram({ databaseUrl: database.url });
    assert.equal(tokenIn(await firstLink(other)), token);
    await other.remove();
  });

  it("gets all mistakes in one response", async () => {
    const mistaken = { email: "nobody", name: "", password: "short", token };
    const { status, body } = await browser.post("/auth/sign-up", mistaken);
    assert.equal(status, 400);
    const violations = body.violations as { field: string }[];
    assert.deepEqual(
      violations.map(({ field }) => field),
      ["email", "name", "password"],
    );
    assert.deepEqual(browser.lastSet, []);
  });

  it("signs up, owns the first workspace, and has a cookie that scripts and other sites cannot use", async () => {
    const { status, body } = await browser.post("/auth/sign-up", {
      email: " Olga@There.test ",
      name: "Olga Owner",
      password,
      token,
    });
    assert.equal(status, 200, JSON.stringify(body));
    const { person, workspaces } = body as Session;
    assert.match(person.id, /^per_/);
    assert.deepEqual([person.email, person.name], ["olga@there.test", "Olga Owner"]);
    assert.deepEqual(
      workspaces.map(({ name, role }) => [name, role]),
      [["default", "owner"]],
    );
    workspace = workspaces[0]!.id;
    const [line, ...more] = browser.lastSet;
    assert.equal(more.length, 0, browser.lastSet.join("\n"));
    assert.match(line!, /^posthorn\.session_token=/);
    assert.match(line!, /; HttpOnly/i);
    assert.match(line!, /; SameSite=Strict/i);
    assert.match(line!, /; Path=\//i);
    assert.match(line!, /; Max-Age=2592000/i);
    assert.doesNotMatch(line!, /; Secure|; Domain/i);
  });

  it("has used the link: its file is removed, and the command prints none", async () => {
    assert.equal(existsSync(join(program.dataDir, "first-sign-up")), false);
    const { code, stdout, stderr } = await run("people", "first-link");
    assert.deepEqual([code, stdout], [1, ""]);
    assert.match(stderr, /signed up already.*people invite/);
    const newcomer = { email: "eve@there.test", name: "Eve", password, token };
    assert.equal((await openBrowser(program).post("/auth/sign-up", newcomer)).status, 404);
  });

  it("is signed in on the next request", async () => {
    const { body } = await browser.get("/auth/state");
    assert.equal((body as unknown as Session).person.email, "olga@there.test");
    assert.deepEqual((body.signUp as Record<string, unknown>).by, "closed");
  });

  it("creates a key with the session, and the key can send", async () => {
    const created = await browser.rpc(
      "KeyService/CreateKey",
      { name: "mine", permission: "KEY_PERMISSION_FULL" },
      workspace,
    );
    assert.equal(created.status, 200, JSON.stringify(created.body));
    const email = { from: "hello@example.test", to: ["you@example.test"], subject: "Hello", body: "It works." };
    const byKey = await program.call("EmailService/SendEmail", email, { key: created.body.secret as string });
    assert.equal(byKey.body.status, "EMAIL_STATUS_SENT", JSON.stringify(byKey.body));
    const bySession = await browser.rpc("EmailService/SendEmail", email, workspace);
    assert.equal(bySession.body.status, "EMAIL_STATUS_SENT", JSON.stringify(bySession.body));
    const content = await browser.rpc("EmailService/GetEmailContent", { id: bySession.body.id }, workspace);
    assert.equal(content.body.body, "It works.");
  });

  it("is the only person who may sign up", async () => {
    const other = openBrowser(program);
    const { status, body } = await other.post("/auth/sign-up", { email: "eve@there.test", name: "Eve", password });
    assert.deepEqual([status, body.code], [403, "permission_denied"]);
    assert.equal(other.cookies.size, 0);
  });

  it("signs out, and the old cookie is invalid", async () => {
    const kept = new Map(browser.cookies);
    const { status } = await browser.post("/auth/sign-out");
    assert.equal(status, 200);
    assert.equal(browser.cookies.size, 0, "the response deletes the cookie");
    const attacker = openBrowser(program);
    for (const [name, value] of kept) attacker.cookies.set(name, value);
    assert.equal((await attacker.get("/auth/state")).body.person, null);
    assert.equal((await attacker.rpc("KeyService/ListKeys", {}, workspace)).body.code, "unauthenticated");
    assert.equal((await browser.post("/auth/sign-out")).status, 200, "signing out twice is allowed");
  });

  it("signs in again, with the address in any letter case", async () => {
    const { status, body } = await browser.post("/auth/sign-in", { email: "OLGA@there.test", password });
    assert.equal(status, 200, JSON.stringify(body));
    assert.equal((body as Session).workspaces[0]!.id, workspace);
    assert.equal((await browser.rpc("KeyService/ListKeys", {}, workspace)).status, 200);
  });

  it("changes the password, which ends every other session and renews this one", async () => {
    const otherBrowser = openBrowser(program);
    await otherBrowser.post("/auth/sign-in", { email: "olga@there.test", password });
    const wrong = await browser.post("/auth/change-password", {
      currentPassword: "wrong",
      newPassword: `${password}2`,
    });
    assert.equal(wrong.status, 400);
    assert.deepEqual(
      (wrong.body.violations as { field: string }[]).map(({ field }) => field),
      ["currentPassword"],
    );
    const before = new Map(browser.cookies);
    const changed = await browser.post("/auth/change-password", {
      currentPassword: password,
      newPassword: `${password}2`,
    });
    assert.equal(changed.status, 200, JSON.stringify(changed.body));
    assert.notDeepEqual(browser.cookies, before);
    assert.equal((await otherBrowser.get("/auth/state")).body.person, null);
    assert.equal((await browser.rpc("KeyService/ListKeys", {}, workspace)).status, 200);
    const newBrowser = openBrowser(program);
    assert.equal((await newBrowser.post("/auth/sign-in", { email: "olga@there.test", password })).status, 401);
    const right = { email: "olga@there.test", password: `${password}2` };
    assert.equal((await newBrowser.post("/auth/sign-in", right)).status, 200);
  });

  it("leaves no password and no usable session in the database", async () => {
    const [account] = await database.sql<{ password: string }[]>`select password from people_accounts`;
    assert.ok(!account!.password.includes("horse"));
    // The token without its signature is not a valid cookie.
    const [session] = await database.sql<{ token: string }[]>`select token from people_sessions limit 1`;
    const attacker = openBrowser(program);
    for (const value of [session!.token, `${session!.token}.`, `${session!.token}.${"A".repeat(43)}=`]) {
      attacker.cookies.set("posthorn.session_token", encodeURIComponent(value));
      assert.equal((await attacker.get("/auth/state")).body.person, null);
      assert.equal((await attacker.rpc("KeyService/ListKeys", {}, workspace)).body.code, "unauthenticated");
    }
  });
});
