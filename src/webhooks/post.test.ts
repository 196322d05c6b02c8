import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { type ScriptedDns, startScriptedDns } from "../../test/harness/dns.ts";
import { type Reaction, type Receiver, startReceiver } from "../../test/harness/receiver.ts";
import { testCertificate } from "../../test/harness/sink.ts";
import { createResolver, type Resolver } from "../dns/resolver.ts";
import { judgeAnswer } from "../rules/webhook-retry.ts";
import { createWebhookGuard } from "../rules/webhook-url.ts";
import { createPoster, type Poster } from "./post.ts";
import { createTargetFinder } from "./target.ts";

let dns: ScriptedDns;
let resolver: Resolver;
let receiver: Receiver;
const posters: Poster[] = [];
const never = new AbortController().signal;

before(async () => {
  dns = await startScriptedDns();
  dns.ttl = 0;
  resolver = createResolver({ servers: [dns] });
  receiver = await startReceiver();
});
after(async () => {
  await receiver.close();
  resolver.stop();
  await dns.stop();
});
afterEach(() => {
  for (const poster of posters.splice(0)) poster.stop();
  receiver.script = () => 200;
  receiver.requests.length = 0;
});

function poster(options: { allow?: string[]; timeoutMs?: number } = {}) {
  const guard = createWebhookGuard({ allowCidrs: options.allow ?? ["127.0.0.1/32"] });
  const finder = createTargetFinder({ resolver, guard });
  const made = createPoster({
    guard,
    finder,
    userAgent: "Posthorn-Webhooks/test",
    timeoutMs: options.timeoutMs ?? 5000,
  });
  posters.push(made);
  const post = async (url: string, body = '{"id":"evt_1"}', headers: Record<string, string> = {}) => {
    const posted = await made.post({ url, headers, body }, never);
    assert.ok(posted);
    return { ...posted, ...judgeAnswer(posted.answer) };
  };
  return { ...made, send: post, check: finder.check };
}

const reacts = (reaction: Reaction) => {
  receiver.script = () => reaction;
};

test("a body arrives byte for byte, with its headers, and the answer's head is kept", async () => {
  reacts({ status: 202, headers: { "x-trace": "7" }, body: "tha\0nk you ✓" });
  const body = JSON.stringify({ id: "evt_1", text: "Grüße 🙂" });
  const posted = await poster().send(`${receiver.url}/hook?a=b`, body, { "webhook-id": "evt_1" });
  assert.deepEqual(
    { outcome: posted.outcome, error: posted.error, status: posted.status },
    { outcome: "delivered", error: "", status: 202 },
  );
  const [request] = receiver.requests;
  assert.equal(request!.body, body);
  assert.equal(request!.path, "/hook?a=b");
  const { host, "user-agent": agent, "content-type": type, "webhook-id": id } = request!.headers;
  assert.deepEqual(
    { host, agent, type, id },
    {
      host: `127.0.0.1:${receiver.port}`,
      agent: "Posthorn-Webhooks/test",
      type: "application/json; charset=utf-8",
      id: "evt_1",
    },
  );
  assert.match(posted.head, /^HTTP\/1\.1 202 Accepted\nx-trace: 7\n[\s\S]*\n\ntha\ufffdnk you ✓$/);
});

const failures: [Reaction, RegExp, number | undefined][] = [
  [500, /answered 500/, 500],
  [404, /answered 404/, 404],
  ["close", /connection ended before there was an answer/, undefined],
  ["break-off", /ended before the answer was whole/, 200],
  ["rubbish", /no valid HTTP/, undefined],
  ["upgrade", /answered 101/, undefined],
];
for (const [reaction, wanted, status] of failures) {
  test(`an endpoint that answers with ${JSON.stringify(reaction)} has failed`, async () => {
    reacts(reaction);
    const posted = await poster().send(receiver.url);
    assert.equal(posted.outcome, "retry");
    assert.match(posted.error, wanted);
    assert.equal(posted.status, status);
    assert.equal(receiver.requests.length, 1);
  });
}

for (const reaction of ["hang", "drip-head", "drip-body"] as const) {
  test(`an endpoint that answers with ${reaction} is left when the time is up`, async () => {
    reacts(reaction);
    const posted = await poster({ timeoutMs: 300 }).send(receiver.url);
    assert.equal(posted.outcome, "retry");
    assert.match(posted.error, /no whole answer within 0\.3 s/);
    await receiver.until("the connection to end", ({ connections }) => connections.open === 0);
  });
}

test("a refusal counts by its status, also when its body never ends", async () => {
  receiver.script = () => ({ status: 410, headers: { "content-length": "100" }, body: "" });
  const posted = await poster({ timeoutMs: 300 }).send(receiver.url);
  assert.equal(posted.outcome, "gone");
});

test("no more of an answer is read than 64 KiB, and no more kept than 4", async () => {
  reacts({ status: 200, headers: { "content-length": String(1024 ** 3) }, body: "é".repeat(1024 * 1024) });
  const posted = await poster().send(receiver.url);
  assert.equal(posted.outcome, "delivered");
  assert.ok(Buffer.byteLength(posted.head) <= 4096 && posted.head.endsWith("é"), "cut between characters");
  await receiver.until("the connection to end", ({ connections }) => connections.open === 0);
});

test("a redirect is never followed, inward least of all", async () => {
  const inside = await startReceiver();
  try {
    for (const status of [301, 302, 303, 307, 308]) {
      reacts({ status, headers: { location: `${inside.url}/secret` } });
      const posted = await poster().send(receiver.url);
      assert.equal(posted.outcome, "retry");
      assert.match(posted.error, /Redirects are not followed/);
    }
    assert.equal(inside.requests.length, 0);
  } finally {
    await inside.close();
  }
});

test("a name is judged by the address it has now, also when DNS changes its mind after the webhook was saved", async () => {
  const trap = await startReceiver({ host: "127.0.0.2", port: receiver.port });
  const { send, check } = poster();
  const url = `http://rebind.test:${receiver.port}/`;
  try {
    dns.set("rebind.test", "A", "127.0.0.1");
    assert.deepEqual(await check(url), { url });
    assert.equal((await send(url)).outcome, "delivered");
    dns.set("rebind.test", "A", "127.0.0.2");
    const posted = await send(url);
    assert.equal(posted.outcome, "retry");
    assert.match(posted.error, /leads to rebind\.test, which is at 127\.0\.0\.2/);
    assert.match(((await check(url)) as { problem: string }).problem, /127\.0\.0\.2/);
    assert.equal(trap.requests.length, 0);
    assert.equal(trap.connections.opened, 0, "not even a connection");
  } finally {
    await trap.close();
  }
});

test("of several addresses only those allowed are tried, and one that is down does not stop it", async () => {
  dns.set("mixed.test", "A", "127.0.0.3", "127.0.0.1");
  dns.set("mixed.test", "AAAA", "::ffff:127.0.0.9", "::1");
  const posted = await poster({ allow: ["127.0.0.1/32", "::1/128"] }).send(`http://mixed.test:${receiver.port}/`);
  assert.equal(posted.outcome, "delivered");
  dns.set("down.test", "A", "127.0.0.3", "127.0.0.1");
  assert.equal(
    (await poster({ allow: ["127.0.0.0/8"] }).send(`http://down.test:${receiver.port}/`)).outcome,
    "delivered",
  );
});

test("what DNS does not know is a failure that says so, and no mistake when saved", async () => {
  const { send, check } = poster();
  dns.behave("broken.test", "servfail");
  assert.match((await send("https://nowhere.test/")).error, /the host nowhere\.test does not exist/);
  assert.match((await send("https://broken.test/")).error, /DNS could not tell/);
  assert.deepEqual(await check("https://nowhere.test/"), { url: "https://nowhere.test/" });
});

test("localhost is this machine whatever DNS says", async () => {
  dns.set("localhost", "A", "8.8.8.8");
  const { check } = poster({ allow: [] });
  assert.match(((await check("https://localhost/")) as { problem: string }).problem, /at 127\.0\.0\.1, a private/);
  assert.match(((await check("https://a.localhost/")) as { problem: string }).problem, /at 127\.0\.0\.1, a private/);
});

test("https: a certificate that nobody vouches for is refused before anything is said", async () => {
  const secure = await startReceiver({ tls: testCertificate() });
  try {
    const posted = await poster().send(`https://localhost:${secure.port}/`);
    assert.equal(posted.outcome, "retry");
    assert.match(posted.error, /the certificate of localhost is not accepted/);
    assert.equal(secure.requests.length, 0);
    assert.match((await poster().send(`https://127.0.0.1:${receiver.port}/`)).error, /TLS with 127\.0\.0\.1 failed/);
  } finally {
    await secure.close();
  }
});

test("a connection is kept for the next request, and one that has ended meanwhile costs nothing", async () => {
  const fresh = await startReceiver();
  try {
    const { send } = poster();
    await send(fresh.url);
    await send(fresh.url);
    assert.equal(fresh.connections.opened, 1);
    fresh.closeIdle();
    assert.equal((await send(fresh.url)).outcome, "delivered");
    assert.equal(fresh.requests.length, 3);
  } finally {
    await fresh.close();
  }
});

test("cut off from outside, it says that it does not know", async () => {
  reacts("hang");
  const stop = new AbortController();
  const posting = poster().post({ url: receiver.url, headers: {}, body: '{"id":"evt_1"}' }, stop.signal);
  await receiver.until("the request", ({ requests }) => requests.length === 1);
  stop.abort();
  assert.equal(await posting, undefined);
});
