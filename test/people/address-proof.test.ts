/** Which accounts have proved their address themselves: those that used a link that only a mail to it contained. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { type Browser, capturedMail, openBrowser, password, signUpFirst, tokenIn } from "../harness/people.ts";
import { type RunningProgram, runCommand, startProgram } from "../harness/program.ts";

let database: TestDatabase;
let program: RunningProgram;
let owner: { browser: Browser; workspace: string };
const env = { POSTHORN_SIGNUP: "open" };
before(async () => {
  database = await createTestDatabase({ example: true });
  program = await startProgram({ databaseUrl: database.url, env });
  owner = await signUpFirst(program);
});
after(async () => {
  await program?.remove();
  await database?.drop();
});

async function hasProved(email: string): Promise<boolean> {
  const [row] = await database.sql<{ proved: boolean }[]>`
    select email_verified as proved from people where email = ${email}`;
  return row!.proved;
}

async function signUp(token: string): Promise<void> {
  const answer = await openBrowser(program).post("/auth/sign-up", { token, name: "New", password });
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
}

const printed = async (...args: string[]) => {
  const { stdout, stderr } = await runCommand(args, { dataDir: program.dataDir, databaseUrl: database.url, env });
  assert.equal(stderr, "");
  return tokenIn(stdout);
};

test("the first person has not proved the address", async () =>
  assert.equal(await hasProved("owner@there.test"), false));

test("a sign-up by a mailed link proves the address", async () => {
  const email = "open@there.test";
  await openBrowser(program).post("/auth/sign-up", { email });
  await signUp(tokenIn(await capturedMail(program, email, /Sign up/)));
  assert.equal(await hasProved(email), true);
});

test("the link in an invitation's mail proves the address; a printed one does not", async () => {
  const mailed = "mailed@there.test";
  const request = { email: mailed, role: "MEMBER_ROLE_VIEWER" };
  await owner.browser.rpc("WorkspaceService/InviteMember", request, owner.workspace);
  await signUp(tokenIn(await capturedMail(program, mailed, /invited/)));
  assert.equal(await hasProved(mailed), true);
  await signUp(await printed("people", "invite", "printed@there.test"));
  assert.equal(await hasProved("printed@there.test"), false);
});

test("an invitation that is printed after it was mailed no longer proves the address", async () => {
  const email = "both@there.test";
  const request = { email, role: "MEMBER_ROLE_VIEWER" };
  await owner.browser.rpc("WorkspaceService/InviteMember", request, owner.workspace);
  await signUp(await printed("people", "invite", email));
  assert.equal(await hasProved(email), false);
});

test("a reset by mail proves the address; a printed link does not", async () => {
  const email = "printed@there.test";
  const reset = async (token: string) =>
    assert.equal(
      (await openBrowser(program).post("/auth/reset-password", { token, newPassword: password })).status,
      200,
    );
  await reset(await printed("people", "reset-password", email));
  assert.equal(await hasProved(email), false);
  await openBrowser(program).post("/auth/request-password-reset", { email });
  await reset(tokenIn(await capturedMail(program, email, /new password/)));
  assert.equal(await hasProved(email), true);
});

test("a requested reset is in the audit log, for an address with an account only", async () => {
  const requested = async () =>
    await database.sql<{ actor: string; email: string; address: string }[]>`
      select e.actor, p.email, c.address from audit_entries e left join people p on p.id = e.target_id
      left join audit_clients c on c.entry_id = e.id where e.action = 'password.reset_requested' order by e.id`;
  const before = (await requested()).length;
  const email = "mailed@there.test";
  for (const one of ["nobody@there.test", email])
    assert.equal((await openBrowser(program).post("/auth/request-password-reset", { email: one })).status, 200);
  await capturedMail(program, email, /new password/);
  assert.deepEqual((await requested()).slice(before), [{ actor: "stranger", email, address: "127.0.0.1" }]);
});

test("a signed-in person who accepts with the link that the inviter saw proves nothing", async () => {
  const email = "both@there.test";
  const created = await openBrowser(program).post("/auth/sign-in", { email, password });
  assert.equal(created.status, 200);
  const other = await owner.browser.rpc("WorkspaceService/CreateWorkspace", { name: "Other" });
  const { id } = other.body.workspace as { id: string };
  const request = { email, role: "MEMBER_ROLE_VIEWER" };
  const invited = await owner.browser.rpc("WorkspaceService/InviteMember", request, id);
  const browser = openBrowser(program);
  await browser.post("/auth/sign-in", { email, password });
  const shown = await browser.post("/auth/accept-invitation", { token: tokenIn(invited.body.inviteUrl as string) });
  assert.equal(shown.status, 200);
  assert.equal(await hasProved(email), false, "the inviter saw this link");
});
