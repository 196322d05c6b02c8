/** Workspaces and operators that require a second factor, recent proofs before sensitive calls, and the list of sessions. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { addPasskey } from "../harness/authenticator.ts";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { type Browser, joinAs, openBrowser, password, signUpFirst } from "../harness/people.ts";
import { type RunningProgram, startProgram } from "../harness/program.ts";
import { passServiceTime } from "../harness/time.ts";
import { patienceMs, until } from "../harness/wait.ts";

const reasonOf = (body: Record<string, unknown>) =>
  (body.details as { type: string; debug?: { reason?: string } }[] | undefined)?.find(({ type }) =>
    type.endsWith("ErrorInfo"),
  )?.debug?.reason;

describe("a workspace that requires a second factor", () => {
  let database: TestDatabase;
  let program: RunningProgram;
  let owner: { browser: Browser; workspace: string };
  let member: Browser;
  let other: string;
  before(async () => {
    database = await createTestDatabase();
    program = await startProgram({ databaseUrl: database.url });
    owner = await signUpFirst(program);
    member = await joinAs(owner, program, { email: "dev@there.test", role: "developer" });
    const created = await member.rpc("WorkspaceService/CreateWorkspace", { name: "Own" });
    other = (created.body.workspace as { id: string }).id;
  });
  after(async () => {
    await program?.remove();
    await database?.drop();
  });

  const set = (requireSecondFactor: boolean) =>
    owner.browser.rpc("WorkspaceService/UpdateWorkspace", { requireSecondFactor }, owner.workspace);

  it("is set only by an owner who has one", async () => {
    const refused = await set(true);
    assert.equal(refused.body.code, "failed_precondition");
    assert.match(String(refused.body.message), /Add one on your account page/);
    await addPasskey(owner.browser, program);
    const done = await set(true);
    assert.equal(done.status, 200, JSON.stringify(done.body));
    const { name, requireSecondFactor } = done.body.workspace as { name: string; requireSecondFactor: boolean };
    assert.deepEqual([name, requireSecondFactor], ["default", true]);
    const [entry] = await database.sql<{ fields: string[] }[]>`
      select fields from audit_entries where action = 'workspace.updated'`;
    assert.deepEqual(entry!.fields, ["requireSecondFactor"]);
  });

  it("refuses members without one, also when another workspace names it, and lists it", async () => {
    for (const [method, request, workspace] of [
      ["KeyService/ListKeys", {}, owner.workspace],
      ["WorkspaceService/ListMembers", {}, owner.workspace],
      ["WorkspaceService/ListMembers", { workspaceId: owner.workspace }, other],
      ["WorkspaceService/GetQuotas", { workspaceId: owner.workspace }, other],
    ] as const) {
      const { body } = await member.rpc(method, request, workspace);
      assert.deepEqual([body.code, reasonOf(body)], ["permission_denied", "SECOND_FACTOR_REQUIRED"], method);
    }
    const listed = await member.rpc("WorkspaceService/ListWorkspaces", {}, owner.workspace);
    assert.equal((listed.body.data as object[]).length, 2);
    assert.equal((await member.rpc("KeyService/ListKeys", {}, other)).status, 200, "the other workspace works");
    const state = (await member.get("/auth/state")).body;
    const needs = (state.workspaces as { id: string; needsSecondFactor: boolean }[]).map((w) => [
      w.id,
      w.needsSecondFactor,
    ]);
    assert.deepEqual(
      new Map(needs as [string, boolean][]),
      new Map([
        [owner.workspace, true],
        [other, false],
      ]),
    );
  });

  it("ends event streams of members without one when it is switched on", async () => {
    assert.equal((await set(false)).status, 200);
    const cookie = [...member.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(`${program.url}/v1.EmailService/StreamEvents`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "text/event-stream",
        "connect-protocol-version": "1",
        origin: program.url,
        cookie,
        "posthorn-workspace": owner.workspace,
      },
      body: "{}",
      signal: AbortSignal.timeout(patienceMs),
    });
    assert.equal(response.status, 200, await (response.ok ? "" : response.text()));
    let text = "";
    let ended = false;
    void (async () => {
      for await (const chunk of response.body!) text += Buffer.from(chunk).toString();
      ended = true;
    })();
    assert.equal((await set(true)).status, 200);
    await until("the end of the stream", () => ended);
    assert.match(text, /permission_denied|unauthenticated/);
  });

  it("accepts the member as soon as a factor is added, and the last one then stays", async () => {
    await addPasskey(member, program);
    assert.equal((await member.rpc("KeyService/ListKeys", {}, owner.workspace)).status, 200);
    const factors = (await member.get("/auth/factors")).body;
    assert.equal(factors.isRequired, true);
    const [passkey] = factors.passkeys as { id: string }[];
    const refused = await member.post("/auth/remove-passkey", { id: passkey!.id });
    assert.deepEqual([refused.status, refused.body.reason], [400, "SECOND_FACTOR_REQUIRED"]);
    assert.equal((await member.rpc("KeyService/ListKeys", {}, owner.workspace)).status, 200);
  });

  it("does not concern keys", async () => {
    const created = await owner.browser.rpc(
      "KeyService/CreateKey",
      { name: "k", permission: "KEY_PERMISSION_FULL" },
      owner.workspace,
    );
    const headers = { authorization: `Bearer ${created.body.secret}` };
    assert.equal((await openBrowser(program).rpc("KeyService/ListKeys", {}, undefined, headers)).status, 200);
  });

  it("sensitive calls need a proof within 15 minutes, and other calls do not", async () => {
    await passServiceTime(database.sql, "15 minutes 1 second");
    const sensitive = {
      "KeyService/CreateKey": { name: "late", permission: "KEY_PERMISSION_FULL" },
      "KeyService/RevokeKey": { id: "key_x" },
      "WorkspaceService/InviteMember": { email: "x@there.test", role: "MEMBER_ROLE_VIEWER" },
      "WorkspaceService/UpdateMember": { memberId: "mem_x", role: "MEMBER_ROLE_VIEWER" },
      "WorkspaceService/RemoveMember": { memberId: "mem_x" },
      "WorkspaceService/UpdateWorkspace": { requireSecondFactor: false },
      "WebhookService/CreateWebhook": { url: "https://there.test/hook" },
      "WebhookService/RotateWebhookSecret": { id: "wh_x" },
    };
    for (const [method, request] of Object.entries(sensitive)) {
      const { body } = await owner.browser.rpc(method, request, owner.workspace);
      assert.deepEqual([body.code, reasonOf(body)], ["failed_precondition", "FRESH_AUTHENTICATION_REQUIRED"], method);
    }
    assert.equal((await owner.browser.rpc("KeyService/ListKeys", {}, owner.workspace)).status, 200);
    const rename = await owner.browser.rpc("WorkspaceService/UpdateWorkspace", { name: "Renamed" }, owner.workspace);
    assert.equal(rename.status, 200);
  });

  it("a session from before this release counts as not recent", async () => {
    await database.sql`update people_sessions set proved_at = null`;
    const request = { name: "old", permission: "KEY_PERMISSION_FULL" };
    const { body } = await owner.browser.rpc("KeyService/CreateKey", request, owner.workspace);
    assert.equal(reasonOf(body), "FRESH_AUTHENTICATION_REQUIRED");
  });
});

describe("an operator who requires a second factor", () => {
  let database: TestDatabase;
  let program: RunningProgram;
  let owner: { browser: Browser; workspace: string };
  before(async () => {
    database = await createTestDatabase();
    program = await startProgram({ databaseUrl: database.url, env: { POSTHORN_REQUIRE_SECOND_FACTOR: "true" } });
    owner = await signUpFirst(program);
  });
  after(async () => {
    await program?.remove();
    await database?.drop();
  });

  it("refuses every call of a session without one except the list of workspaces", async () => {
    const keys = await owner.browser.rpc("KeyService/ListKeys", {}, owner.workspace);
    assert.equal(reasonOf(keys.body), "SECOND_FACTOR_REQUIRED");
    const created = await owner.browser.rpc("WorkspaceService/CreateWorkspace", { name: "x" });
    assert.equal(reasonOf(created.body), "SECOND_FACTOR_REQUIRED");
    assert.equal((await owner.browser.rpc("WorkspaceService/ListWorkspaces")).status, 200);
    assert.equal((await owner.browser.get("/auth/factors")).body.isRequired, true);
    await addPasskey(owner.browser, program);
    assert.equal((await owner.browser.rpc("KeyService/ListKeys", {}, owner.workspace)).status, 200);
  });

  it("people see their sessions, and end one or all others at once", async () => {
    const agent = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
    type Listed = { id: string; browser: string; system: string; address: string; isCurrent: boolean };
    const list = async () => (await owner.browser.get("/auth/sessions")).body.sessions as Listed[];
    const member = await joinAs(owner, program, { email: "dev@there.test", role: "viewer" });
    await member.post("/auth/sign-in", { email: "dev@there.test", password }, { "user-agent": agent });
    const second = openBrowser(program);
    await second.post("/auth/sign-in", { email: "dev@there.test", password }, { "user-agent": agent });
    const [own] = await list();
    assert.deepEqual([own!.isCurrent, own!.address], [true, "127.0.0.1"]);
    const theirs = (await member.get("/auth/sessions")).body.sessions as Listed[];
    assert.deepEqual(
      theirs.map(({ browser, system }) => `${browser} ${system}`),
      ["Firefox Linux", "Firefox Linux"],
    );
    assert.equal(
      (await owner.browser.post("/auth/end-session", { id: theirs[0]!.id })).status,
      404,
      "another person's",
    );
    const otherId = theirs.find(({ isCurrent }) => !isCurrent)!.id;
    assert.equal((await member.post("/auth/end-session", { id: otherId })).status, 200);
    assert.equal((await second.get("/auth/state")).body.person, null);
    assert.equal((await member.post("/auth/end-session", { id: otherId })).status, 404);
    const third = openBrowser(program);
    await third.post("/auth/sign-in", { email: "dev@there.test", password });
    assert.equal((await member.post("/auth/end-other-sessions")).body.ended, 1);
    assert.equal((await third.get("/auth/state")).body.person, null);
    assert.notEqual((await member.get("/auth/state")).body.person, null);
  });

  it("stores the last use of a session, at most once a minute", async () => {
    await database.sql`update people_sessions set updated_at = wall_time() - interval '1 hour'`;
    await owner.browser.get("/auth/state");
    await until("the last use", async () => {
      const rows =
        await database.sql`select 1 from people_sessions where updated_at > wall_time() - interval '1 minute'`;
      return rows.length > 0;
    });
  });
});
