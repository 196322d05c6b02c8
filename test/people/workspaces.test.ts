/** Workspaces and their members: roles, invitations, and isolation between workspaces. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { getOption } from "@bufbuild/protobuf";
import { KeyPermission, policy } from "../../src/gen/v1/options_pb.ts";
import { allMethods, nameOf } from "../harness/contract.ts";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { type Browser, capturedMail, joinAs, openBrowser, password, signUpFirst, tokenIn } from "../harness/people.ts";
import { type Answer, type RunningProgram, startProgram } from "../harness/program.ts";
import { openStream } from "../harness/streams.ts";

const methods = await allMethods();

describe("workspaces", () => {
  let database: TestDatabase;
  let program: RunningProgram;
  let owner: { browser: Browser; workspace: string };
  let developer: Browser;
  let viewer: Browser;
  /** The owner of another workspace, who is not a member of the first one. */
  let stranger: { browser: Browser; workspace: string };

  before(async () => {
    database = await createTestDatabase({ example: true });
    program = await startProgram({ databaseUrl: database.url });
    owner = await signUpFirst(program);
    developer = await joinAs(owner, program, { email: "dev@there.test", role: "developer" });
    viewer = await joinAs(owner, program, { email: "viewer@there.test", role: "viewer" });
    const created = await owner.browser.rpc("WorkspaceService/CreateWorkspace", { name: "Apart" });
    const apart = (created.body.workspace as { id: string }).id;
    const browser = await joinAs({ ...owner, workspace: apart }, program, { email: "far@there.test", role: "owner" });
    stranger = { browser, workspace: apart };
  });
  after(async () => {
    await program?.remove();
    await database?.drop();
  });

  const members = async (browser = owner.browser, workspace = owner.workspace) => {
    const { body } = await browser.rpc("WorkspaceService/ListMembers", {}, workspace);
    return body.data as {
      id: string;
      email: string;
      role: string;
      name: string;
      joinedAt?: string;
      invitedAt?: string;
    }[];
  };

  it("lists the person's workspaces with the role in each, newest first", async () => {
    const list = async (browser: Browser) => {
      const { body } = await browser.rpc("WorkspaceService/ListWorkspaces");
      return (body.data as { name: string; role: string }[]).map(({ name, role }) => `${name} ${role}`);
    };
    assert.deepEqual(await list(owner.browser), ["Apart MEMBER_ROLE_OWNER", "default MEMBER_ROLE_OWNER"]);
    assert.deepEqual(await list(viewer), ["default MEMBER_ROLE_VIEWER"]);
    const page = await owner.browser.rpc("WorkspaceService/ListWorkspaces", { pageSize: 1 });
    const pageToken = page.body.nextPageToken;
    const next = await owner.browser.rpc("WorkspaceService/ListWorkspaces", { pageSize: 1, pageToken });
    assert.deepEqual(
      (next.body.data as { name: string }[]).map(({ name }) => name),
      ["default"],
    );
    const byKey = await program.call("WorkspaceService/ListWorkspaces");
    assert.deepEqual(
      (byKey.body.data as { name: string; role: string }[]).map(({ name, role }) => [name, role]),
      [["default", "MEMBER_ROLE_UNSPECIFIED"]],
    );
  });

  it("are renamed by an owner", async () => {
    const renamed = await owner.browser.rpc("WorkspaceService/UpdateWorkspace", { name: " Main " }, owner.workspace);
    assert.equal((renamed.body.workspace as { name: string }).name, "Main", JSON.stringify(renamed.body));
    for (const name of ["", " ", "x".repeat(101), "a\nb"]) {
      const { body } = await owner.browser.rpc("WorkspaceService/UpdateWorkspace", { name }, owner.workspace);
      assert.equal(body.code, "invalid_argument", JSON.stringify(name));
    }
  });

  it("must be named in the call, and only the person's workspaces are found", async () => {
    const unnamed = await owner.browser.rpc("KeyService/ListKeys");
    assert.equal(unnamed.body.code, "invalid_argument");
    for (const id of [stranger.workspace, "ws_nonsense", "ws_00000000-0000-0000-0000-000000000000", "x"]) {
      const { body } = await developer.rpc("KeyService/ListKeys", {}, id);
      assert.equal(body.code, "not_found", id);
    }
  });

  it("every method checks the role: a viewer reads, a developer does everything except members, an owner everything", async () => {
    for (const method of methods.filter((one) => one.methodKind === "unary")) {
      const name = nameOf(method);
      const { permissions, ownerOnly, operatorOnly } = getOption(method, policy);
      const may = async (browser: Browser) =>
        (await browser.rpc(name, {}, owner.workspace)).body.code !== "permission_denied";
      const reads = permissions.length === 0 || permissions.includes(KeyPermission.READ);
      // The empty request is rejected before anything is created.
      assert.equal(await may(viewer), reads && !ownerOnly && !operatorOnly, `${name} by a viewer`);
      assert.equal(await may(developer), !ownerOnly && !operatorOnly, `${name} by a developer`);
      assert.equal(await may(owner.browser), !operatorOnly, `${name} by an owner`);
    }
  });

  it("cannot be accessed from another workspace with ids of keys, members or the workspace itself", async () => {
    const [theirs] = await members(stranger.browser, stranger.workspace);
    const created = await stranger.browser.rpc(
      "KeyService/CreateKey",
      { name: "theirs", permission: "KEY_PERMISSION_FULL" },
      stranger.workspace,
    );
    const { id } = created.body.key as { id: string };
    const calls: [string, object][] = [
      ["KeyService/RevokeKey", { id }],
      ["WorkspaceService/RemoveMember", { memberId: theirs!.id }],
      ["WorkspaceService/UpdateMember", { memberId: theirs!.id, role: "MEMBER_ROLE_VIEWER" }],
      ["WorkspaceService/UpdateWorkspace", { workspaceId: stranger.workspace, name: "Mine now" }],
      ["WorkspaceService/ListMembers", { workspaceId: stranger.workspace }],
      ["WorkspaceService/InviteMember", { workspaceId: stranger.workspace, email: "x@there.test", role: 1 }],
      ["WorkspaceService/RemoveMember", { workspaceId: stranger.workspace, memberId: theirs!.id }],
    ];
    const second = await joinAs(owner, program, { email: "second@there.test", role: "owner" });
    for (const [method, request] of calls) {
      const { body } = await second.rpc(method, request, owner.workspace);
      assert.equal(body.code, "not_found", `${method} ${JSON.stringify(request)}: ${JSON.stringify(body)}`);
    }
    // An owner of both workspaces may name the other one in the request.
    const both = await owner.browser.rpc(
      "WorkspaceService/ListMembers",
      { workspaceId: stranger.workspace },
      owner.workspace,
    );
    assert.equal((both.body.data as unknown[]).length, 2);
  });

  it("the role in the workspace named in the request decides, not the role in the workspace of the call", async () => {
    const created = await developer.rpc("WorkspaceService/CreateWorkspace", { name: "Of the developer" });
    const own = (created.body.workspace as { id: string }).id;
    const request = { workspaceId: owner.workspace, name: "Taken over" };
    assert.equal(
      (await developer.rpc("WorkspaceService/UpdateWorkspace", request, own)).body.code,
      "permission_denied",
    );
  });

  it("keys cannot change members, whatever their permission", async () => {
    const calls: [string, object][] = [
      ["InviteMember", { email: "x@there.test", role: "MEMBER_ROLE_OWNER" }],
      ["RemoveMember", { memberId: (await members())[0]!.id }],
      ["UpdateWorkspace", { name: "x" }],
      ["CreateWorkspace", { name: "x" }],
    ];
    for (const [method, request] of calls) {
      const { body } = await program.call(`WorkspaceService/${method}`, request);
      assert.equal(body.code, "permission_denied", method);
    }
  });

  describe("invitations", () => {
    const invite = (email: string, role = "MEMBER_ROLE_DEVELOPER"): Promise<Answer> =>
      owner.browser.rpc("WorkspaceService/InviteMember", { email, role }, owner.workspace);

    it("report all mistakes in one response", async () => {
      const { body } = await invite("nonsense", "MEMBER_ROLE_UNSPECIFIED");
      assert.match(body.message as string, /email: .*; role: /);
    });

    it("are sent by mail with the link that the response contains", async () => {
      const { body } = await invite("Ida@There.test");
      assert.match(body.message as string, /was sent to ida@there\.test/);
      const text = await capturedMail(program, "ida@there.test", /^You are invited to Posthorn$/);
      assert.ok(text.includes(body.inviteUrl as string), text);
      const token = tokenIn(text);
      const ida = openBrowser(program);
      const link = await ida.post("/auth/link", { token });
      assert.deepEqual(link.body, {
        kind: "invitation",
        email: "ida@there.test",
        role: "developer",
        workspace: { name: "Main" },
        hasAccount: false,
        mayCreateAccount: true,
      });
      assert.match(
        text,
        /^Olga Owner invites you to a workspace on Posthorn, as developer\.\nName of the workspace: Main\n/,
      );
      assert.equal((await members()).find(({ email }) => email === "ida@there.test")?.joinedAt, undefined);
      // The address of the invitation is used, not the one in the form.
      const joined = await ida.post("/auth/sign-up", { token, email: "else@there.test", name: "Ida", password });
      assert.equal(joined.status, 200, JSON.stringify(joined.body));
      const member = (await members()).find(({ email }) => email === "ida@there.test");
      assert.ok(member?.joinedAt && member.invitedAt && member.name === "Ida");
      const again = await openBrowser(program).post("/auth/sign-up", { token, name: "Eve", password });
      assert.equal(again.body.code, "not_found", "a link works once");
    });

    it("to a person with an account can be accepted only by that person", async () => {
      const { body } = await invite("far@there.test", "MEMBER_ROLE_VIEWER");
      const token = tokenIn(body.inviteUrl as string);
      assert.equal((await openBrowser(program).post("/auth/link", { token })).body.hasAccount, true);
      const newAccount = await openBrowser(program).post("/auth/sign-up", { token, name: "Eve", password });
      assert.equal(newAccount.body.code, "already_exists");
      assert.equal(
        (await openBrowser(program).post("/auth/accept-invitation", { token })).body.code,
        "unauthenticated",
      );
      assert.equal((await viewer.post("/auth/accept-invitation", { token })).body.code, "permission_denied");
      const accepted = await stranger.browser.post("/auth/accept-invitation", { token });
      const joined = { id: owner.workspace, name: "Main", role: "viewer" };
      const factor = { requireSecondFactor: false, needsSecondFactor: false };
      assert.deepEqual(accepted.body, { workspace: { ...joined, ...factor } });
      assert.equal((await stranger.browser.rpc("KeyService/ListKeys", {}, owner.workspace)).status, 200);
      assert.equal((await invite("far@there.test")).body.code, "already_exists");
    });

    it("are renewed by inviting again, which invalidates the older link", async () => {
      const first = tokenIn((await invite("twice@there.test")).body.inviteUrl as string);
      const second = tokenIn((await invite("twice@there.test", "MEMBER_ROLE_VIEWER")).body.inviteUrl as string);
      const browser = openBrowser(program);
      assert.equal((await browser.post("/auth/link", { token: first })).status, 404);
      assert.equal((await browser.post("/auth/link", { token: second })).body.role, "viewer");
    });

    it("are invalid after they expire or are withdrawn", async () => {
      const old = tokenIn((await invite("late@there.test")).body.inviteUrl as string);
      await database.sql`update members set invite_expires_at = now() - interval '1 second' where email = 'late@there.test'`;
      const taken = tokenIn((await invite("not@there.test")).body.inviteUrl as string);
      const { id } = (await members()).find(({ email }) => email === "not@there.test")!;
      const removed = await owner.browser.rpc("WorkspaceService/RemoveMember", { memberId: id }, owner.workspace);
      assert.equal(removed.status, 200);
      for (const token of [old, taken, "x", "A".repeat(43)]) {
        const answer = await openBrowser(program).post("/auth/sign-up", { token, name: "Late", password });
        assert.deepEqual([answer.status, answer.body.code], [404, "not_found"]);
      }
    });
  });

  it("a changed role applies from the next call on, and the last owner cannot give up the role", async () => {
    const email = "riser@there.test";
    const riser = await joinAs(owner, program, { email, role: "viewer" });
    const { id } = (await members()).find((member) => member.email === email)!;
    const update = (browser: Browser, memberId: string, role: string, workspace = owner.workspace) =>
      browser.rpc("WorkspaceService/UpdateMember", { memberId, role: `MEMBER_ROLE_${role}` }, workspace);
    const make = () =>
      riser.rpc("KeyService/CreateKey", { name: "x", permission: "KEY_PERMISSION_READ" }, owner.workspace);
    assert.equal((await make()).body.code, "permission_denied");
    assert.equal(
      (await update(riser, id, "OWNER")).body.code,
      "permission_denied",
      "members cannot promote themselves",
    );
    assert.equal((await update(developer, id, "OWNER")).body.code, "permission_denied");
    const changed = await update(owner.browser, id, "DEVELOPER");
    const member = changed.body.member as { role: string; name: string };
    assert.deepEqual([member.role, member.name], ["MEMBER_ROLE_DEVELOPER", "riser"], JSON.stringify(changed.body));
    assert.equal((await make()).status, 200);
    assert.equal((await update(owner.browser, id, "UNSPECIFIED")).body.code, "invalid_argument");
    assert.equal((await update(owner.browser, "mem_nonsense", "OWNER")).body.code, "not_found");
    assert.equal((await update(stranger.browser, id, "OWNER", stranger.workspace)).body.code, "not_found");
    const created = await riser.rpc("WorkspaceService/CreateWorkspace", { name: "One owner" });
    const alone = (created.body.workspace as { id: string }).id;
    const [self] = await members(riser, alone);
    assert.equal((await update(riser, self!.id, "VIEWER", alone)).body.code, "failed_precondition");
  });

  describe("removal", () => {
    it("takes effect at once: calls are rejected and streams end, but other workspaces remain accessible", async () => {
      const email = "leaver@there.test";
      const leaver = await joinAs(owner, program, { email, role: "developer" });
      const own = (await leaver.rpc("WorkspaceService/CreateWorkspace", { name: "Own" })).body.workspace as {
        id: string;
      };
      const cookie = [...leaver.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
      const headers = { cookie, origin: program.url, "posthorn-workspace": owner.workspace };
      const stream = await openStream(program.url, { key: null, headers });
      await stream.until("the first message", ({ messages }) => messages.length > 0);
      const { id } = (await members()).find((member) => member.email === email)!;
      await owner.browser.rpc("WorkspaceService/RemoveMember", { memberId: id }, owner.workspace);
      assert.equal((await leaver.rpc("KeyService/ListKeys", {}, owner.workspace)).body.code, "not_found");
      assert.equal((await leaver.rpc("KeyService/ListKeys", {}, own.id)).status, 200);
      assert.equal((await stream.ended).code, "unauthenticated");
    });

    it("never removes the last owner, even if two owners remove each other at the same time", async () => {
      const created = await owner.browser.rpc("WorkspaceService/CreateWorkspace", { name: "Two owners" });
      const workspace = (created.body.workspace as { id: string }).id;
      const alone = await members(owner.browser, workspace);
      const remove = (browser: Browser, memberId: string) =>
        browser.rpc("WorkspaceService/RemoveMember", { memberId }, workspace);
      assert.equal((await remove(owner.browser, alone[0]!.id)).body.code, "failed_precondition");
      const other = await joinAs({ ...owner, workspace }, program, { email: "other@there.test", role: "owner" });
      const both = await members(owner.browser, workspace);
      const answers = await Promise.all([
        remove(owner.browser, both.find(({ email }) => email === "other@there.test")!.id),
        remove(other, both.find(({ email }) => email !== "other@there.test")!.id),
      ]);
      const left =
        await database.sql`select 1 from members where workspace_id = ${workspace.slice(3)} and role = 'owner'`;
      assert.equal(left.length, 1, JSON.stringify(answers.map(({ body }) => body)));
    });
  });
});
