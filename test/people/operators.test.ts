/** Operators: appointed by the command line, admitted only with a second factor. What they do with people and workspaces, by API. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { addPasskey } from "../harness/authenticator.ts";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { findLeftovers } from "../harness/leftovers.ts";
import { type Browser, capturedMail, joinAs, openBrowser, password, signUpFirst, tokenIn } from "../harness/people.ts";
import { fillPerson } from "../harness/person-rows.ts";
import { type Answer, type RunningProgram, runCommand, startProgram } from "../harness/program.ts";
import { until } from "../harness/wait.ts";

type Person = {
  id: string;
  email: string;
  state: string;
  isOperator: boolean;
  validKeys: number;
  workspaces: object[];
};
type Workspace = { id: string; name: string; state: string; owners: number; isFirst: boolean; quotas: object[] };

describe("operators", () => {
  let database: TestDatabase;
  let program: RunningProgram;
  let owner: { browser: Browser; workspace: string };
  let operator: Browser;
  const operatorEmail = "op@there.test";
  before(async () => {
    database = await createTestDatabase({ example: true });
    program = await startProgram({ databaseUrl: database.url });
    owner = await signUpFirst(program);
    operator = await joinAs(owner, program, { email: operatorEmail, role: "viewer" });
  });
  after(async () => {
    await program?.remove();
    await database?.drop();
  });

  const run = (...args: string[]) => runCommand(args, { dataDir: program.dataDir, databaseUrl: database.url });
  const succeed = async (...args: string[]) => {
    const { code, stdout, stderr } = await run(...args);
    assert.equal(code, 0, stderr);
    return stdout;
  };
  const ok = (answer: Answer) => {
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    return answer.body;
  };
  const personOf = async (email: string): Promise<Person> => {
    const { data } = ok(await operator.rpc("OperatorService/ListPeople", { query: email }));
    return (data as Person[]).find((one) => one.email === email)!;
  };
  const workspaceOf = async (name: string): Promise<Workspace> => {
    const { data } = ok(await operator.rpc("OperatorService/ListAllWorkspaces", { query: name }));
    return (data as Workspace[]).find((one) => one.name === name)!;
  };
  const actions = async (start: string) => {
    const rows = await database.sql<{ action: string; actor: string }[]>`
      select actor, action from audit_entries where starts_with(action, ${start})
        and action not in ('person.signed_up', 'workspace.created') order by id`;
    return rows.map(({ actor, action }) => `${actor} ${action}`);
  };

  it("need the command line and a second factor", async () => {
    const refused = await operator.rpc("OperatorService/ListPeople");
    assert.deepEqual([refused.status, refused.body.code], [403, "permission_denied"]);
    assert.match(refused.body.message as string, /posthorn people operator EMAIL/);
    assert.equal((await operator.get("/auth/state")).body.operator, null);
    const early = await run("people", "operator", operatorEmail);
    assert.equal(early.code, 1, "the next one to use the password could add the factor");
    assert.match(early.stderr, /op@there\.test has no second factor.*add one.*run this command again/s);
    const before = openBrowser(program);
    ok(await before.post("/auth/sign-in", { email: operatorEmail, password }));
    await addPasskey(operator, program);
    assert.match(
      await succeed("people", "operator", operatorEmail),
      /op@there\.test is now an operator\. Check that they know all of these: 1 passkey\./,
    );
    assert.match(await succeed("people", "operator", operatorEmail), /is already an operator/);
    const unproved = await before.rpc("OperatorService/ListPeople");
    assert.deepEqual([unproved.status, unproved.body.code], [403, "permission_denied"]);
    assert.match(unproved.body.message as string, /needs a session with a second factor/);
    assert.deepEqual((await before.get("/auth/state")).body.operator, { hasSecondFactor: false });
    assert.deepEqual((await operator.get("/auth/state")).body.operator, { hasSecondFactor: true });
    ok(await operator.rpc("OperatorService/ListPeople"));
    const { passkeys } = (await operator.get("/auth/factors")).body as { passkeys: { id: string }[] };
    const last = await operator.post("/auth/remove-passkey", { id: passkeys[0]!.id });
    assert.equal(last.body.reason, "SECOND_FACTOR_REQUIRED", "an operator keeps a factor");
    const byKey = await program.call("OperatorService/ListPeople");
    assert.deepEqual([byKey.status, byKey.body.code], [403, "permission_denied"], "a key");
    const byOwner = await owner.browser.rpc("OperatorService/ListPeople", {}, owner.workspace);
    assert.equal(byOwner.status, 403, "an owner of the first workspace");
    assert.deepEqual(await actions("operator."), ["command operator.added"]);
    assert.match(await succeed("people", "list"), /op@there\.test +op +active, operator/);
  });

  it("list people and workspaces by page, search and state", async () => {
    const first = ok(await operator.rpc("OperatorService/ListPeople", { pageSize: 1 }));
    const second = ok(
      await operator.rpc("OperatorService/ListPeople", { pageSize: 1, pageToken: first.nextPageToken as string }),
    );
    const emails = [first, second].map(({ data }) => (data as Person[])[0]!.email);
    assert.deepEqual(emails, [operatorEmail, "owner@there.test"]);
    assert.equal(second.nextPageToken, "");
    assert.deepEqual((await personOf("owner@there.test")).workspaces.length, 1);
    const operators = ok(await operator.rpc("OperatorService/ListPeople", { operatorsOnly: true }));
    assert.deepEqual(
      (operators.data as Person[]).map(({ email }) => email),
      [operatorEmail],
    );
    // A percent sign is not a pattern.
    assert.deepEqual(ok(await operator.rpc("OperatorService/ListPeople", { query: "%" })).data, []);
    const workspace = await workspaceOf("default");
    assert.deepEqual(
      [workspace.state, workspace.owners, workspace.isFirst, workspace.quotas.length],
      ["WORKSPACE_STATE_ACTIVE", 1, true, 9],
    );
    const suspended = { state: "WORKSPACE_STATE_SUSPENDED" };
    assert.deepEqual(ok(await operator.rpc("OperatorService/ListAllWorkspaces", suspended)).data, []);
  });

  it("disable a person: sessions, streams, sign-in and invitations end, keys stay unless they are revoked", async () => {
    const email = "dora@there.test";
    const dora = await joinAs(owner, program, { email, role: "developer" });
    const made = await dora.rpc(
      "KeyService/CreateKey",
      { name: "hers", permission: "KEY_PERMISSION_FULL" },
      owner.workspace,
    );
    const key = ok(made).secret as string;
    const abort = new AbortController();
    const stream = await dora.stream(owner.workspace, abort.signal);
    assert.equal(stream.status, 200);
    const streamEnds = stream.text();

    const person = await personOf(email);
    assert.equal(person.validKeys, 1);
    const done = ok(await operator.rpc("OperatorService/DisablePerson", { id: person.id }));
    assert.match(done.message as string, /is disabled: every session has ended.*stay valid: 1\./);
    assert.equal((done.person as Person).state, "PERSON_STATE_DISABLED");
    const after = await dora.rpc("KeyService/ListKeys", {}, owner.workspace);
    assert.deepEqual([after.status, after.body.code], [401, "unauthenticated"]);
    assert.match(await streamEnds, /unauthenticated|permission_denied/);
    abort.abort();
    const signIn = await openBrowser(program).post("/auth/sign-in", { email, password });
    assert.deepEqual([signIn.status, signIn.body.code], [403, "permission_denied"]);
    assert.match(signIn.body.message as string, /^This account is disabled\. Ask the operator/);
    const refusals = await database.sql`select 1 from audit_entries where reason = 'account_disabled'`;
    assert.equal(refusals.length, 1, "the refusal is in the audit log");
    const wrong = await openBrowser(program).post("/auth/sign-in", { email, password: "a wrong password" });
    assert.equal(wrong.status, 401, "only the right password learns it");
    assert.equal((await program.call("KeyService/ListKeys", {}, { key })).status, 200, "the key stays valid");
    const invite = { email, role: "MEMBER_ROLE_VIEWER" };
    const other = ok(await owner.browser.rpc("WorkspaceService/CreateWorkspace", { name: "Second" }));
    const second = (other.workspace as { id: string }).id;
    const invited = ok(await owner.browser.rpc("WorkspaceService/InviteMember", invite, second));
    const token = tokenIn(invited.inviteUrl as string);
    assert.equal((await openBrowser(program).post("/auth/link", { token })).status, 404, "an invitation");

    const revoked = ok(await operator.rpc("OperatorService/DisablePerson", { id: person.id, revokeKeys: true }));
    assert.match(revoked.message as string, /Revoked keys that they created: 1\./);
    assert.equal((await program.call("KeyService/ListKeys", {}, { key })).status, 401);
    ok(await operator.rpc("OperatorService/EnablePerson", { id: person.id }));
    ok(await openBrowser(program).post("/auth/sign-in", { email, password }));
    assert.equal((await openBrowser(program).post("/auth/link", { token })).status, 200);
    assert.match(await succeed("people", "disable", email), /dora@there\.test is disabled/);
    const invitation = await run("people", "invite", email);
    assert.equal(invitation.code, 2);
    assert.match(invitation.stderr, /is disabled, so an invitation would not work/);
    assert.match(await succeed("people", "enable", email), /dora@there\.test can sign in again/);
    assert.deepEqual(await actions("person."), [
      "person person.disabled",
      "person person.enabled",
      "command person.disabled",
      "command person.enabled",
    ]);
    const self = await operator.rpc("OperatorService/DisablePerson", { id: (await personOf(operatorEmail)).id });
    assert.deepEqual([self.status, self.body.code], [400, "failed_precondition"]);
  });

  it("read and export the audit log of the whole service", async () => {
    const body = ok(await operator.rpc("OperatorService/ListServiceAuditEntries", { filter: { action: "person" } }));
    const entries = body.data as { id: string; action: string; actorName: string; workspaceId: string }[];
    assert.ok(entries.some(({ action, actorName }) => action === "person.disabled" && actorName !== ""));
    assert.ok(entries.every(({ action }) => action.startsWith("person.")));
    const all = ok(await operator.rpc("OperatorService/ExportServiceAuditEntries", {})).jsonLines as string;
    const lines = all
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { id: string });
    for (const { id } of entries) assert.ok(lines.some((line) => line.id === id));
    const { body: refused } = await operator.rpc("OperatorService/ListServiceAuditEntries", { pageToken: "x" });
    assert.match(refused.message as string, /^pageToken: /);
  });

  it("suspend, resume and limit workspaces", async () => {
    const { id } = await workspaceOf("Second");
    const suspended = ok(
      await operator.rpc("OperatorService/SuspendWorkspace", { workspaceId: id, reason: "No bill was paid." }),
    );
    assert.equal((suspended.workspace as Workspace).state, "WORKSPACE_STATE_SUSPENDED");
    const twice = await operator.rpc("OperatorService/SuspendWorkspace", { workspaceId: id });
    assert.equal(twice.body.code, "failed_precondition");
    const quotas = [
      { kind: "QUOTA_KIND_EMAILS_PER_DAY", limit: 5 },
      { kind: "QUOTA_KIND_KEYS", unlimited: true },
    ];
    const limited = ok(await operator.rpc("OperatorService/SetQuotas", { workspaceId: id, quotas }));
    const shown = limited.workspace as { quotas: { kind: string; limit?: number }[]; ownQuotas: string[] };
    assert.equal(shown.quotas.find(({ kind }) => kind === "QUOTA_KIND_EMAILS_PER_DAY")?.limit, 5);
    assert.deepEqual(shown.ownQuotas, ["QUOTA_KIND_EMAILS_PER_DAY", "QUOTA_KIND_KEYS"]);
    for (const wrong of [
      [],
      [{ kind: "QUOTA_KIND_KEYS", limit: -1 }],
      [{ kind: "QUOTA_KIND_KEYS", limit: 1.5 }],
      [{ kind: "QUOTA_KIND_KEYS" }],
      [quotas[0], quotas[0]],
    ]) {
      const answer = await operator.rpc("OperatorService/SetQuotas", { workspaceId: id, quotas: wrong });
      assert.equal(answer.body.code, "invalid_argument", JSON.stringify(wrong));
    }
    ok(await operator.rpc("OperatorService/ResumeWorkspace", { workspaceId: id }));
    assert.deepEqual(await actions("workspace."), [
      "person workspace.suspended",
      "person workspace.quota_changed",
      "person workspace.resumed",
    ]);
    assert.equal((await operator.rpc("OperatorService/SuspendWorkspace", { workspaceId: "ws_x" })).status, 404);
  });

  it("delete a workspace by its name", async () => {
    const { id } = await workspaceOf("Second");
    const wrong = await operator.rpc("OperatorService/DeleteWorkspace", { workspaceId: id, name: "second" });
    assert.equal(wrong.body.code, "invalid_argument");
    ok(await operator.rpc("OperatorService/DeleteWorkspace", { workspaceId: id, name: "Second" }));
    const answer = await owner.browser.rpc("KeyService/ListKeys", {}, id);
    assert.deepEqual([answer.status, answer.body.code], [404, "not_found"], "its owner, at once");
    await until("the end of the deletion", async () => (await workspaceOf("Second")) === undefined);
    const first = await workspaceOf("default");
    const refused = await operator.rpc("OperatorService/DeleteWorkspace", { workspaceId: first.id, name: "default" });
    assert.equal(refused.body.code, "failed_precondition");
  });

  it("delete a person: nothing that names them is left in any table", async () => {
    const email = "gone.forever@there.test";
    const name = "Gwendolyn";
    const { sql } = database;
    const browser = await joinAs(owner, program, { email, role: "owner" });
    await sql`update people set name = ${name} where email = ${email}`;
    ok(await browser.rpc("KeyService/CreateKey", { name: "k", permission: "KEY_PERMISSION_FULL" }, owner.workspace));
    const invitee = "invited.by.her@else.test";
    const invitation = { email: invitee, role: "MEMBER_ROLE_VIEWER" };
    ok(await browser.rpc("WorkspaceService/InviteMember", invitation, owner.workspace));
    assert.match(await capturedMail(program, invitee, /invited/), /^Gwendolyn invites you to a workspace on Posthorn/);
    const workspaceId = owner.workspace.replace("ws_", "");
    const person = await personOf(email);
    await fillPerson(sql, program, { id: person.id.replace("per_", ""), email, name, workspaceId });
    assert.ok((await findLeftovers(sql, [email])).length > 5);
    const numbers = await sql`select number from events where workspace_id = ${workspaceId} order by number`;

    const wrong = await operator.rpc("OperatorService/DeletePerson", { id: person.id, email: "other@there.test" });
    assert.equal(wrong.body.code, "invalid_argument");
    const done = ok(await operator.rpc("OperatorService/DeletePerson", { id: person.id, email }));
    assert.match(done.message as string, /gone\.forever@there\.test is deleted\. .*stay valid: 1\./);
    assert.deepEqual(await findLeftovers(sql, [email, name, Buffer.from(email).toString("base64url")]), []);
    assert.equal((await browser.rpc("KeyService/ListKeys", {}, owner.workspace)).status, 401);
    assert.deepEqual(
      await sql`select number from events where workspace_id = ${workspaceId} order by number`,
      numbers,
      "the log has no gap",
    );
    const [kept] = await sql<{ data: string }[]>`
      select c.data from recipients r join email_contents c on c.workspace_id = r.workspace_id and c.email_id = r.email_id
      where r.address = ${invitee}`;
    assert.match(
      JSON.parse(kept!.data).text,
      /^An owner invites you to a workspace on Posthorn, as viewer\.\n[\s\S]*#token=/,
    );
    const listed = await owner.browser.rpc("EmailService/ListEvents", { pageSize: 100 }, owner.workspace);
    ok(listed);
    const id = person.id.replace("per_", "");
    const left = await findLeftovers(sql, [id]);
    assert.deepEqual([...new Set(left.map((row) => row.split(":")[0]))].sort(), ["audit_entries", "keys"], "ids only");
  });

  it("calls of a person who is being deleted are refused, not failed", { timeout: 60_000 }, async () => {
    const email = "late@there.test";
    const late = await joinAs(owner, program, { email, role: "developer" });
    const [row] = await database.sql<{ id: string }[]>`select id from people where email = ${email}`;
    const calls: Promise<Answer>[] = [];
    await database.sql.begin(async (tx) => {
      await tx`delete from members where person_id = ${row!.id}`;
      await tx`delete from people where id = ${row!.id}`;
      calls.push(
        late.rpc("WorkspaceService/CreateWorkspace", { name: "Late" }),
        late.rpc("KeyService/CreateKey", { name: "late", permission: "KEY_PERMISSION_READ" }, owner.workspace),
        late.post("/auth/begin-totp"),
        late.post("/auth/sign-out"),
      );
      await until("the calls to wait for the deletion", async () => {
        const waiting = await database.sql`
          select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`;
        return waiting.length >= calls.length;
      });
    });
    const answers = await Promise.all(calls);
    assert.deepEqual(
      answers.filter(({ status }) => status >= 500).map(({ body }) => body),
      [],
    );
    assert.equal((await database.sql`select 1 from workspaces where name = 'Late'`).length, 0);
  });

  it("refuse to delete the last owner of a workspace, and name the workspace", async () => {
    const person = await personOf("owner@there.test");
    const refused = await operator.rpc("OperatorService/DeletePerson", { id: person.id, email: person.email });
    assert.equal(refused.body.code, "failed_precondition");
    assert.match(refused.body.message as string, /is the last owner of "default"/);
    const command = await run("people", "delete", "owner@there.test", "--yes");
    assert.equal(command.code, 1);
    assert.match(command.stderr, /is the last owner of "default"/);
    assert.equal((await run("people", "delete", "dora@there.test")).code, 2, "without --yes");
    assert.match(await succeed("people", "delete", "dora@there.test", "--yes"), /dora@there\.test is deleted\./);
  });

  it("are no operators after they lost their factors, until they are appointed again", async () => {
    const removed = await succeed("people", "remove-factors", operatorEmail);
    assert.match(removed, /no longer an operator.*posthorn people operator op@there\.test/s);
    assert.deepEqual((await actions("operator.")).slice(-1), ["command operator.removed"]);
    operator = openBrowser(program);
    ok(await operator.post("/auth/sign-in", { email: operatorEmail, password }));
    await addPasskey(operator, program);
    assert.equal((await operator.rpc("OperatorService/ListPeople")).status, 403);
    assert.match(await succeed("people", "operator", operatorEmail), /is now an operator\./);
    ok(await operator.rpc("OperatorService/ListPeople"));
  });

  it("are no operators once a session without a second factor adds one", async () => {
    // As after an upgrade, or when a provider is no longer trusted for the second factor.
    await database.sql`delete from people_passkeys`;
    await database.sql`update people_sessions set has_second_factor = false`;
    const thief = openBrowser(program);
    ok(await thief.post("/auth/sign-in", { email: operatorEmail, password }));
    await addPasskey(thief, program);
    assert.equal((await thief.rpc("OperatorService/ListPeople")).status, 403);
    assert.deepEqual((await actions("operator.")).slice(-1), ["person operator.removed"]);
    assert.match(await succeed("people", "operator", operatorEmail), /is now an operator\./);
    ok(await thief.rpc("OperatorService/ListPeople"));
    operator = thief;
  });

  it("are no operators after --remove, without another sign-in", async () => {
    await succeed("people", "operator", operatorEmail, "--remove");
    assert.equal((await operator.rpc("OperatorService/ListPeople")).status, 403);
  });
});
