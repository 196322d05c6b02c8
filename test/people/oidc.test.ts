/** Single sign-on against a real provider: sign-up by domain, sign-in, linking, invitations. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Secret, TOTP } from "otpauth";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { comeBack, signInBy, startProvider, type TestProvider, visitProvider } from "../harness/oidc.ts";
import {
  type Browser,
  capturedMail,
  joinAs,
  openBrowser,
  password,
  type Session,
  signUpFirst,
  tokenIn,
} from "../harness/people.ts";
import { type RunningProgram, runCommand, startProgram } from "../harness/program.ts";
import { until } from "../harness/wait.ts";

let provider: TestProvider;
let database: TestDatabase;
let program: RunningProgram;
let owner: { browser: Browser; session: Session; workspace: string };
before(async () => {
  provider = await startProvider();
  database = await createTestDatabase({ example: true });
  const env = {
    ...provider.env,
    POSTHORN_OIDC_TEST_DOMAINS: "corp.example",
    POSTHORN_OIDC_TEST_WORKSPACE: "default",
    POSTHORN_OIDC_TEST_ROLE: "developer",
  };
  program = await startProgram({ databaseUrl: database.url, env });
  provider.register(program);
  owner = await signUpFirst(program);
});
after(async () => {
  await program?.remove();
  await provider?.stop();
  await database?.drop();
});

const who = async (browser: Browser) => (await browser.get("/auth/state")).body as unknown as Session;
const entries = async (action: string) =>
  await database.sql<{ actor: string; reason: string | null; targetId: string | null }[]>`
    select actor, reason, target_id as "targetId" from audit_entries where action = ${action} order by id`;

test("the sign-in page gets the providers, without their secrets", async () => {
  const { body } = await openBrowser(program).get("/auth/state");
  assert.deepEqual([body.passwordSignIn, body.providers], [true, [{ name: "test", label: "Example login" }]]);
  assert.ok(!program.output().includes(provider.env.POSTHORN_OIDC_TEST_CLIENT_SECRET!), "the secret is in the log");
});

test("a person of an allowed domain signs up, and the next sign-in finds the same person", async () => {
  provider.account = { sub: "ann-1", email: "Ann@Corp.example", email_verified: true, name: "Ann\u202e Example" };
  const browser = openBrowser(program);
  assert.equal(await signInBy(browser, program, { return: "/emails?q=1" }), "/emails?q=1");
  assert.match(browser.lastSet.join("\n"), /posthorn\.session_token=[^\n]*HttpOnly; SameSite=Strict/);
  const { person, workspaces } = await who(browser);
  assert.deepEqual([person.email, person.name], ["ann@corp.example", "Ann Example"]);
  assert.deepEqual(
    workspaces.map(({ name, role }) => [name, role]),
    [["default", "developer"]],
  );
  const [created] = await entries("person.created");
  assert.deepEqual([`per_${created!.targetId}`, created!.actor, created!.reason], [person.id, "person", null]);

  // The provider may change the address: the identity is the issuer and the subject.
  provider.account = { sub: "ann-1", email: "renamed@elsewhere.example", email_verified: false };
  const again = openBrowser(program);
  assert.equal(await signInBy(again, program), "/");
  assert.equal((await who(again)).person.id, person.id);
  const [row] = await database.sql<{ issuer: string; by: string }[]>`
    select a.provider_id as issuer, s.signed_in_by as by from people_accounts a join people_sessions s on s.person_id = a.person_id
    where a.account_id = 'ann-1'`;
  assert.deepEqual([row!.issuer, row!.by], [provider.issuer, "oidc"]);
});

test("an address that the provider does not confirm, or of another domain, creates no account", async () => {
  for (const [account, reason] of [
    [{ sub: "eve-1", email: "eve@corp.example", email_verified: false }, "oidc_email_not_verified"],
    [{ sub: "eve-2", email: "eve@corp.example" }, "oidc_email_not_verified"],
    [{ sub: "eve-3" }, "oidc_email_not_verified"],
    [{ sub: "eve-4", email: "eve@corp.example.evil.example", email_verified: true }, "oidc_domain"],
    [{ sub: "eve-5", email: "eve@sub.corp.example", email_verified: true }, "oidc_domain"],
  ] as const) {
    provider.account = account;
    const browser = openBrowser(program);
    assert.equal(await signInBy(browser, program), `/sign-in?problem=${reason}&provider=test`);
    assert.equal((await who(browser)).person, null);
  }
  const rows = await database.sql`select 1 from people where email like 'eve@%'`;
  assert.equal(rows.length, 0);
  const refused = await entries("sign_in.refused");
  assert.deepEqual(refused.map(({ reason }) => reason).slice(-1), ["oidc_domain"]);
});

test("an account that has not proved its address is linked only while signed in", async () => {
  provider.account = { sub: "olga-1", email: "owner@there.test", email_verified: true };
  const stranger = openBrowser(program);
  assert.equal(await signInBy(stranger, program), "/sign-in?problem=oidc_not_linked&provider=test");

  assert.equal(await signInBy(owner.browser, program, { purpose: "link" }), "/account?linked=test");
  const { body } = await owner.browser.post("/auth/sign-in-methods");
  const [linked] = body.linked as { id: string; provider: string; mayUnlink: boolean }[];
  assert.deepEqual([body.password, linked!.provider, linked!.mayUnlink], [true, "test", true]);
  assert.equal(await signInBy(stranger, program), "/");
  assert.equal((await who(stranger)).person.id, owner.session.person.id);

  assert.equal((await owner.browser.post("/auth/oidc/unlink", { id: linked!.id })).status, 200);
  assert.equal((await owner.browser.post("/auth/oidc/unlink", { id: linked!.id })).status, 404);
  assert.equal(await signInBy(openBrowser(program), program), "/sign-in?problem=oidc_not_linked&provider=test");
  assert.deepEqual((await entries("account.linked")).length, 1);
  assert.deepEqual((await entries("account.unlinked")).length, 1);
});

test("an account that has proved its address by a mailed link is linked by a verified one", async () => {
  const email = "vera@there.test";
  const invited = await joinAs(owner, program, { email, role: "viewer" });
  provider.account = { sub: "vera-1", email, email_verified: true };
  assert.match(await signInBy(openBrowser(program), program), /oidc_not_linked/, "the inviter saw the link");

  await openBrowser(program).post("/auth/request-password-reset", { email });
  const token = tokenIn(await capturedMail(program, email, /new password/));
  const reset = await openBrowser(program).post("/auth/reset-password", { token, newPassword: `${password} 2` });
  assert.equal(reset.status, 200, JSON.stringify(reset.body));
  provider.account = { sub: "vera-1", email, email_verified: false };
  assert.match(await signInBy(openBrowser(program), program), /oidc_email_not_verified/);
  provider.account = { sub: "vera-1", email, email_verified: true };
  const browser = openBrowser(program);
  assert.equal(await signInBy(browser, program), "/");
  assert.equal((await who(browser)).person.email, email);
  assert.equal((await who(invited)).person, null, "the reset ended the session of the inviter's link");

  provider.account = { sub: "vera-2", email, email_verified: true };
  assert.match(await signInBy(openBrowser(program), program), /oidc_not_linked/, "the next holder of the mailbox");
});

test("the only way to sign in cannot be unlinked, and a reset by mail adds a password", async () => {
  provider.account = { sub: "ben-1", email: "ben@corp.example", email_verified: true };
  const browser = openBrowser(program);
  await signInBy(browser, program);
  assert.equal(await signInBy(browser, program, { purpose: "confirm" }), "/");
  const methods = (await browser.post("/auth/sign-in-methods")).body;
  const [linked] = methods.linked as { id: string; mayUnlink: boolean }[];
  assert.deepEqual([methods.password, linked!.mayUnlink], [false, false]);
  const refused = await browser.post("/auth/oidc/unlink", { id: linked!.id });
  assert.deepEqual([refused.status, refused.body.code], [400, "failed_precondition"]);
  assert.match(String(refused.body.message), /only with this provider/);

  await openBrowser(program).post("/auth/request-password-reset", { email: "ben@corp.example" });
  const token = tokenIn(await capturedMail(program, "ben@corp.example", /new password/));
  assert.equal((await openBrowser(program).post("/auth/reset-password", { token, newPassword: password })).status, 200);
  const signedIn = await browser.post("/auth/sign-in", { email: "ben@corp.example", password });
  assert.equal(signedIn.status, 200, JSON.stringify(signedIn.body));
  const listed = async () => (await browser.post("/auth/sign-in-methods")).body.linked as { id: string }[];
  assert.deepEqual(await listed(), [], "the first proof of the address leaves no other way to sign in");
  assert.equal(await signInBy(openBrowser(program), program), "/", "both sides have proved the address now");
  const [again] = await listed();
  assert.equal((await browser.post("/auth/oidc/unlink", { id: again!.id })).status, 200);
});

test("a provider that is not trusted for it leads to the second step, and links no account before it", async () => {
  const email = "tess@corp.example";
  provider.account = { sub: "tess-1", email, email_verified: true };
  const first = openBrowser(program);
  assert.equal(await signInBy(first, program), "/");
  assert.equal(await signInBy(first, program, { purpose: "confirm" }), "/");
  const begun = (await first.post("/auth/begin-totp")).body as { secret: string };
  const code = new TOTP({ secret: Secret.fromBase32(begun.secret) }).generate();
  const added = await first.post("/auth/confirm-totp", { code });
  assert.equal(added.status, 200, JSON.stringify(added.body));
  const [recoveryCode] = added.body.recoveryCodes as string[];

  const browser = openBrowser(program);
  assert.equal(await signInBy(browser, program), "/sign-in?step=second-factor");
  assert.equal((await who(browser)).person, null, "no session before the second step");
  const replayed = await browser.post("/auth/second-factor", { code });
  assert.equal(replayed.status, 401, "the code was used when the app was added");
  const done = await browser.post("/auth/second-factor", { code: recoveryCode });
  assert.equal(done.status, 200, JSON.stringify(done.body));
  assert.equal((await who(browser)).person.email, email);

  // The same address at another issuer, or with another subject after the first was unlinked, must not skip the factor.
  const sql = database.sql;
  await sql`update people set email_verified = true where email = ${email}`;
  await sql`delete from people_accounts where person_id = (select id from people where email = ${email})`;
  provider.account = { sub: "tess-2", email, email_verified: true };
  assert.match(await signInBy(openBrowser(program), program), /oidc_not_linked/);
  const linked =
    await sql`select 1 from people_accounts a join people p on p.id = a.person_id where p.email = ${email}`;
  assert.equal(linked.length, 0);
});

test("one account at the provider belongs to one person, and one person has one account there", async () => {
  provider.account = { sub: "ann-1" };
  assert.equal(
    await signInBy(owner.browser, program, { purpose: "link" }),
    "/account?problem=oidc_linked_elsewhere&provider=test",
  );
  provider.account = { sub: "olga-2" };
  assert.equal(await signInBy(owner.browser, program, { purpose: "link" }), "/account?linked=test");
  assert.equal(await signInBy(owner.browser, program, { purpose: "link" }), "/account?linked=test", "once more");
  provider.account = { sub: "olga-3" };
  assert.equal(
    await signInBy(owner.browser, program, { purpose: "link" }),
    "/account?problem=oidc_already_linked&provider=test",
  );
});

test("an operator who links a provider in a session without a second factor is no operator any longer", async () => {
  const email = "odo@there.test";
  const odo = await joinAs(owner, program, { email, role: "viewer" });
  // The second factor was another provider, and a thief of the password signs in.
  await database.sql`update people set is_operator = true where email = ${email}`;
  provider.account = { sub: "thief" };
  assert.equal(await signInBy(odo, program, { purpose: "link" }), "/account?linked=test");
  const [row] = await database.sql<{ isOperator: boolean; entries: number }[]>`
    select is_operator as "isOperator", (select count(*)::int from audit_entries e where e.target_id = p.id
      and e.action = 'operator.removed') as entries from people p where email = ${email}`;
  assert.deepEqual(row, { isOperator: false, entries: 1 });
});

test("a link needs a page of this service and the session that began it", async () => {
  const signedOut = await openBrowser(program).post("/auth/oidc/start", { provider: "test", purpose: "link" });
  assert.deepEqual([signedOut.status, signedOut.body.code], [401, "unauthenticated"]);
  const elsewhere = { origin: "https://evil.example" };
  const foreign = await owner.browser.post("/auth/oidc/start", { provider: "test", purpose: "link" }, elsewhere);
  assert.deepEqual([foreign.status, foreign.body.code], [403, "permission_denied"]);
  assert.equal((await owner.browser.get("/auth/oidc/start?provider=test&link=1")).status, 405);

  provider.account = { sub: "cleo-1" };
  const cleo = await joinAs(owner, program, { email: "cleo@there.test", role: "viewer" });
  const { back } = await visitProvider(cleo, program, { purpose: "link" });
  const cookie = new Map(cleo.cookies);
  await cleo.post("/auth/sign-out");
  for (const [name, value] of cookie) cleo.cookies.set(name, value);
  assert.equal(await comeBack(cleo, back), "/account?problem=oidc_session&provider=test");
});

test("an invited person accepts with the verified address of the provider, and with no other", async () => {
  const email = "dora@there.test";
  const request = { email, role: "MEMBER_ROLE_VIEWER" };
  const invited = await owner.browser.rpc("WorkspaceService/InviteMember", request, owner.workspace);
  const invitation = tokenIn(invited.body.inviteUrl as string);
  provider.account = { sub: "mallory", email: "mallory@there.test", email_verified: true };
  assert.match(await signInBy(openBrowser(program), program, { invitation }), /oidc_invitation/);
  provider.account = { sub: "dora-1", email, email_verified: false };
  assert.match(await signInBy(openBrowser(program), program, { invitation }), /oidc_email_not_verified/);
  provider.account = { sub: "dora-1", email, email_verified: true };
  const browser = openBrowser(program);
  assert.equal(await signInBy(browser, program, { invitation }), "/");
  const { person, workspaces } = await who(browser);
  assert.deepEqual([person.email, workspaces.map(({ role }) => role)], [email, ["viewer"]]);
  const rows = await database.sql`select 1 from people where email = 'mallory@there.test'`;
  assert.equal(rows.length, 0, "a refused invitation leaves no account");
  const used = await browser.post("/auth/oidc/start", { provider: "test", invitation });
  assert.equal(used.status, 404);
});

test("the page after the sign-in is one of this service", async () => {
  provider.account = { sub: "ann-1" };
  for (const [given, shown] of [
    ["/queue", "/queue"],
    ["//evil.example/x", "/"],
    ["https://evil.example", "/"],
  ])
    assert.equal(await signInBy(openBrowser(program), program, { return: given }), shown, given);
});

test("two tabs of a browser can sign in at the same time", async () => {
  provider.account = { sub: "ann-1" };
  const browser = openBrowser(program);
  const first = await visitProvider(browser, program);
  const second = await visitProvider(browser, program);
  assert.deepEqual([await comeBack(browser, first.back), await comeBack(browser, second.back)], ["/", "/"]);
});

test("concurrent first sign-ins of one person create one account", async () => {
  provider.account = { sub: "gil-1", email: "gil@corp.example", email_verified: true };
  const tabs = await Promise.all(
    Array.from({ length: 4 }, async () => {
      const browser = openBrowser(program);
      return { browser, ...(await visitProvider(browser, program)) };
    }),
  );
  const locations = await Promise.all(tabs.map(({ browser, back }) => comeBack(browser, back)));
  assert.deepEqual(new Set(locations), new Set(["/"]));
  const rows = await database.sql`
    select 1 from people p join people_accounts a on a.person_id = p.id where p.email = 'gil@corp.example'`;
  assert.equal(rows.length, 1);
});

test("behind https the cookie is bound to this host, and a provider that is down is said in one sentence", async () => {
  const env = { ...provider.env, POSTHORN_PUBLIC_URL: "https://mail.corp.example" };
  const secure = await startProgram({ databaseUrl: database.url, env });
  try {
    const browser = openBrowser(secure);
    const begin = () => browser.post("/auth/oidc/start", { provider: "test" }, { origin: "https://mail.corp.example" });
    provider.isDown = true;
    const refused = await begin();
    assert.deepEqual([refused.status, refused.body.code], [503, "unavailable"]);
    assert.equal(refused.body.message, "The provider cannot be reached. Try again in a minute.");
    provider.isDown = false;
    const started = await until("the provider to be asked again", async () => {
      const answer = await begin();
      return answer.status === 200 ? answer : undefined;
    });
    const url = new URL(started.body.url as string);
    assert.equal(url.searchParams.get("redirect_uri"), "https://mail.corp.example/auth/oidc/callback");
    assert.equal(url.searchParams.get("code_challenge_method"), "S256");
    assert.match(
      browser.lastSet.join(),
      /^__Host-posthorn\.oidc=[\w-]{43}; Max-Age=600; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
    );
  } finally {
    provider.isDown = false;
    await secure.remove();
  }
});

test("doctor says whether a provider answers, and what to register there", async () => {
  const options = { dataDir: program.dataDir, databaseUrl: database.url };
  const signIn = async (env: Record<string, string>) => {
    const { stdout } = await runCommand(["doctor", "--json"], { ...options, env: { ...provider.env, ...env } });
    const rows = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, string>);
    return rows.filter(({ check }) => check === "sign-in");
  };
  const [fine] = await signIn({});
  assert.equal(fine!.result, "ok");
  assert.match(
    fine!.found!,
    /^test: http:\/\/127\.0\.0\.1:\d+ answers; its redirect URI is http:.*\/auth\/oidc\/callback$/,
  );
  const [wrong, people] = await signIn({
    POSTHORN_OIDC_TEST_ISSUER: `${provider.issuer}/other`,
    POSTHORN_PASSWORD_SIGN_IN: "off",
  });
  assert.deepEqual([wrong!.result, people!.result], ["fail", "warn"]);
  assert.match(wrong!.fix!, /POSTHORN_OIDC_TEST_ISSUER.*other\/\.well-known\/openid-configuration/);
  assert.match(people!.found!, /passwords are off, and \d+ people have linked no provider/);
});

test("a sign-in that is under way while the provider is unlinked opens no session", async () => {
  provider.account = { sub: "una-1", email: "una@corp.example", email_verified: true };
  assert.equal(await signInBy(openBrowser(program), program), "/");
  const browser = openBrowser(program);
  const { back } = await visitProvider(browser, program);
  let coming: Promise<string> | undefined;
  await database.sql.begin(async (tx) => {
    const [una] = await tx<{ id: string }[]>`
      select id from people where email = 'una@corp.example' for no key update`;
    coming = comeBack(browser, back);
    const waiting = () => database.sql`
      select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`;
    await until("the sign-in to wait", async () => (await waiting()).length > 0);
    await tx`delete from people_accounts where person_id = ${una!.id}`;
  });
  assert.equal(await coming, "/sign-in?problem=oidc_not_linked&provider=test");
  assert.equal((await browser.get("/auth/state")).body.person, null);
});
