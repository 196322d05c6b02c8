/** With open sign-up, a stranger can make this service send mail. It carries nothing of the stranger's choice, and there is little of it. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import PostalMime from "postal-mime";
import { type Browser, openBrowser, password, signUpFirst, tokenIn } from "../harness/people.ts";
import type { Answer, RunningProgram } from "../harness/program.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";
import { until } from "../harness/wait.ts";

const phishing = "URGENT your account is locked, unlock at http://evil.example/login";

describe("mail that strangers cause", () => {
  let testbed: Testbed;
  let program: RunningProgram;
  let stranger: { browser: Browser; workspace: string };
  before(async () => {
    const env = {
      POSTHORN_SIGNUP: "open",
      POSTHORN_SYSTEM_FROM: "Our Posthorn <no-reply@sender.test>",
      POSTHORN_TRUSTED_PROXIES: "127.0.0.1/32",
    };
    testbed = await startTestbed({ env });
    program = testbed.program;
    await signUpFirst(program);
    stranger = await signUpOpenly("mallory@there.test", "evil.example");
  });
  after(async () => await testbed?.stop());

  const mailsTo = (address: string) =>
    Promise.all(testbed.sink.received(address).map(({ data }) => PostalMime.parse(data)));
  const mailTo = (address: string, subject: RegExp) =>
    until(`a mail to ${address}`, async () =>
      (await mailsTo(address)).find((mail) => subject.test(mail.subject ?? "")),
    );
  const counted = async (email: string) =>
    (await testbed.database.sql`select 1 from account_mail where email = ${email}`).length;

  /** Signs up with a link by mail and creates a workspace with the name of an attack. */
  async function signUpOpenly(email: string, name: string): Promise<{ browser: Browser; workspace: string }> {
    const browser = openBrowser(program);
    assert.equal((await browser.post("/auth/sign-up", { email })).status, 202);
    const token = tokenIn((await mailTo(email, /^Sign up/)).text ?? "");
    const done = await browser.post("/auth/sign-up", { token, name, password });
    assert.equal(done.status, 200, JSON.stringify(done.body));
    const created = await browser.rpc("WorkspaceService/CreateWorkspace", { name: phishing });
    return { browser, workspace: (created.body.workspace as { id: string }).id };
  }

  const invite = (email: string, by = stranger): Promise<Answer> =>
    by.browser.rpc("WorkspaceService/InviteMember", { email, role: "MEMBER_ROLE_VIEWER" }, by.workspace);

  it("forty invitations to one address become three mails without a word of the stranger", async () => {
    const node = await testbed.startNode();
    const second = { ...stranger, browser: openBrowser(node) };
    for (const [name, value] of stranger.browser.cookies) second.browser.cookies.set(name, value);
    // Concurrently and on two nodes: a count in memory, or one that is read before it is written, would let more pass.
    const answers: Answer[] = [];
    while (answers.length < 40)
      answers.push(
        ...(await Promise.all([stranger, second, stranger, second].map((by) => invite("victim@there.test", by)))),
      );
    await node.remove();
    const sent = answers.filter(({ body }) => /was sent to/.test(body.message as string));
    assert.equal(sent.length, 3);
    for (const { status, body } of answers) {
      const isHonest = status === 200 ? /was sent to|no further mail was sent/ : /Too many attempts/;
      assert.match(body.message as string, isHonest);
    }
    const mails = await until("three mails", async () => {
      const received = await mailsTo("victim@there.test");
      return received.length >= 3 ? received : undefined;
    });
    assert.equal(mails.length, 3);
    for (const mail of mails) {
      assert.equal(mail.subject, "You are invited to Posthorn");
      assert.doesNotMatch(mail.html!, /URGENT|evil/);
      assert.equal(mail.html!.match(/href=/g)?.length, 1);
      assert.match(
        mail.text!,
        /^An owner invites you to a workspace on Posthorn, as viewer\.\n\nJoin here within 7 days:\n/,
      );
      assert.doesNotMatch(mail.text!, /URGENT|evil/);
      const [link, ...more] = mail.text!.match(/\w+:\/\/[^#\s]+/g) ?? [];
      assert.ok(
        [program.url, node.url].some((url) => link === `${url}/invitation`),
        link,
      );
      assert.deepEqual(more, []);
    }
    assert.equal(await counted("victim@there.test"), 3);
  });

  it("the count of a mailbox goes by service time, and a day has five invitations", async () => {
    const { sql } = testbed.database;
    const other = await signUpOpenly("second@there.test", "Second");
    const isSent = async () => /was sent to/.test((await invite("victim@there.test", other)).body.message as string);
    assert.equal(await isSent(), false, "the limit of an address counts all inviters");
    for (const expected of [true, true, false]) {
      await sql`update account_mail set counted_at = counted_at - interval '2 hours' where email = 'victim@there.test'`;
      assert.equal(await isSent(), expected);
    }
    await sql`update account_mail set counted_at = counted_at - interval '1 day' where email = 'victim@there.test'`;
    assert.equal(await isSent(), true);
  });

  it("one person sends thirty invitations a day, and hears when to come back", async () => {
    const { sql } = testbed.database;
    const other = await signUpOpenly("third@there.test", "Third");
    await sql`insert into account_mail (id, kind, email, person_id, counted_at)
      select gen_random_uuid(), 'invitation', 'x' || i || '@there.test', p.id, service_time() - interval '20 hours'
      from generate_series(1, 30) i, people p where p.email = 'third@there.test'`;
    const refused = await invite("next@there.test", other);
    assert.deepEqual([refused.status, refused.body.code], [429, "resource_exhausted"]);
    const waitSeconds = Number(refused.headers.get("retry-after"));
    assert.ok(waitSeconds > 3 * 3600 && waitSeconds <= 4 * 3600, `${waitSeconds} s`);
    assert.equal(await counted("next@there.test"), 0);
    assert.equal((await sql`select 1 from members where email = 'next@there.test'`).length, 0, "nothing is stored");
    assert.equal((await invite("next@there.test")).status, 200, "another person may");
  });

  it("an address gets three sign-up mails and three reset mails in an hour, and each answer is the same", async () => {
    const { sql } = testbed.database;
    const address = (i: number) => ({ "x-forwarded-for": `203.0.113.${i}` });
    for (const [path, email] of [
      ["/auth/sign-up", "new@there.test"],
      ["/auth/sign-up", "owner@there.test"],
      ["/auth/request-password-reset", "owner@there.test"],
      ["/auth/request-password-reset", "nobody@there.test"],
    ] as const) {
      const kind = path === "/auth/sign-up" ? "sign_up" : "reset";
      const answers = new Set<string>();
      for (let i = 0; i < 8; i++) {
        const { status, body } = await openBrowser(program).post(path, { email }, address(i));
        answers.add(JSON.stringify([status, body]));
      }
      assert.equal(answers.size, 1, [...answers].join());
      const rows = () => sql`select 1 from account_mail where email = ${email} and kind = ${kind}`;
      await until(`three rows of ${kind} for ${email}`, async () => (await rows()).length === 3);
    }
    const mails = await until("the mails to the owner", async () => {
      const received = await mailsTo("owner@there.test");
      return received.length >= 6 ? received : undefined;
    });
    assert.equal(mails.filter(({ subject }) => subject === "You already have a Posthorn account").length, 3);
    assert.deepEqual(await mailsTo("nobody@there.test"), []);
  });

  it("a client that caused a hundred mails today is refused, for known and unknown addresses alike", async () => {
    const { sql } = testbed.database;
    await sql`insert into account_mail (id, kind, email, client, counted_at)
      select gen_random_uuid(), 'sign_up', 'y' || i || '@there.test', '2001:db8:0:100::/56', service_time() - interval '1 hour'
      from generate_series(1, 100) i`;
    const answers = new Set<string>();
    for (const [path, email] of [
      ["/auth/sign-up", "new2@there.test"],
      ["/auth/sign-up", "owner@there.test"],
      ["/auth/request-password-reset", "owner@there.test"],
      ["/auth/request-password-reset", "nobody2@there.test"],
    ] as const) {
      const from = { "x-forwarded-for": `2001:db8:0:1${path.length % 10}0::${email.length}` };
      const answer = await openBrowser(program).post(path, { email }, from);
      assert.ok(Number(answer.headers.get("retry-after")) > 0, JSON.stringify(answer.body));
      answers.add(JSON.stringify([answer.status, answer.body.code]));
    }
    assert.deepEqual([...answers], ['[429,"resource_exhausted"]']);
    const elsewhere = { "x-forwarded-for": "2001:db8:0:200::1" };
    const other = await openBrowser(program).post("/auth/sign-up", { email: "new2@there.test" }, elsewhere);
    assert.equal(other.status, 202);
  });

  it("the link that the inviter sees creates no account and does not tell whether there is one", async () => {
    const seen: unknown[] = [];
    for (const email of ["fresh@there.test", "owner@there.test"]) {
      const invited = await invite(email);
      const token = tokenIn(invited.body.inviteUrl as string);
      const link = (await openBrowser(program).post("/auth/link", { token })).body;
      const taken = await openBrowser(program).post("/auth/sign-up", { token, name: "Mallory", password });
      seen.push([{ ...link, email: "" }, taken.status, taken.body]);
      assert.equal(taken.status, 403, "the address is not proved");
      assert.match(taken.body.message as string, /Open the link in the invitation email/);
    }
    assert.deepEqual(seen[0], seen[1]);
    const mailed = tokenIn((await mailTo("fresh@there.test", /^You are invited/)).text ?? "");
    const fresh = openBrowser(program);
    assert.equal((await fresh.post("/auth/link", { token: mailed })).body.hasAccount, false);
    const joined = await fresh.post("/auth/sign-up", { token: mailed, name: "Fresh", password });
    assert.equal(joined.status, 200, JSON.stringify(joined.body));
    // A person who has an account accepts with either link.
    const shown = tokenIn((await invite("second@there.test")).body.inviteUrl as string);
    const second = openBrowser(program);
    await second.post("/auth/sign-in", { email: "second@there.test", password });
    assert.equal((await second.post("/auth/accept-invitation", { token: shown })).status, 200);
  });
});
