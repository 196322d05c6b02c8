/** Sign-up off loopback, behind a proxy, with open and closed sign-up; and password reset. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import PostalMime from "postal-mime";
import { createTestDatabase } from "../harness/database.ts";
import {
  capturedMail,
  firstLink,
  joinAs,
  openBrowser,
  password,
  type Session,
  signUpFirst,
  tokenIn,
} from "../harness/people.ts";
import { type RunningProgram, runCommand, startProgram } from "../harness/program.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";
import { until } from "../harness/wait.ts";

type Settings = { env?: Record<string, string>; example?: boolean };

async function start(t: { after(end: () => Promise<void>): void }, { env = {}, example }: Settings = {}) {
  const database = await createTestDatabase({ example });
  t.after(database.drop);
  const program = await startProgram({ databaseUrl: database.url, env });
  t.after(program.remove);
  const run = (...args: string[]) => runCommand(args, { dataDir: program.dataDir, databaseUrl: database.url, env });
  return { program, database, run };
}

/** One program for all tests of a group. */
function shared(settings: Settings): () => Awaited<ReturnType<typeof start>> {
  let instance: Awaited<ReturnType<typeof start>>;
  const ends: (() => Promise<void>)[] = [];
  before(async () => {
    instance = await start({ after: (end) => void ends.unshift(end) }, settings);
  });
  after(async () => {
    for (const end of ends) await end();
  });
  return () => instance;
}

const newcomer = { email: "olga@there.test", name: "Olga", password };

const signUpState = async (program: RunningProgram) =>
  (await openBrowser(program).get("/auth/state")).body.signUp as { by: string; first: boolean; message: string };

describe("the first person", () => {
  it("off loopback needs the link, which is not in the output and works once", async (t) => {
    const { program, database } = await start(t, { env: { POSTHORN_HTTP: "0.0.0.0:0" } });
    const browser = openBrowser(program);
    assert.deepEqual((await signUpState(program)).by, "link");
    const without = await browser.post("/auth/sign-up", newcomer);
    assert.deepEqual([without.status, without.body.code], [403, "permission_denied"]);
    const guessed = await browser.post("/auth/sign-up", { ...newcomer, token: "A".repeat(43) });
    assert.equal(guessed.status, 404);
    const token = tokenIn(await firstLink(program));
    assert.deepEqual((await browser.post("/auth/link", { token })).body, { kind: "first" });
    const rival = openBrowser(program);
    const [one, two] = await Promise.all([
      browser.post("/auth/sign-up", { ...newcomer, token }),
      rival.post("/auth/sign-up", { ...newcomer, email: "eve@there.test", token }),
    ]);
    assert.equal(
      [one, two].filter(({ status }) => status === 200).length,
      1,
      "of two simultaneous sign-ups, one succeeds",
    );
    assert.equal((await database.sql`select 1 from members where role = 'owner'`).length, 1);
    const again = await openBrowser(program).post("/auth/sign-up", { ...newcomer, email: "x@there.test", token });
    assert.equal(again.status, 404);
    const restarted = await startProgram({ databaseUrl: database.url, env: { POSTHORN_HTTP: "0.0.0.0:0" } });
    t.after(restarted.remove);
    await until("the welcome", () => /Posthorn is running[\s\S]*curl/.test(restarted.output()));
    for (const node of [program, restarted]) assert.doesNotMatch(node.output(), /#token=/);
    assert.doesNotMatch(restarted.output(), /first-sign-up/, "a person exists");
    assert.equal(existsSync(join(restarted.dataDir, "first-sign-up")), false);
    const elsewhere = openBrowser(restarted);
    for (const [name, value] of (one.status === 200 ? browser : rival).cookies) elsewhere.cookies.set(name, value);
    assert.notEqual((await elsewhere.get("/auth/state")).body.person, null, "a session is valid on every node");
  });

  it("behind a proxy on the same machine needs the link, too", async (t) => {
    const { program } = await start(t, { env: { POSTHORN_PUBLIC_URL: "https://mail.example.com" } });
    assert.equal((await signUpState(program)).by, "link");
    const link = await firstLink(program);
    assert.match(link, /^https:\/\/mail\.example\.com\/sign-up#token=/);
    const browser = openBrowser(program);
    const fromOutside = { origin: "https://mail.example.com", "x-forwarded-for": "203.0.113.9" };
    assert.equal((await browser.post("/auth/sign-up", newcomer, fromOutside)).status, 403);
    const done = await browser.post("/auth/sign-up", { ...newcomer, token: tokenIn(link) }, fromOutside);
    assert.equal(done.status, 200, JSON.stringify(done.body));
    assert.match(
      browser.lastSet.join(),
      /^__Secure-posthorn\.session_token=.*; Secure/i,
      "cookies are only sent over HTTPS",
    );
    const { workspaces } = done.body as Session;
    const keys = await browser.rpc("KeyService/ListKeys", {}, workspaces[0]!.id, fromOutside);
    assert.equal(keys.status, 200, JSON.stringify(keys.body));
  });
});

describe("POSTHORN_SIGNUP=closed", () => {
  it("allows sign-up only with an invitation, which the command line can create", async (t) => {
    const { program, run } = await start(t, { env: { POSTHORN_SIGNUP: "closed" } });
    assert.deepEqual((await signUpState(program)).by, "closed");
    await until("the welcome", () => /Posthorn is running[\s\S]*curl/.test(program.output()));
    assert.doesNotMatch(program.output(), /sign-up/);
    assert.equal((await openBrowser(program).post("/auth/sign-up", newcomer)).status, 403);
    const invited = await run("people", "invite", "olga@there.test");
    assert.equal(invited.code, 0, invited.stderr);
    assert.ok(invited.stdout.startsWith(`${program.url}/invitation#token=`), invited.stdout);
    const token = tokenIn(invited.stdout);
    const joined = await openBrowser(program).post("/auth/sign-up", { ...newcomer, token });
    assert.deepEqual(
      (joined.body as Session).workspaces.map(({ name, role }) => [name, role]),
      [["default", "owner"]],
    );
    const listed = await run("people", "list");
    assert.match(listed.stdout, /olga@there\.test +Olga +active +\S+ +default \(owner\)/);
    assert.equal((await run("people", "invite", "olga@there.test")).code, 1);
    assert.equal((await run("people", "invite", "nonsense")).code, 2);
    assert.equal((await run("people", "invite", "x@there.test", "--role", "king")).code, 2);
  });
});

describe("with mail that is delivered to a receiver", () => {
  let testbed: Testbed;
  before(async () => {
    const from = "Our Posthorn <no-reply@sender.test>";
    testbed = await startTestbed({ env: { POSTHORN_SIGNUP: "open", POSTHORN_SYSTEM_FROM: from } });
  });
  after(async () => await testbed?.stop());

  const mailTo = async (address: string, subject: RegExp) =>
    await until(`a mail to ${address}`, async () => {
      const mails = await Promise.all(testbed.sink.received(address).map(({ data }) => PostalMime.parse(data)));
      return mails.find((mail) => subject.test(mail.subject ?? ""));
    });

  it("POSTHORN_SIGNUP=open verifies the address by mail, with the same response for known and unknown addresses", async () => {
    const { program } = testbed;
    await signUpFirst(program);
    assert.deepEqual(await signUpState(program).then(({ by, first }) => [by, first]), ["mail", false]);
    const requestSignUp = async (email: string) => {
      const { status, body } = await openBrowser(program).post("/auth/sign-up", { email });
      return [status, body];
    };
    assert.deepEqual(await requestSignUp("nina@there.test"), await requestSignUp("owner@there.test"));
    await mailTo("owner@there.test", /already have a Posthorn account/);
    const token = tokenIn((await mailTo("nina@there.test", /^Sign up/)).text ?? "");
    const browser = openBrowser(program);
    assert.deepEqual((await browser.post("/auth/link", { token })).body, { kind: "sign_up", email: "nina@there.test" });
    // The verified address is used, not the one in the form.
    const done = await browser.post("/auth/sign-up", { token, email: "owner@there.test", name: "Nina", password });
    assert.equal(done.status, 200, JSON.stringify(done.body));
    const { person, workspaces } = done.body as Session;
    assert.deepEqual([person.email, workspaces], ["nina@there.test", []]);
    const created = await browser.rpc("WorkspaceService/CreateWorkspace", { name: "Nina's" });
    const id = (created.body.workspace as { id: string }).id;
    assert.equal((await browser.rpc("KeyService/ListKeys", {}, id)).status, 200);
    assert.equal((await browser.post("/auth/sign-up", { token, name: "Nina", password })).status, 404, "used up");
  });

  it("a password reset mail comes from the sender that the operator configured", async () => {
    const browser = openBrowser(testbed.program);
    assert.equal((await browser.get("/auth/state")).body.passwordReset, "mail");
    await browser.post("/auth/request-password-reset", { email: "owner@there.test" });
    const mail = await mailTo("owner@there.test", /new password/);
    assert.deepEqual([mail.from?.name, mail.from?.address], ["Our Posthorn", "no-reply@sender.test"]);
    assert.ok(mail.headers.some(({ key, value }) => key === "auto-submitted" && value === "auto-generated"));
    assert.ok(mail.headers.some(({ key }) => key === "dkim-signature"));
    const answer = await browser.post("/auth/link", { token: tokenIn(mail.text ?? "") });
    assert.deepEqual(answer.body, { kind: "reset", email: "owner@there.test" });
  });
});

describe("on loopback", () => {
  const instance = shared({ example: true });

  it("the first person cannot sign up without a link through a proxy or an unknown host name", async () => {
    const { program } = instance();
    const port = program.ports.http;
    const headerSets: Record<string, string>[] = [
      { "x-forwarded-for": "203.0.113.9" },
      { via: "1.1 proxy" },
      // DNS rebinding: an attacker's host name resolves to 127.0.0.1, so the attacker's page counts as same-origin.
      { host: `rebound.example:${port}`, origin: `http://rebound.example:${port}` },
    ];
    for (const headers of headerSets) {
      const { status } = await rawPost(program, "/auth/sign-up", newcomer, headers);
      assert.equal(status, 403, JSON.stringify(headers));
    }
    await signUpFirst(program);
  });

  it("a password is reset with a link in a mail that the API does not show, and every session ends", async () => {
    const { program } = instance();
    const browserOfOwner = openBrowser(program);
    const signedIn = await browserOfOwner.post("/auth/sign-in", { email: "owner@there.test", password });
    const owner = { browser: browserOfOwner, workspace: (signedIn.body as Session).workspaces[0]!.id };
    const dev = await joinAs(owner, program, { email: "dev@there.test", role: "developer" });
    const requested = await openBrowser(program).post("/auth/request-password-reset", { email: "Owner@there.test" });
    assert.equal(requested.status, 200);
    const text = await capturedMail(program, "owner@there.test", /new password/);
    assert.ok(text.includes(`${program.url}/reset-password#token=`), text);
    const token = tokenIn(text);

    // A member who can read the workspace's mail must not be able to take over the owner's account.
    const list = await dev.rpc("EmailService/ListEmails", { recipient: "owner@there.test" }, owner.workspace);
    assert.deepEqual(list.body.data, []);
    const [mail] = await instance().database.sql<{ id: string }[]>`
      select e.id from emails e join recipients r on r.email_id = e.id where r.address = 'owner@there.test'`;
    const id = `em_${mail!.id}`;
    for (const answer of [
      await dev.rpc("EmailService/GetEmailContent", { id }, owner.workspace),
      await program.call("EmailService/GetEmailContent", { id }),
    ])
      assert.equal(answer.body.code, "not_found");

    const browser = openBrowser(program);
    assert.deepEqual((await browser.post("/auth/link", { token })).body, { kind: "reset", email: "owner@there.test" });
    assert.equal((await browser.post("/auth/sign-up", { ...newcomer, token })).status, 404, "not valid for sign-up");
    const short = await browser.post("/auth/reset-password", { token, newPassword: "short" });
    assert.equal(short.status, 400);
    const newPassword = "an altogether new one";
    assert.equal((await browser.post("/auth/reset-password", { token, newPassword })).status, 200);
    assert.equal((await browser.post("/auth/reset-password", { token, newPassword })).status, 404, "used up");
    assert.equal((await owner.browser.get("/auth/state")).body.person, null);
    const signIn = (word: string) =>
      openBrowser(program).post("/auth/sign-in", { email: "owner@there.test", password: word });
    assert.equal((await signIn(password)).status, 401);
    assert.equal((await signIn(newPassword)).status, 200);
  });

  it("the number of password reset mails to one address is limited", async () => {
    const { program, database } = instance();
    for (let i = 0; i < 8; i++)
      await openBrowser(program).post("/auth/request-password-reset", { email: "dev@there.test" });
    const links = () => database.sql`select 1 from people_links where kind = 'reset' and email = 'dev@there.test'`;
    await until("the links", async () => (await links()).length === 3);
  });
});

describe("where no mail can be sent", () => {
  const instance = shared({ env: { POSTHORN_SIGNUP: "open", POSTHORN_DELIVERY: "direct" } });

  it("POSTHORN_SIGNUP=open stays closed after the first person, and says why", async () => {
    const { program, database, run } = instance();
    await until("the log line", () =>
      program.output().includes("sign-up stays closed: POSTHORN_SYSTEM_FROM is not set"),
    );
    await signUpFirst(program);
    const { by, message } = await signUpState(program);
    assert.equal(by, "closed");
    assert.match(message, /cannot send mail.*sets POSTHORN_SYSTEM_FROM.*posthorn doctor/);
    const answers: unknown[] = [];
    for (const email of ["olga@there.test", "owner@there.test"]) {
      const refused = await openBrowser(program).post("/auth/sign-up", { ...newcomer, email });
      answers.push([refused.status, refused.body]);
    }
    assert.deepEqual(answers[0], answers[1], "the same for an address with an account");
    assert.deepEqual(answers[0], [403, { code: "permission_denied", message }]);
    assert.equal((await database.sql`select 1 from people`).length, 1);
    const { stdout } = await run("doctor", "--json", "--probe", "nowhere.invalid");
    const findings = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    const finding = findings.find(({ check }) => check === "sign-up");
    assert.equal(finding.result, "warn");
    assert.match(finding.fix, /POSTHORN_SYSTEM_FROM is not set/);
  });

  it("a password is reset with the operator's command", async () => {
    const { program, run } = instance();
    const browser = openBrowser(program);
    assert.equal((await browser.get("/auth/state")).body.passwordReset, "command");
    const requested = await browser.post("/auth/request-password-reset", { email: "owner@there.test" });
    assert.match(requested.body.message as string, /posthorn people reset-password/);
    const printed = await run("people", "reset-password", "owner@there.test");
    assert.equal(printed.code, 0, printed.stderr);
    assert.ok(printed.stdout.startsWith(`${program.url}/reset-password#token=`));
    const newPassword = "an altogether new one";
    const token = tokenIn(printed.stdout);
    assert.equal((await browser.post("/auth/reset-password", { token, newPassword })).status, 200);
    const email = "owner@there.test";
    assert.equal((await browser.post("/auth/sign-in", { email, password: newPassword })).status, 200);
    const unknown = await run("people", "reset-password", "nobody@there.test");
    assert.equal(unknown.code, 2);
    assert.match(unknown.stderr, /No person signed up/);
  });
});

/** Posts with a Host header, which fetch does not allow. */
async function rawPost(
  program: RunningProgram,
  path: string,
  body: object,
  headers: Record<string, string>,
): Promise<{ status: number }> {
  const text = JSON.stringify(body);
  return await new Promise((resolve, reject) => {
    const outgoing = request(
      `${program.url}${path}`,
      {
        method: "POST",
        headers: {
          "content-type": "application/json",
          "content-length": Buffer.byteLength(text),
          origin: program.url,
          ...headers,
        },
      },
      (response) => {
        response.resume();
        response.once("end", () => resolve({ status: response.statusCode! }));
      },
    );
    outgoing.once("error", reject);
    outgoing.end(text);
  });
}
