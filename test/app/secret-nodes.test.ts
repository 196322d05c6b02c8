/** The secret is replaced on two nodes while mail flows, one restart after another, and then revoked. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { after, before, describe, it } from "node:test";
import { sessionCookieName, signToken } from "../../src/people/cookies.ts";
import { createSecrets } from "../../src/postgres/sealing.ts";
import { deliverInbound, enableReceiving, type InboundTestbed } from "../harness/inbound.ts";
import { type Load, startLoad, untilSettled } from "../harness/ledger.ts";
import { type Browser, firstLink, openBrowser, password, signUpFirst, tokenIn } from "../harness/people.ts";
import { newDataDir, type RunningProgram, runCommand, testSecret } from "../harness/program.ts";
import { bothSecrets, countSealed, idOf, newSecret, openAll, runSecret } from "../harness/secrets.ts";
import { accepted, eventsOf, untilFinished } from "../harness/sending.ts";
import { senderDomain, startTestbed } from "../harness/testbed.ts";
import { until } from "../harness/wait.ts";

const report = readFileSync(new URL("../corpus/inbound/dsn-postfix-unknown.eml", import.meta.url), "utf8");

describe("the replacement of the secret on two nodes", () => {
  let testbed: InboundTestbed;
  let load: Load;
  let commandDir: string;
  const nodes: RunningProgram[] = [];
  let owner: { browser: Browser; workspace: string };
  let firstToken: string;
  /** An email that was sent before the replacement, by recipient. */
  const sentBefore = new Map<string, { id: string; path: string }>();
  let plain: string[];

  before(async () => {
    testbed = Object.assign(await startTestbed(), { smtpPort: 0 });
    await enableReceiving(testbed, senderDomain);
    commandDir = await newDataDir();
    nodes.push(testbed.program, await testbed.startNode());
    // Calls alternate between the nodes that run.
    let turn = 0;
    testbed.call = (...args) => nodes[turn++ % nodes.length]!.call(...args);
    firstToken = tokenIn(await firstLink(nodes[0]!));
    for (const to of ["x1@there.test", "x2@there.test"]) sentBefore.set(to, await sendTo(to));
    for (let i = 0; i < 3; i++) await createWebhook(`https://example.com/${i}`);
    plain = await openAll(testbed.database.sql, createSecrets(testSecret));
    assert.ok(plain.length >= 4);
    load = startLoad(testbed, { name: "secret", senders: 2, pauseMs: 50 });
    await load.untilDelivering();
  });
  after(async () => {
    load?.giveUp();
    await testbed?.stop();
    await rm(commandDir, { recursive: true, force: true });
  });

  const command = (env: Record<string, string>) => ({ dataDir: commandDir, databaseUrl: testbed.database.url, env });
  const refused = async (args: string[], env: Record<string, string>) => {
    const { code, stderr } = await runCommand(["secret", ...args], command(env));
    assert.equal(code, 1, stderr);
    return stderr;
  };
  const refusedStart = async (env: Record<string, string>) => {
    const { code, stderr } = await runCommand(["start"], command({ ...testbed.nodeEnv, ...env }));
    assert.equal(code, 1);
    for (const secret of [testSecret, newSecret]) assert.ok(!stderr.includes(secret), "no secret in the message");
    return stderr;
  };

  /** Sends an email, and returns its id and the return path that the receiver saw. */
  async function sendTo(to: string): Promise<{ id: string; path: string }> {
    const id = await accepted(testbed, { to: [to] });
    await untilFinished(testbed, id);
    const [copy] = testbed.sink.received(to);
    return { id, path: copy!.from };
  }

  async function createWebhook(url: string): Promise<void> {
    const { status, body } = await testbed.call("WebhookService/CreateWebhook", { url });
    assert.equal(status, 200, JSON.stringify(body));
  }

  /** Whether a bounce to the return path of an email counts. */
  async function bounces({ id, path }: { id: string; path: string }, node: RunningProgram): Promise<boolean> {
    const raw = report.replaceAll("gone@there.test", "x@there.test");
    const port = node.ports.smtp!;
    const reply = await deliverInbound(testbed, { from: "", to: path, raw, port }).catch(
      (error: Error) => error.message,
    );
    const counted = (await eventsOf(testbed, id)).some(({ type }) => type === "email.bounced");
    assert.equal(/\b250\b/.test(reply), counted, reply);
    return counted;
  }

  async function restart(at: number, env: Record<string, string>): Promise<void> {
    const [node] = nodes.splice(at, 1);
    assert.equal(await node!.stop(), 0);
    nodes.splice(at, 0, await testbed.startNode(env));
    await load.untilAcknowledged(5);
  }

  /** A browser with the cookies of another one, at another node. */
  function browserAt(node: RunningProgram, cookies: ReadonlyMap<string, string>): Browser {
    const browser = openBrowser(node);
    for (const [name, value] of cookies) browser.cookies.set(name, value);
    return browser;
  }
  const isSignedIn = async (node: RunningProgram, cookies: ReadonlyMap<string, string>) =>
    (await browserAt(node, cookies).get("/auth/state")).body.person !== null;

  it("does not begin before a new secret is prepared", async () => {
    assert.match(
      await refused(["rotate"], {}),
      /is the one that this database uses.*POSTHORN_SECRET to the new secret and POSTHORN_SECRET_PREVIOUS/,
    );
    assert.match(await refused(["rotate", "--new"], {}), /POSTHORN_SECRET is set/);
    assert.match(
      await refused(["rotate"], { POSTHORN_SECRET: newSecret }),
      /To replace the secret, set POSTHORN_SECRET_PREVIOUS/,
    );
    assert.match(await refusedStart({ POSTHORN_SECRET: newSecret }), /not the one this database was created with/);
    assert.match(await runSecret(["status"], command({})), /^Secret [0-9a-f]{12}: it was never replaced\.\n$/);
  });

  it("does not begin while a node has only the old secret, and until then every node uses that one", async () => {
    await restart(0, bothSecrets);
    const stderr = await refused(["rotate"], bothSecrets);
    assert.match(stderr, /These nodes do not have the new secret\. Set POSTHORN_SECRET and POSTHORN_SECRET_PREVIOUS/);
    assert.ok(stderr.includes(`process ${nodes[1]!.pid} `) && !stderr.includes(`process ${nodes[0]!.pid} `), stderr);
    for (let i = 3; i < 5; i++) await createWebhook(`https://example.com/${i}`);
    const old = createSecrets(testSecret);
    plain = await openAll(testbed.database.sql, old);
    assert.match(
      await runSecret(["status"], command(bothSecrets)),
      /a new one is prepared.*\n.*\n.*posthorn secret rotate/,
    );
  });

  it("seals everything anew while both nodes send mail", async () => {
    await restart(1, bothSecrets);
    owner = await signUpFirst(nodes[0]!);
    assert.equal(firstToken, tokenIn(await firstLink(nodes[1]!)), "the same link before the replacement");
    const out = await runSecret(["rotate"], command(bothSecrets));
    assert.match(
      out,
      /^The new secret is in use\. Nothing is encrypted with the previous one any more\.\nKeep POSTHORN_SECRET_PREVIOUS on every node until \d{4}-\d\d-\d\d, then remove it/,
    );
    const { sql } = testbed.database;
    const alone = createSecrets(newSecret);
    assert.deepEqual((await openAll(sql, alone)).sort(), plain.sort(), "the same content, without the old secret");
    await load.untilAcknowledged(10);
    await load.untilDelivering();
    await createWebhook("https://example.com/after");
    await openAll(sql, alone);
    assert.equal(await countSealed(sql, "s1."), 0);
  });

  it("keeps tokens of the old secret valid on every node", async () => {
    const cookies = new Map(owner.browser.cookies);
    for (const node of nodes) assert.ok(await isSignedIn(node, cookies));
    // Renewed with the new secret, at once.
    const renewed = browserAt(nodes[0]!, cookies);
    await renewed.get("/auth/state");
    assert.match(
      renewed.lastSet.join(),
      /^posthorn\.session_token=.*; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Strict$/,
    );
    assert.notDeepEqual(renewed.cookies, cookies);
    await renewed.get("/auth/state");
    assert.deepEqual(renewed.lastSet, []);
    for (const node of nodes) assert.ok(await isSignedIn(node, renewed.cookies));
    assert.ok(await bounces(sentBefore.get("x1@there.test")!, nodes[1]!));
    // Signing out works with a cookie of the old secret.
    const other = browserAt(nodes[1]!, new Map());
    await other.post("/auth/sign-in", { email: "owner@there.test", password });
    assert.equal((await browserAt(nodes[1]!, cookies).post("/auth/sign-out")).status, 200);
    assert.ok(!(await isSignedIn(nodes[0]!, cookies)), "signed out");
    owner = { ...owner, browser: other };
  });

  it("does nothing when it is repeated, and names the day from which the old secret is not needed", async () => {
    const standing = JSON.parse(await runSecret(["rotate", "--json"], command(bothSecrets)));
    assert.equal(standing.stage, "valid");
    assert.deepEqual(standing.secrets, [idOf(newSecret), idOf(testSecret)]);
    const { sealedAt, validUntil } = standing.replacement as Record<string, string>;
    const days = (Date.parse(validUntil!) - Date.parse(sealedAt!)) / 86_400_000;
    // 90 days of history, deleted by the week, after two days of attempts, and a day for the work itself.
    assert.equal(Math.round(days), 100);
    const third = {
      POSTHORN_SECRET: "the third secret of this database, too early",
      POSTHORN_SECRET_PREVIOUS: newSecret,
    };
    assert.match(await refused(["rotate"], third), new RegExp(`in use until ${validUntil!.slice(0, 10)}.*--revoke`));
  });

  it("lets nodes start only with secrets that fit", async () => {
    assert.match(await refusedStart({ POSTHORN_SECRET: testSecret }), /POSTHORN_SECRET is a secret that was replaced/);
    const swapped = { POSTHORN_SECRET: testSecret, POSTHORN_SECRET_PREVIOUS: newSecret };
    assert.match(await refusedStart(swapped), /POSTHORN_SECRET is a secret that was replaced/);
    await restart(0, { POSTHORN_SECRET: newSecret });
    assert.match(nodes[0]!.output(), /this node does not accept them: set POSTHORN_SECRET_PREVIOUS/);
    await restart(0, bothSecrets);
  });

  it("refuses a node without the old secret while a stored secret is sealed with it", async () => {
    const { sql } = testbed.database;
    const [row] = await sql<
      { id: string; sealed: string }[]
    >`select id, secret_sealed as sealed from webhooks order by id limit 1`;
    const context = `webhook ${row!.id}`;
    const text = createSecrets(newSecret).open(row!.sealed, context);
    await sql`update webhooks set secret_sealed = ${createSecrets(testSecret).seal(text, context)} where id = ${row!.id}`;
    assert.match(
      await refusedStart({ POSTHORN_SECRET: newSecret }),
      /1 stored secrets are sealed with the secret before this one/,
    );
    assert.match(
      await runSecret(["status"], command(bothSecrets)),
      /sealed with the previous one.*[\s\S]*posthorn secret rotate/,
    );
    const third = { POSTHORN_SECRET: "a third secret, which would lose that one", POSTHORN_SECRET_PREVIOUS: newSecret };
    assert.match(await refused(["rotate", "--revoke"], third), /1 stored secrets .* Finish that replacement first/);
    await runSecret(["rotate"], command(bothSecrets));
    await openAll(sql, createSecrets(newSecret));
  });

  it("ends tokens of the old secret at once when it is revoked", async () => {
    // Signed in with the old secret's cookie and a row that still exists.
    const cookies = new Map(owner.browser.cookies);
    for (const node of nodes) assert.ok(await isSignedIn(node, cookies));
    const out = await runSecret(["rotate", "--revoke"], command(bothSecrets));
    assert.match(out, /everyone must sign in again\.\nRemove POSTHORN_SECRET_PREVIOUS from every node/);
    for (const node of nodes) assert.ok(!(await isSignedIn(node, cookies)));
    // Nodes read the state every two seconds.
    const late = sentBefore.get("x2@there.test")!;
    for (const node of nodes)
      await until("the old return path to be refused", async () => {
        const raw = "From: a@there.test\r\n\r\nHello\r\n";
        return await deliverInbound(testbed, { from: "", to: late.path, raw, port: node.ports.smtp! }).then(
          () => false,
          (error: Error) => /550/.test(error.message),
        );
      });
    const { path, id } = await sendTo("x3@there.test");
    assert.ok(await bounces({ path, id }, nodes[0]!), "paths of the new secret are valid");
    const browser = openBrowser(nodes[1]!);
    assert.equal((await browser.post("/auth/sign-in", { email: "owner@there.test", password })).status, 200);
    for (const node of nodes) assert.ok(await isSignedIn(node, browser.cookies));
    // A thief with the old secret and a copy of the database makes a cookie for a new session.
    const name = sessionCookieName(false);
    const [token] = decodeURIComponent(browser.cookies.get(name)!).split(".");
    const key = createSecrets(testSecret).derive("session cookies").toString("base64url");
    const forged = encodeURIComponent(signToken(token!, key));
    for (const node of nodes) assert.ok(!(await isSignedIn(node, new Map([[name, forged!]]))), "a forged cookie");
  });

  it("works with the new secret alone from then on, and no email was lost or sent twice", async () => {
    await restart(0, { POSTHORN_SECRET: newSecret });
    await restart(1, { POSTHORN_SECRET: newSecret });
    assert.match(
      await runSecret(["status"], command({ POSTHORN_SECRET: newSecret })),
      /: replaced on \d{4}-\d\d-\d\d\.\n$/,
    );
    await load.untilDelivering();
    await load.stop();
    assert.deepEqual(load.wrong, []);
    await untilSettled(testbed);
    assert.ok(load.ledger.size > 50);
    for (const { to } of load.ledger.values())
      for (const address of to) assert.equal(testbed.sink.received(address).length, 1, address);
  });
});
