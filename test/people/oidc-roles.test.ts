/** Roles that a claim of the provider decides, and a service without passwords. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { signInBy, startProvider, type TestProvider } from "../harness/oidc.ts";
import { type Browser, openBrowser, password, type Session, tokenIn } from "../harness/people.ts";
import { type RunningProgram, runCommand, startProgram } from "../harness/program.ts";
import { until } from "../harness/wait.ts";

let provider: TestProvider;
let database: TestDatabase;
let program: RunningProgram;
let env: Record<string, string>;
before(async () => {
  provider = await startProvider({ public: true });
  database = await createTestDatabase();
  env = {
    ...provider.env,
    POSTHORN_PASSWORD_SIGN_IN: "off",
    POSTHORN_OIDC_TEST_DOMAINS: "corp.example",
    POSTHORN_OIDC_TEST_WORKSPACE: "default",
    POSTHORN_OIDC_TEST_SCOPES: "openid email profile groups",
    POSTHORN_OIDC_TEST_ROLE_CLAIM: "groups",
    POSTHORN_OIDC_TEST_ROLES: "admins=owner,devs=developer,staff=viewer",
    POSTHORN_OIDC_TEST_SECOND_FACTOR: "trusted",
    POSTHORN_QUOTA_MEMBERS: "4",
  };
  program = await startProgram({ databaseUrl: database.url, env });
  provider.register(program);
});
after(async () => {
  await program?.remove();
  await provider?.stop();
  await database?.drop();
});

const run = (...args: string[]) => runCommand(args, { dataDir: program.dataDir, databaseUrl: database.url, env });

/** Signs in as a person of the provider, with these groups. */
async function come(name: string, groups: unknown, input = {}): Promise<{ location: string; browser: Browser }> {
  provider.account = { sub: name, email: `${name}@corp.example`, email_verified: true, name, groups };
  const browser = openBrowser(program);
  return { location: await signInBy(browser, program, input), browser };
}

async function rolesOf(browser: Browser): Promise<string[]> {
  const { workspaces } = (await browser.get("/auth/state")).body as unknown as Session;
  return workspaces.map(({ role }) => role);
}

const refused = (reason: string) => `/sign-in?problem=${reason}&provider=test`;
const members = async () =>
  await database.sql<{ email: string; role: string; issuer: string | null }[]>`
    select email, role, role_issuer as issuer from members where person_id is not null order by email`;

test("the first person must be an owner by the claim", async () => {
  assert.equal((await come("ben", ["devs"])).location, refused("oidc_first_person"));
  const { location, browser } = await come("ada", ["other", "admins"]);
  assert.deepEqual([location, await rolesOf(browser)], ["/", ["owner"]]);
  assert.deepEqual(await members(), [{ email: "ada@corp.example", role: "owner", issuer: provider.issuer }]);
  const [session] = await database.sql<{ second: boolean }[]>`select has_second_factor as second from people_sessions`;
  assert.equal(session!.second, true, "the provider's second factor is trusted");
});

test("a claim gives, changes and takes a role at each sign-in", async () => {
  const ben = await come("ben", "devs");
  assert.deepEqual([ben.location, await rolesOf(ben.browser)], ["/", ["developer"]]);
  assert.deepEqual(await rolesOf((await come("ben", ["devs", "admins"])).browser), ["owner"]);
  assert.deepEqual(await rolesOf((await come("ben", ["staff"])).browser), ["viewer"]);
  assert.deepEqual(await rolesOf(ben.browser), ["viewer"], "earlier sessions have the new role at once");
  assert.equal((await come("ben", [])).location, refused("oidc_role"));
  assert.deepEqual(await rolesOf(ben.browser), []);
  const call = await ben.browser.rpc("WorkspaceService/ListWorkspaces");
  assert.deepEqual(call.body.code, "permission_denied", "a session without a membership has no rights");
  assert.deepEqual(await rolesOf((await come("ben", ["staff"])).browser), ["viewer"]);
  const entries = await database.sql<{ action: string; actor: string }[]>`
    select action, actor from audit_entries where action like 'member.%' order by id`;
  assert.deepEqual(
    entries.map(({ action }) => action),
    ["joined", "joined", "updated", "updated", "removed", "joined"].map((verb) => `member.${verb}`),
  );
  for (const { action, actor } of entries) assert.equal(actor, action === "member.joined" ? "person" : "service");
});

test("a new person without a mapped group creates no account", async () => {
  for (const groups of [undefined, [], ["Admins"], { admins: true }])
    assert.equal((await come("eve", groups)).location, refused("oidc_role"));
  assert.equal((await database.sql`select 1 from people where email = 'eve@corp.example'`).length, 0);
});

test("the last owner stays one, whatever the claim says", async () => {
  const ada = await come("ada", []);
  assert.deepEqual([ada.location, await rolesOf(ada.browser)], ["/", ["owner"]]);
  assert.deepEqual(await rolesOf((await come("ada", ["staff"])).browser), ["owner"]);
  await come("ben", ["admins"]);
  assert.deepEqual(await rolesOf((await come("ada", ["staff"])).browser), ["viewer"], "there is another owner");
  assert.deepEqual(await rolesOf((await come("ada", ["admins"])).browser), ["owner"]);
});

test("an invited person signs in with the provider, and a role that was given by hand stays", async () => {
  const invited = await run("people", "invite", "cleo@corp.example", "--role", "owner");
  assert.equal(invited.code, 0, invited.stderr);
  const invitation = tokenIn(invited.stdout);
  const cleo = await come("cleo", [], { invitation });
  assert.deepEqual([cleo.location, await rolesOf(cleo.browser)], ["/", ["owner"]]);
  for (const groups of [["staff"], [], ["admins"]])
    assert.deepEqual(await rolesOf((await come("cleo", groups)).browser), ["owner"]);
  const [row] = (await members()).filter(({ email }) => email.startsWith("cleo"));
  assert.deepEqual(row, { email: "cleo@corp.example", role: "owner", issuer: null });
});

test("the quota of members holds", async () => {
  assert.equal((await come("dan", ["staff"])).location, "/");
  assert.equal((await come("fay", ["staff"])).location, refused("oidc_quota"));
  assert.equal((await database.sql`select 1 from people where email = 'fay@corp.example'`).length, 0);
});

test("a linked account at a trusted provider counts as second factor of an operator, who keeps it", async () => {
  const [person] = await database.sql<{ id: string }[]>`select id from people where email = 'ada@corp.example'`;
  const appointed = await run("people", "operator", "ada@corp.example");
  assert.deepEqual([appointed.code, appointed.stderr], [0, ""]);
  const elsewhere = { ...env, POSTHORN_OIDC_TEST_SECOND_FACTOR: "" };
  const options = { dataDir: program.dataDir, databaseUrl: database.url, env: elsewhere };
  assert.equal((await runCommand(["people", "operator", "cleo@corp.example"], options)).code, 1, "not trusted");
  const { browser } = await come("ada", ["admins"]);
  assert.equal((await browser.rpc("OperatorService/ListPeople")).status, 200);

  // Another way to sign in, so that only the operator's rights need this one.
  await database.sql`insert into people_accounts (id, person_id, provider_id, account_id)
    values (gen_random_uuid(), ${person!.id}, 'https://other.example', 'ada')`;
  const { linked } = (await browser.post("/auth/sign-in-methods")).body as {
    linked: { id: string; provider: string }[];
  };
  const own = linked.find(({ provider }) => provider === "test")!;
  const refusal = await browser.post("/auth/oidc/unlink", { id: own.id });
  assert.deepEqual([refusal.status, refusal.body.code], [400, "failed_precondition"]);
  await database.sql`delete from people_accounts where provider_id = 'https://other.example'`;

  // The address alone links no identity with the account of an operator.
  await database.sql`update people set email_verified = true where id = ${person!.id}`;
  await database.sql`delete from people_accounts where person_id = ${person!.id}`;
  assert.equal((await come("ada", ["admins"])).location, refused("oidc_not_linked"));
  await run("people", "operator", "ada@corp.example", "--remove");
  assert.equal((await come("ada", ["admins"])).location, "/");
});

test("a disabled person is refused before a role changes or an account is linked", async () => {
  const { sql } = database;
  const [person] = await sql<{ id: string }[]>`select id from people where email = 'cleo@corp.example'`;
  const before = await members();
  await run("people", "disable", "cleo@corp.example");
  assert.equal((await come("cleo", ["devs"])).location, refused("oidc_disabled"));
  await sql`update members set role_issuer = ${provider.issuer} where person_id = ${person!.id}`;
  assert.equal((await come("cleo", ["devs"])).location, refused("oidc_disabled"));
  await sql`update members set role_issuer = null where person_id = ${person!.id}`;
  await sql`update people set email_verified = true where id = ${person!.id}`;
  await sql`delete from people_accounts where person_id = ${person!.id}`;
  assert.equal((await come("cleo", ["devs"])).location, refused("oidc_disabled"));
  assert.equal((await sql`select 1 from people_accounts where person_id = ${person!.id}`).length, 0);
  assert.deepEqual(await members(), before);
  const entries = await sql<{ reason: string }[]>`
    select reason from audit_entries where target_id = ${person!.id} and action = 'sign_in.refused' order by id`;
  assert.deepEqual(
    entries.map(({ reason }) => reason),
    ["oidc_disabled", "oidc_disabled", "oidc_disabled"],
  );
  await run("people", "enable", "cleo@corp.example");
  assert.equal((await come("cleo", ["devs"])).location, "/");
});

test("a workspace that was deleted meanwhile gives no membership, and the sign-in succeeds", async () => {
  await run("workspaces", "create", "Team");
  const other = await startProgram({
    databaseUrl: database.url,
    env: { ...env, POSTHORN_OIDC_TEST_WORKSPACE: "Team" },
  });
  try {
    provider.register(other);
    const options = { dataDir: program.dataDir, databaseUrl: database.url, env: {} };
    const deleted = await runCommand(["workspaces", "delete", "Team", "--yes"], options);
    assert.equal(deleted.code, 0, deleted.stderr);
    provider.account = { sub: "ada", groups: ["devs"] };
    const browser = openBrowser(other);
    assert.equal(await signInBy(browser, other), "/");
    assert.equal(((await browser.get("/auth/state")).body as unknown as Session).person.email, "ada@corp.example");
    provider.account = { sub: "gus", email: "gus@corp.example", email_verified: true, groups: ["devs"] };
    assert.equal(await signInBy(openBrowser(other), other), refused("oidc_not_a_member"));
    assert.equal((await database.sql`select 1 from people where email = 'gus@corp.example'`).length, 0);
    await until("the warning", () => /a role claim gave no membership/.test(other.output()));
  } finally {
    await other.remove();
    provider.register(program);
  }
});

test("without passwords, every endpoint for them refuses in one sentence, and the commands say what helps", async () => {
  const browser = openBrowser(program);
  const { body } = await browser.get("/auth/state");
  assert.deepEqual([body.passwordSignIn, (body.signUp as { by: string }).by], [false, "closed"]);
  const token = "A".repeat(43);
  for (const [path, input] of [
    ["sign-in", { email: "ada@corp.example", password }],
    ["sign-up", { email: "new@corp.example", name: "New", password, token }],
    ["request-password-reset", { email: "ada@corp.example" }],
    ["reset-password", { token, newPassword: password }],
    ["change-password", { currentPassword: password, newPassword: `${password} 2` }],
  ] as const) {
    const answer = await browser.post(`/auth/${path}`, input);
    assert.deepEqual([path, answer.body.code], [path, "failed_precondition"]);
    assert.match(String(answer.body.message), /^Passwords are turned off on this server\./);
  }
  const reset = await run("people", "reset-password", "ada@corp.example");
  assert.equal(reset.code, 2);
  assert.match(reset.stderr, /POSTHORN_PASSWORD_SIGN_IN is off/);
  const first = await run("people", "first-link");
  assert.match(first.stderr, /people invite EMAIL/);
});

test("a workspace that does not exist stops the start, with the name of the setting", async () => {
  const wrong = { ...env, POSTHORN_OIDC_TEST_WORKSPACE: "nowhere" };
  await assert.rejects(
    startProgram({ databaseUrl: database.url, env: wrong }),
    /POSTHORN_OIDC_TEST_WORKSPACE: there is no workspace "nowhere"; create it with/,
  );
});
