/** The endpoint behind unsubscribe links in hostile hands: strangers, link scanners, other recipients and other tenants. */
import assert from "node:assert/strict";
import { connect } from "node:net";
import { after, before, test } from "node:test";
import { makeUuid } from "../../src/postgres/ids.ts";
import { createSecrets } from "../../src/postgres/sealing.ts";
import { createUnsubscribeLinks } from "../../src/suppressions/unsubscribe/links.ts";
import { holdLock } from "../harness/held-lock.ts";
import { makeWorkspace } from "../harness/mail.ts";
import { testSecret } from "../harness/program.ts";
import { accepted, violationsOf } from "../harness/sending.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";
import { entriesOf, oneClick, post, press, publicUrl, request, sendWithLink } from "../harness/unsubscribe.ts";
import { until } from "../harness/wait.ts";

let testbed: Testbed;
before(async () => {
  testbed = await startTestbed({
    env: { POSTHORN_PUBLIC_URL: publicUrl, POSTHORN_TRUSTED_PROXIES: "127.0.0.0/8" },
  });
});
after(async () => await testbed.stop());

/** Each test comes from a client of its own, behind the trusted proxy. */
const from = (address: string) => ({ "x-forwarded-for": address, "content-type": "application/x-www-form-urlencoded" });

/** A link as this service would make it for an email of any workspace. */
async function linkFor(workspaceId: string, address: string): Promise<string> {
  const links = createUnsubscribeLinks({ sql: testbed.database.sql, secrets: createSecrets(testSecret), publicUrl });
  const emailId = makeUuid(Date.now());
  const url = await links.make({ workspaceId, emailId, address, topic: "news", domain: "sender.test", test: false });
  return url.slice(publicUrl.length);
}

test("GET, HEAD and prefetches change nothing, and the page is not cached, framed, indexed or referred", async () => {
  const { path } = await sendWithLink(testbed, "scanned@there.test", "news");
  for (const method of ["GET", "HEAD"]) {
    const headers = { "sec-purpose": "prefetch", host: "anything.test" };
    const shown = await request(testbed, `${path}?List-Unsubscribe=One-Click&action=unsubscribe`, { method, headers });
    assert.equal(shown.status, 200);
    assert.match(shown.headers.get("content-type")!, /^text\/html/);
    assert.equal(shown.headers.get("cache-control"), "no-store");
    assert.equal(shown.headers.get("referrer-policy"), "no-referrer");
    assert.equal(shown.headers.get("x-robots-tag"), "noindex, nofollow");
    assert.equal(shown.headers.get("x-frame-options"), "DENY");
    assert.equal(shown.headers.get("set-cookie"), null);
    const policy = shown.headers.get("content-security-policy")!;
    assert.match(policy, /^default-src 'none'; style-src 'sha256-[^']+'; form-action 'self'; base-uri 'none'/);
    assert.equal(shown.text.includes("s•••@there.test"), method === "GET");
    assert.doesNotMatch(shown.text, /scanned@|<script|https?:/);
  }
  for (const method of ["PUT", "DELETE", "OPTIONS"])
    assert.equal((await request(testbed, path, { method })).status, 405);
  assert.deepEqual(await entriesOf(testbed, { search: "scanned@" }), []);
});

test("a forged, shortened or changed token is refused", async () => {
  const { path } = await sendWithLink(testbed, "forged@there.test", "news");
  const token = path.slice("/unsubscribe/".length);
  const at = (i: number) => `${token.slice(0, i)}${token[i] === "A" ? "B" : "A"}${token.slice(i + 1)}`;
  const tokens = [
    at(0),
    at(1),
    at(30),
    at(60),
    at(token.length - 1),
    token.slice(0, -1),
    `${token}A`,
    "",
    "x",
    token.toUpperCase(),
  ];
  for (const wrong of [...tokens, `${token}/`, `${token}%00`, "a".repeat(600), "..%2f..%2fetc"]) {
    const answer = await post(testbed, `/unsubscribe/${wrong}`);
    assert.equal(answer.status, 404, wrong);
    assert.equal((await request(testbed, `/unsubscribe/${wrong}`)).status, 404, wrong);
  }
  assert.deepEqual(await entriesOf(testbed, { search: "forged@" }), []);
});

test("a body that is not the one of RFC 8058 changes nothing", async () => {
  const { path } = await sendWithLink(testbed, "bodies@there.test", "news");
  const cases: [body: string, type: string, status: number][] = [
    ["", "application/x-www-form-urlencoded", 400],
    ["List-Unsubscribe=One-Clack", "application/x-www-form-urlencoded", 400],
    ["list-unsubscribe=one-click", "application/x-www-form-urlencoded", 400],
    [`${oneClick}&${oneClick}`, "application/x-www-form-urlencoded", 400],
    ["action=explode", "application/x-www-form-urlencoded", 400],
    ["action=unsubscribe&topic=never-sent", "application/x-www-form-urlencoded", 400],
    [oneClick, "text/plain", 415],
    [JSON.stringify({ "List-Unsubscribe": "One-Click" }), "application/json", 415],
    ["--x\r\nnonsense", "multipart/form-data; boundary=x", 400],
    [oneClick, "multipart/form-data", 400],
    [`${oneClick}&x=${"y".repeat(1_000_000)}`, "application/x-www-form-urlencoded", 413],
  ];
  for (const [body, type, status] of cases)
    assert.equal((await post(testbed, path, body, type)).status, status, `${type} ${body.slice(0, 60)}`);
  assert.deepEqual(await entriesOf(testbed, { search: "bodies@" }), []);
});

test("a body without a length that grows is given up", async () => {
  const { path } = await sendWithLink(testbed, "slow@there.test", "news");
  const head = `POST ${path} HTTP/1.1\r\nHost: x.test\r\nContent-Type: application/x-www-form-urlencoded\r\n`;
  const answerTo = async (text: string) =>
    await new Promise<string>((resolve, reject) => {
      const socket = connect(testbed.program.ports.http, "127.0.0.1", () => socket.write(text));
      let read = "";
      socket.on("data", (chunk) => {
        read += chunk;
        if (read.includes("\r\n\r\n")) {
          socket.destroy();
          resolve(read);
        }
      });
      socket.on("error", reject);
    });
  const chunk = `4000\r\n${"z".repeat(0x4000)}\r\n`;
  assert.match(await answerTo(`${head}Transfer-Encoding: chunked\r\n\r\n${chunk}${chunk}`), /^HTTP\/1\.1 413 /);
  assert.deepEqual(await entriesOf(testbed, { search: "slow@" }), []);
});

/** Posts wrong tokens in a row on one connection, and returns how often each status was answered. */
async function guessMany(address: string, count: number): Promise<Map<number, number>> {
  const statuses = new Map<number, number>();
  let text = "";
  for (let n = 0; n < count; n++)
    text += `POST /unsubscribe/${"A".repeat(100)}${n} HTTP/1.1\r\nHost: x.test\r\nX-Forwarded-For: ${address}\r\nContent-Length: 0\r\n\r\n`;
  const socket = connect(testbed.program.ports.http, "127.0.0.1", () => socket.write(text));
  let rest = "";
  let answered = 0;
  for await (const chunk of socket) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop()!;
    for (const line of lines) {
      const [, status] = /^HTTP\/1\.1 (\d{3})/.exec(line) ?? [];
      if (!status) continue;
      statuses.set(Number(status), (statuses.get(Number(status)) ?? 0) + 1);
      answered += 1;
    }
    if (answered >= count) break;
  }
  return statuses;
}

test("a client that guesses is refused soon, and other clients and valid links at its address are served", async () => {
  const { path } = await sendWithLink(testbed, "neighbour@there.test", "news");
  const guess = (address: string, n: number) =>
    request(testbed, `/unsubscribe/${"A".repeat(100)}${n}`, { method: "POST", body: oneClick, headers: from(address) });
  const statuses = await guessMany("192.0.2.1", 10_000);
  assert.deepEqual([...statuses.keys()].sort(), [404, 429]);
  assert.ok(statuses.get(429)! > 9_000, JSON.stringify([...statuses]));
  assert.equal((await guess("192.0.2.2", 1)).status, 404);
  const served = await request(testbed, path, { method: "POST", body: oneClick, headers: from("192.0.2.1") });
  assert.equal(served.status, 200);
});

test("many recipients behind one address are all served, and one link is not used without end", async () => {
  const paths: string[] = [];
  for (let i = 0; i < 40; i++) paths.push((await sendWithLink(testbed, `gmail${i}@there.test`, "news")).path);
  const click = (path: string) =>
    request(testbed, path, { method: "POST", body: oneClick, headers: from("198.51.100.7") });
  const answers = await Promise.all(paths.map(click));
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
  assert.equal((await entriesOf(testbed, { search: "gmail" })).length, 40);
  const again = await Promise.all(Array.from({ length: 60 }, () => click(paths[0]!)));
  const refused = again.find(({ status }) => status === 429)!;
  assert.ok(Number(refused.headers.get("retry-after")) >= 1);
  assert.equal((await click(paths[1]!)).status, 200);
});

test("a link reaches its own recipient and workspace only", async () => {
  await sendWithLink(testbed, "mine@there.test", "private-topic");
  const { path } = await sendWithLink(testbed, "yours@there.test", "news");
  const page = await request(testbed, path);
  assert.doesNotMatch(page.text, /private-topic|mine@/);
  assert.equal((await press(testbed, path, "unsubscribe", "private-topic")).status, 400);
  await press(testbed, path, "unsubscribe-all");
  assert.deepEqual(await entriesOf(testbed, { search: "mine@" }), []);

  // The same address in another workspace: its entry is not seen here, and the reverse.
  const otherId = await makeWorkspace(testbed.database.sql);
  const theirs = await linkFor(otherId, "mine@there.test");
  assert.doesNotMatch((await request(testbed, theirs)).text, /private-topic/);
  assert.equal((await post(testbed, theirs)).status, 200);
  assert.deepEqual(await entriesOf(testbed, { search: "mine@" }), []);
  await sendWithLink(testbed, "mine@there.test", "news");
  const rows = await testbed.database.sql`select address, topic from unsubscribes where workspace_id = ${otherId}`;
  assert.deepEqual([...rows], [{ address: "mine@there.test", topic: "news" }]);
});

test("pages of slow statements leave connections to other calls", async () => {
  const paths: string[] = [];
  for (const workspaceId of [await makeWorkspace(testbed.database.sql), await makeWorkspace(testbed.database.sql)])
    for (let n = 0; n < 8; n++) paths.push(await linkFor(workspaceId, `flood${n}@there.test`));
  const lock = await holdLock(testbed.database.url, "lock table recipients, unsubscribes in access exclusive mode");
  const countWaiting = async () =>
    (
      await testbed.database.sql`
        select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
        and (query like '%with sent as%' or query like '%select topic from unsubscribes%')`
    ).length;
  const pages = paths.map((path) => request(testbed, path));
  await until("the share to be used up", async () => (await countWaiting()) >= 6 || undefined);
  assert.equal((await testbed.call("DomainService/ListDomains", {})).status, 200);
  assert.equal(await countWaiting(), 6);
  await lock.release();
  assert.deepEqual(new Set((await Promise.all(pages)).map(({ status }) => status)), new Set([200]));
});

test("the link of a deleted workspace says so, and writes nothing", async () => {
  const path = await linkFor(makeUuid(Date.now()), "gone@there.test");
  const page = await request(testbed, path);
  assert.deepEqual([page.status, /no longer uses this service/.test(page.text)], [410, true]);
  assert.equal((await post(testbed, path)).status, 410);
  assert.equal((await press(testbed, path, "unsubscribe-all")).status, 410);
  const rows = await testbed.database.sql`select 1 from unsubscribes where address = 'gone@there.test'`;
  assert.equal(rows.length, 0);
});

test("SendEmail names every mistake with unsubscribe", async () => {
  const refused = async (more: Record<string, unknown>) => {
    const { body } = await testbed.send({ unsubscribe: { topic: "news" }, ...more });
    assert.equal(body.code, "invalid_argument", JSON.stringify(body));
    return violationsOf(body)
      .map(({ field, description }) => `${field}: ${description}`)
      .join("\n");
  };
  assert.match(await refused({ cc: ["b@there.test"] }), /unsubscribe: .*2; send one email to each with SendEmailBatch/);
  assert.match(await refused({ bcc: ["a@there.test"] }), /exactly one recipient/);
  for (const topic of ["", "News", "a b", "*", "-x", "x".repeat(65), "ä", "a\r\nb"])
    assert.match(await refused({ unsubscribe: { topic } }), /^unsubscribe\.topic: /, topic);
  for (const name of ["List-Unsubscribe", "list-unsubscribe-post"])
    assert.match(await refused({ headers: { [name]: "<https://x.test/>" } }), /cannot be combined with unsubscribe/);
  await accepted(testbed, { unsubscribe: { topic: "a" }, to: ["short@there.test"] });
});

test("a recipient who goes back and forth fills the event log only slowly", async () => {
  const { path } = await sendWithLink(testbed, "toggle@there.test", "news");
  const statuses: number[] = [];
  for (let i = 0; i < 24; i++)
    statuses.push((await press(testbed, path, i % 2 ? "subscribe" : "unsubscribe", "news")).status);
  assert.deepEqual(new Set(statuses.slice(0, 20)), new Set([200]));
  assert.deepEqual(new Set(statuses.slice(20)), new Set([429]));
  const events = (await testbed.events()).filter(({ event }) => event.type === "email.unsubscribed");
  const written = events.filter(
    ({ event }) => (event.unsubscribed as { recipients: string[] }).recipients[0] === "toggle@there.test",
  );
  assert.equal(written.length, 20);
  // A click in the mail program still counts.
  assert.equal((await post(testbed, path)).status, 200);
});
