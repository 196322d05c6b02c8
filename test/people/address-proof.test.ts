/** Which accounts have proved their address themselves: those that used a link that only a mail to it contained. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { makeToken } from "../../src/ops/one-time-token.ts";
import { addLink } from "../../src/people/store.ts";
import { addPasskey, makePasskey } from "../harness/authenticator.ts";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { type Browser, capturedMail, openBrowser, password, signUpFirst, tokenIn } from "../harness/people.ts";
import { type Answer, type RunningProgram, runCommand, startProgram } from "../harness/program.ts";
import { until } from "../harness/wait.ts";

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

/** An account whose creator never proved the address: the operator gave the link away. */
async function takeAddress(email: string): Promise<Browser> {
  const browser = openBrowser(program);
  const token = await printed("people", "invite", email);
  assert.equal((await browser.post("/auth/sign-up", { token, name: "Taker", password })).status, 200);
  return browser;
}

/** The owner of the mailbox sets a new password. */
async function resetByMail(email: string, newPassword: string): Promise<Browser> {
  const browser = openBrowser(program);
  const token = makeToken();
  await addLink(database.sql, { token, kind: "reset", email, forMs: 60_000, byMail: true });
  assert.equal((await browser.post("/auth/reset-password", { token, newPassword })).status, 200);
  return browser;
}

test("the first proof of an address leaves no other way to sign in", async () => {
  const email = "taken@there.test";
  const taker = await takeAddress(email);
  const [row] = await database.sql<{ id: string }[]>`select id from people where email = ${email}`;
  await database.sql`insert into people_accounts (id, person_id, provider_id, account_id)
    values (gen_random_uuid(), ${row!.id}, 'https://login.example', 'taker')`;
  // Begun, but not finished.
  await taker.post("/auth/begin-totp");
  await resetByMail(email, "another password here");
  assert.equal(await hasProved(email), true);
  assert.equal((await taker.get("/auth/state")).body.person, null);
  assert.equal((await openBrowser(program).post("/auth/sign-in", { email, password })).status, 401);
  for (const table of ["people_totp", "people_sessions", "people_sign_ins"])
    assert.equal((await database.sql.unsafe(`select 1 from ${table} where person_id = '${row!.id}'`)).length, 0, table);
  const accounts = await database.sql`select provider_id as provider from people_accounts where person_id = ${row!.id}`;
  assert.deepEqual(accounts, [{ provider: "credential" }]);
  const [unlinked] = await database.sql<{ actor: string }[]>`
    select actor from audit_entries where action = 'account.unlinked' and target_id = ${row!.id}`;
  assert.equal(unlinked?.actor, "person");

  // Later resets take nothing away.
  await database.sql`insert into people_accounts (id, person_id, provider_id, account_id)
    values (gen_random_uuid(), ${row!.id}, 'https://login.example', 'owner')`;
  await resetByMail(email, "yet another password");
  assert.equal((await database.sql`select 1 from people_accounts where person_id = ${row!.id}`).length, 2);
});

test("a reset by mail neither removes a second factor nor proves the address while there is one", async () => {
  const email = "locked@there.test";
  const taker = await takeAddress(email);
  await addPasskey(taker, program);
  const browser = await resetByMail(email, "another password here");
  const signedIn = await browser.post("/auth/sign-in", { email, password: "another password here" });
  assert.ok(signedIn.body.secondFactor, "a thief of the mailbox does not get past the factor");
  assert.equal(await hasProved(email), false, "no provider is linked by the address");
  // The operator removes the factors of the person who took the address.
  const options = { dataDir: program.dataDir, databaseUrl: database.url, env };
  assert.equal((await runCommand(["people", "remove-factors", email], options)).code, 0);
  await resetByMail(email, "yet another password");
  assert.equal(await hasProved(email), true);
});

test("a session that a reset has ended adds no factor", { timeout: 120_000 }, async () => {
  const email = "late@there.test";
  const taker = await takeAddress(email);
  const passkey = makePasskey(program.url.replace("127.0.0.1", "localhost"));
  const options = (await taker.post("/auth/passkey-options", { purpose: "add" })).body;
  const [row] = await database.sql<{ id: string }[]>`select id from people where email = ${email}`;
  let adding: Promise<Answer> | undefined;
  await database.sql.begin(async (tx) => {
    // What a reset does. The request has found its session by then, and waits.
    await tx`select 1 from people where id = ${row!.id} for no key update`;
    adding = taker.post("/auth/add-passkey", { name: "Late", credential: passkey.create(options) });
    await until("the request to wait", async () => {
      const waiting = await database.sql`select 1 from pg_stat_activity
        where wait_event_type = 'Lock' and query like '%for no key update%' and datname = current_database()`;
      return waiting.length > 0;
    });
    await tx`delete from people_sessions where person_id = ${row!.id}`;
  });
  assert.equal((await adding!).status, 401);
  assert.equal((await database.sql`select 1 from people_passkeys where person_id = ${row!.id}`).length, 0);
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

test("a signed-in person who accepts with the mailed link proves nothing: the creator of the account may know the password", async () => {
  const email = "prepared@there.test";
  const browser = await takeAddress(email);
  const other = await owner.browser.rpc("WorkspaceService/CreateWorkspace", { name: "Third" });
  const request = { email, role: "MEMBER_ROLE_VIEWER" };
  await owner.browser.rpc("WorkspaceService/InviteMember", request, (other.body.workspace as { id: string }).id);
  const token = tokenIn(await capturedMail(program, email, /invited/));
  assert.equal((await browser.post("/auth/accept-invitation", { token })).status, 200);
  assert.equal(await hasProved(email), false);
});
