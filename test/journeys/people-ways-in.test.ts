/** Who may sign up where: off this machine, behind a proxy, in an open and in a closed house; and the way back in after a lost password. */
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
import { until } from "../harness/wait.ts";
import { startWorld, type World } from "../harness/world.ts";

type Settings = { env?: Record<string, string>; example?: boolean };

async function start(t: { after(end: () => Promise<void>): void }, { env = {}, example }: Settings = {}) {
  const database = await createTestDatabase({ example });
  t.after(database.drop);
  const program = await startProgram({ databaseUrl: database.url, env });
  t.after(program.remove);
  const run = (...args: string[]) => runCommand(args, { dataDir: program.dataDir, databaseUrl: database.url, env });
  return { program, database, run };
}

/** One program for all that its settings allow. */
function shared(settings: Settings): () => Awaited<ReturnType<typeof start>> {
  let house: Awaited<ReturnType<typeof start>>;
  const ends: (() => Promise<void>)[] = [];
  before(async () => {
    house = await start({ after: (end) => void ends.unshift(end) }, settings);
  });
  after(async () => {
    for (const end of ends) await end();
  });
  return () => house;
}

const newcomer = { email: "olga@there.test", name: "Olga", password };

const signUpState = async (program: RunningProgram) =>
  (await openBrowser(program).get("/auth/state")).body.signUp as { by: string; first: boolean };

describe("the first person", () => {
  it("off loopback needs the link, which the output does not hold, and it is good once", async (t) => {
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
    assert.equal([one, two].filter(({ status }) => status === 200).length, 1, "two at once: one of them is first");
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
    assert.notEqual((await elsewhere.get("/auth/state")).body.person, null, "a session is good on every node");
  });

  it("behind a proxy on the same machine needs the link too", async (t) => {
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
      "cookies are for https alone",
    );
    const { workspaces } = done.body as Session;
    const keys = await browser.rpc("KeyService/ListKeys", {}, workspaces[0]!.id, fromOutside);
    assert.equal(keys.status, 200, JSON.stringify(keys.body));
  });
});

describe("POSTHORN_SIGNUP=closed", () => {
  it("lets in nobody but the invited, whom the command line can invite", async (t) => {
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
    assert.match(listed.stdout, /olga@there\.test +Olga +\S+ +default \(owner\)/);
    assert.equal((await run("people", "invite", "olga@there.test")).code, 1);
    assert.equal((await run("people", "invite", "nonsense")).code, 2);
    assert.equal((await run("people", "invite", "x@there.test", "--role", "king")).code, 2);
  });
});

describe("mail that really leaves", () => {
  let world: World;
  before(async () => {
    const from = "Our Posthorn <no-reply@sender.test>";
    world = await startWorld({ env: { POSTHORN_SIGNUP: "open", POSTHORN_SYSTEM_FROM: from } });
  });
  after(async () => await world?.stop());

  const mailTo = async (address: string, subject: RegExp) =>
    await until(`a mail to ${address}`, async () => {
      const mails = await Promise.all(world.sink.received(address).map(({ data }) => PostalMime.parse(data)));
      return mails.find((mail) => subject.test(mail.subject ?? ""));
    });

  it("POSTHORN_SIGNUP=open proves the address by mail, with one answer for known and unknown ones", async () => {
    const { program } = world;
    await signUpFirst(program);
    assert.deepEqual(await signUpState(program).then(({ by, first }) => [by, first]), ["mail", false]);
    const ask = async (email: string) => {
      const { status, body } = await openBrowser(program).post("/auth/sign-up", { email });
      return [status, body];
    };
    assert.deepEqual(await ask("nina@there.test"), await ask("owner@there.test"));
    await mailTo("owner@there.test", /have a Posthorn account already/);
    const token = tokenIn((await mailTo("nina@there.test", /^Sign up/)).text ?? "");
    const browser = openBrowser(program);
    assert.deepEqual((await browser.post("/auth/link", { token })).body, { kind: "sign_up", email: "nina@there.test" });
    // The address is the one that was proved, whatever the form says.
    const done = await browser.post("/auth/sign-up", { token, email: "owner@there.test", name: "Nina", password });
    assert.equal(done.status, 200, JSON.stringify(done.body));
    const { person, workspaces } = done.body as Session;
    assert.deepEqual([person.email, workspaces], ["nina@there.test", []]);
    const made = await browser.rpc("WorkspaceService/CreateWorkspace", { name: "Nina's" });
    const id = (made.body.workspace as { id: string }).id;
    assert.equal((await browser.rpc("KeyService/ListKeys", {}, id)).status, 200);
    assert.equal((await browser.post("/auth/sign-up", { token, name: "Nina", password })).status, 404, "used up");
  });

  it("a lost password is set anew by one, from the sender that the operator named", async () => {
    const browser = openBrowser(world.program);
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
  const house = shared({ example: true });

  it("the first person is not anybody whom a proxy or a strange host name brings", async () => {
    const { program } = house();
    const port = program.ports.http;
    const ways: Record<string, string>[] = [
      { "x-forwarded-for": "203.0.113.9" },
      { via: "1.1 proxy" },
      // A name of an attacker's that leads to 127.0.0.1: its page passes for one of the same origin.
      { host: `rebound.example:${port}`, origin: `http://rebound.example:${port}` },
    ];
    for (const headers of ways) {
      const { status } = await rawPost(program, "/auth/sign-up", newcomer, headers);
      assert.equal(status, 403, JSON.stringify(headers));
    }
    await signUpFirst(program);
  });

  it("a lost password is set anew by a link in a mail that nobody reads by the API; every session ends", async () => {
    const { program } = house();
    const browserOfOwner = openBrowser(program);
    const signedIn = await browserOfOwner.post("/auth/sign-in", { email: "owner@there.test", password });
    const owner = { browser: browserOfOwner, workspace: (signedIn.body as Session).workspaces[0]!.id };
    const dev = await joinAs(owner, program, { email: "dev@there.test", role: "developer" });
    const asked = await openBrowser(program).post("/auth/request-password-reset", { email: "Owner@there.test" });
    assert.equal(asked.status, 200);
    const text = await capturedMail(program, "owner@there.test", /new password/);
    assert.ok(text.includes(`${program.url}/reset-password#token=`), text);
    const token = tokenIn(text);

    // A colleague who may read the workspace's mail must not thereby become its owner.
    const list = await dev.rpc("EmailService/ListEmails", { recipient: "owner@there.test" }, owner.workspace);
    const [mail] = list.body.data as { id: string; from: string }[];
    assert.match(mail!.from, /posthorn@example\.test/);
    for (const answer of [
      await dev.rpc("EmailService/GetEmailContent", { id: mail!.id }, owner.workspace),
      await program.call("EmailService/GetEmailContent", { id: mail!.id }),
    ])
      assert.equal(answer.body.code, "permission_denied");
    assert.ok(!JSON.stringify(list.body).includes(token));

    const browser = openBrowser(program);
    assert.deepEqual((await browser.post("/auth/link", { token })).body, { kind: "reset", email: "owner@there.test" });
    assert.equal((await browser.post("/auth/sign-up", { ...newcomer, token })).status, 404, "not a way to sign up");
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

  it("links for lost passwords do not flood a mailbox", async () => {
    const { program, database } = house();
    for (let i = 0; i < 8; i++)
      await openBrowser(program).post("/auth/request-password-reset", { email: "dev@there.test" });
    const links = () => database.sql`select 1 from people_links where kind = 'reset' and email = 'dev@there.test'`;
    await until("the links", async () => (await links()).length === 3);
  });
});

describe("where no mail can be sent", () => {
  const house = shared({ env: { POSTHORN_SIGNUP: "open", POSTHORN_DELIVERY: "direct" } });

  it("POSTHORN_SIGNUP=open takes the form", async () => {
    const { program } = house();
    await signUpFirst(program);
    assert.equal((await signUpState(program)).by, "form");
    assert.equal((await openBrowser(program).post("/auth/sign-up", newcomer)).status, 200);
    assert.equal((await openBrowser(program).post("/auth/sign-up", newcomer)).body.code, "already_exists");
  });

  it("a lost password is set anew by the operator's command", async () => {
    const { program, run } = house();
    const browser = openBrowser(program);
    assert.equal((await browser.get("/auth/state")).body.passwordReset, "command");
    const asked = await browser.post("/auth/request-password-reset", { email: "owner@there.test" });
    assert.match(asked.body.message as string, /posthorn people reset-password/);
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
    assert.match(unknown.stderr, /Nobody signed up/);
  });
});

/** With a Host header of the test's own, which fetch does not allow. */
async function rawPost(
  program: RunningProgram,
  path: string,
  body: object,
  headers: Record<string, string>,
): Promise<{ status: number }> {
  const text = JSON.stringify(body);
  return await new Promise((resolve, reject) => {
    const asked = request(
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
    asked.once("error", reject);
    asked.end(text);
  });
}
