/** A person whom the owners removed from every workspace: no sign-in and no calls, unless sign-up is open or an owner invites again. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { type Browser, joinAs, openBrowser, password, type Session, signUpFirst, tokenIn } from "../harness/people.ts";
import { type RunningProgram, runCommand, startProgram } from "../harness/program.ts";

const sentence = /not a member of any workspace\. Ask an owner to invite you/;

describe("a removed member", () => {
  let database: TestDatabase;
  let program: RunningProgram;
  let owner: { browser: Browser; workspace: string };
  let leaver: Browser;
  const email = "leaver@there.test";
  before(async () => {
    database = await createTestDatabase({ example: true });
    program = await startProgram({ databaseUrl: database.url });
    owner = await signUpFirst(program);
    leaver = await joinAs(owner, program, { email, role: "owner" });
    await remove(owner, email);
  });
  after(async () => {
    await program?.remove();
    await database?.drop();
  });

  async function remove(by: { browser: Browser; workspace: string }, who: string): Promise<void> {
    const { body } = await by.browser.rpc("WorkspaceService/ListMembers", {}, by.workspace);
    const member = (body.data as { id: string; email: string }[]).find((one) => one.email === who)!;
    const removed = await by.browser.rpc("WorkspaceService/RemoveMember", { memberId: member.id }, by.workspace);
    assert.equal(removed.status, 200, JSON.stringify(removed.body));
  }

  /** Starts the program again on the same data, with another POSTHORN_SIGNUP. */
  async function restart(signup: string): Promise<void> {
    await program.stop();
    const env = { POSTHORN_SIGNUP: signup };
    program = await startProgram({ databaseUrl: database.url, dataDir: program.dataDir, env });
  }

  /** The same browser after a restart: the port has changed, the cookies have not. */
  function reopen(browser: Browser): Browser {
    const reopened = openBrowser(program);
    for (const [name, value] of browser.cookies) reopened.cookies.set(name, value);
    return reopened;
  }

  const signIn = (word = password) => openBrowser(program).post("/auth/sign-in", { email, password: word });
  const createWorkspace = (browser: Browser) => browser.rpc("WorkspaceService/CreateWorkspace", { name: "Mine" });

  async function assertLocked(): Promise<void> {
    for (const method of ["WorkspaceService/CreateWorkspace", "WorkspaceService/ListWorkspaces"]) {
      const { status, body } = await leaver.rpc(method, { name: "Mine" });
      assert.deepEqual([status, body.code], [403, "permission_denied"], method);
      assert.match(body.message as string, sentence);
    }
    const change = { currentPassword: password, newPassword: `${password}2` };
    assert.match((await leaver.post("/auth/change-password", change)).body.message as string, sentence);
    assert.equal((await leaver.get("/auth/state")).body.mayCreateWorkspace, false);
    const before = await database.sql`select 1 from people_sessions`;
    const refused = await signIn();
    assert.deepEqual([refused.status, refused.body.code], [403, "permission_denied"]);
    assert.match(refused.body.message as string, sentence);
    assert.equal(refused.headers.getSetCookie().length, 0);
    assert.equal((await database.sql`select 1 from people_sessions`).length, before.length, "no session is left");
    assert.equal((await signIn("another password")).status, 401, "only the right password gets this answer");
  }

  it("neither signs in nor uses an open session while sign-up is first", async () => {
    await assertLocked();
    assert.equal((await database.sql`select 1 from workspaces where kind = 'customer'`).length, 1);
  });

  it("neither does so while sign-up is closed", async () => {
    await restart("closed");
    leaver = reopen(leaver);
    owner = { ...owner, browser: reopen(owner.browser) };
    await assertLocked();
  });

  it("with an open invitation signs in to accept it, but does nothing else before", async () => {
    const invited = await owner.browser.rpc(
      "WorkspaceService/InviteMember",
      { email, role: "MEMBER_ROLE_DEVELOPER" },
      owner.workspace,
    );
    const token = tokenIn(invited.body.inviteUrl as string);
    const browser = openBrowser(program);
    assert.equal((await browser.post("/auth/sign-in", { email, password })).status, 200);
    assert.match((await createWorkspace(browser)).body.message as string, sentence);
    assert.equal((await browser.get("/auth/state")).body.mayCreateWorkspace, false);
    assert.equal((await browser.post("/auth/accept-invitation", { token })).status, 200);
    assert.equal((await browser.rpc("KeyService/ListKeys", {}, owner.workspace)).status, 200);
    assert.equal((await browser.get("/auth/state")).body.mayCreateWorkspace, true);
    assert.equal((await leaver.rpc("KeyService/ListKeys", {}, owner.workspace)).status, 200, "the old session, too");
    await remove(owner, email);
    assert.match((await createWorkspace(browser)).body.message as string, sentence);
    // The operator has a way that needs no owner.
    const options = { dataDir: program.dataDir, databaseUrl: database.url };
    const printed = await runCommand(["people", "invite", email], options);
    assert.equal((await signIn()).status, 200);
    const accepted = await browser.post("/auth/accept-invitation", { token: tokenIn(printed.stdout) });
    assert.equal(accepted.status, 200, JSON.stringify(accepted.body));
    await remove(owner, email);
    await assertLocked();
  });

  it("signs in and creates a workspace while sign-up is open", async () => {
    await restart("open");
    leaver = reopen(leaver);
    assert.equal((await signIn()).status, 200);
    assert.equal((await leaver.get("/auth/state")).body.mayCreateWorkspace, true);
    assert.equal((await createWorkspace(leaver)).status, 200);
    await database.sql`delete from members where email = ${email}`;
  });

  it("a link from a time of open sign-up is invalid once sign-up is closed", async () => {
    const token = "L".repeat(43);
    const { createHash } = await import("node:crypto");
    const hash = createHash("sha256").update(token).digest("hex");
    await database.sql`insert into people_links (token_hash, kind, email, expires_at)
      values (${hash}, 'sign_up', 'late@there.test', now() + interval '1 day')`;
    assert.equal((await openBrowser(program).post("/auth/link", { token })).body.kind, "sign_up", "valid while open");
    await restart("first");
    const browser = openBrowser(program);
    assert.equal((await browser.post("/auth/link", { token })).status, 404);
    assert.equal((await browser.post("/auth/sign-up", { token, name: "Late", password })).status, 404);
  });

  it("the first person is never locked out of a service in which no workspace has an owner", async () => {
    await database.sql`delete from members`;
    const first = openBrowser(program);
    const answer = await first.post("/auth/sign-in", { email: "owner@there.test", password });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    assert.deepEqual((answer.body as Session).workspaces, []);
    assert.equal((await signIn()).status, 403, "others are");
    assert.equal((await createWorkspace(first)).status, 200);
    assert.equal((await signIn()).status, 403);
  });
});
