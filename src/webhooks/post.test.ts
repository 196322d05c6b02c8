import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { type ScriptedDns, startScriptedDns } from "../../test/harness/dns.ts";
import { type Reaction, type Receiver, startReceiver } from "../../test/harness/receiver.ts";
import { testCertificate } from "../../test/harness/sink.ts";
import { createResolver, type Resolver } from "../dns/resolver.ts";
import { createPoster, createTargetFinder, type Poster } from "./post.ts";
import { judgeAnswer } from "./rules/retry.ts";
import { createWebhookGuard } from "./rules/url.ts";

let dns: ScriptedDns;
let resolver: Resolver;
let receiver: Receiver;
const posters: Poster[] = [];
/** The hosts that were refused, each with its addresses. */
const refusals: string[][] = [];
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

function startPoster(options: { allow?: string[]; timeoutMs?: number } = {}) {
  const guard = createWebhookGuard({ allowCidrs: options.allow ?? ["127.0.0.1/32"] });
  const onRefused = (host: string, addresses: readonly string[]) => void refusals.push([host, ...addresses]);
  const finder = createTargetFinder({ resolver, guard, onRefused });
  const poster = createPoster({
    guard,
    finder,
    userAgent: "Posthorn-Webhooks/test",
    timeoutMs: options.timeoutMs ?? 5000,
  });
  posters.push(poster);
  const send = async (url: string, body = '{"id":"evt_1"}', headers: Record<string, string> = {}) => {
    const result = await poster.post({ url, headers, body }, never);
    assert.ok(result);
    return { ...result, ...judgeAnswer(result.answer) };
  };
  return { ...poster, send, check: finder.check };
}

const setReaction = (reaction: Reaction) => {
  receiver.script = () => reaction;
};

test("a body arrives unchanged with its headers, and the beginning of the response is returned", async () => {
  setReaction({ status: 202, headers: { "x-trace": "7" }, body: "tha\0nk you ✓" });
  const body = JSON.stringify({ id: "evt_1", text: "Grüße 🙂" });
  const result = await startPoster().send(`${receiver.url}/hook?a=b`, body, { "webhook-id": "evt_1" });
  assert.deepEqual(
    { outcome: result.outcome, error: result.error, status: result.status },
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
  assert.match(result.exchange.responseHeaders, /^HTTP\/1\.1 202 Accepted\nx-trace: 7\n/);
  assert.equal(result.exchange.responseBody, "tha\ufffdnk you ✓");
  const sent = result.exchange.requestHeaders.split("\n").map((line) => line.split(": ") as [string, string]);
  for (const [name, value] of sent) assert.equal(request!.headers[name], value, name);
  assert.ok(sent.some(([name]) => name === "webhook-id") && sent.some(([name]) => name === "host"));
});

const failures: [Reaction, RegExp, number | undefined][] = [
  [500, /answered 500/, 500],
  [404, /answered 404/, 404],
  ["close", /closed before the endpoint answered/, undefined],
  ["break-off", /closed before the response was complete/, 200],
  ["rubbish", /not valid HTTP/, undefined],
  ["upgrade", /answered 101/, undefined],
];
for (const [reaction, error, status] of failures) {
  test(`the reaction ${JSON.stringify(reaction)} of an endpoint is a failure`, async () => {
    setReaction(reaction);
    const result = await startPoster().send(receiver.url);
    assert.equal(result.outcome, "retry");
    assert.match(result.error, error);
    assert.equal(result.status, status);
    assert.equal(receiver.requests.length, 1);
  });
}

for (const reaction of ["hang", "drip-head", "drip-body"] as const) {
  test(`a request to an endpoint with the reaction ${reaction} times out`, async () => {
    setReaction(reaction);
    const result = await startPoster({ timeoutMs: 300 }).send(receiver.url);
    assert.equal(result.outcome, "retry");
    assert.match(result.error, /no complete response within 0\.3 s/);
    await receiver.until("the connection to end", ({ connections }) => connections.open === 0);
  });
}

test("a hostile response is kept as text of at most 4 KiB", async () => {
  const reply = (headers: string, body: Buffer | string) => ({
    raw: Buffer.concat([Buffer.from(`HTTP/1.1 500 Ü\r\n${headers}Connection: close\r\n\r\n`), Buffer.from(body)]),
  });
  const binary = Buffer.from(Array.from({ length: 20_000 }, (_, i) => 128 + (i % 64)));
  const cases: [Reaction, RegExp, RegExp][] = [
    [reply("", binary), /^HTTP\/1\.1 500 Ü\nConnection: close$/, /^\ufffd{1365}$/],
    [reply(`X-Long: ${"ü".repeat(5000)}\r\n`, "short"), /^HTTP.*\nX-Long: ü+$/, /^short$/],
    [reply("", "\0".repeat(9000)), /^HTTP/, /^\ufffd{1365}$/],
    [reply("", `<script>\x1b[31m${"🙂".repeat(3000)}`), /^HTTP/, /^<script>\x1b\[31m🙂+$/u],
    ["drip-body", /^HTTP\/1\.1 200 OK\nContent-Length/, /^x+$/],
  ];
  for (const [reaction, headers, body] of cases) {
    setReaction(reaction);
    const { exchange, outcome } = await startPoster({ timeoutMs: 1000 }).send(receiver.url);
    assert.equal(outcome, "retry");
    assert.match(exchange.responseHeaders, headers);
    assert.match(exchange.responseBody, body);
    for (const text of Object.values(exchange)) assert.ok(Buffer.byteLength(text) <= 4096);
  }
  setReaction(reply(`X-Long: ${"x".repeat(100_000)}\r\n`, "short"));
  const { exchange, error } = await startPoster().send(receiver.url);
  assert.match(error, /not valid HTTP: .*overflow/i);
  assert.equal(exchange.responseHeaders + exchange.responseBody, "");
});

test("an attempt without a connection has no request, and one that times out at the endpoint has one", async () => {
  const { requestHeaders } = (await startPoster().send("https://nowhere.test/")).exchange;
  assert.equal(requestHeaders, "");
  const refused = await startPoster().send("http://127.0.0.1:1/");
  assert.match(refused.error, /refused/);
  assert.equal(refused.exchange.requestHeaders, "");
  assert.equal(refused.exchange.url, "http://127.0.0.1:1/");
  setReaction("hang");
  const late = await startPoster({ timeoutMs: 300 }).send(receiver.url);
  assert.match(late.exchange.requestHeaders, /^host: /);
});

test("the status of a refusal counts even if its body never ends", async () => {
  receiver.script = () => ({ status: 410, headers: { "content-length": "100" }, body: "" });
  const result = await startPoster({ timeoutMs: 300 }).send(receiver.url);
  assert.equal(result.outcome, "gone");
});

test("at most 64 KiB of a response are read, and at most 4 KiB returned", async () => {
  setReaction({ status: 200, headers: { "content-length": String(1024 ** 3) }, body: "é".repeat(1024 * 1024) });
  const result = await startPoster().send(receiver.url);
  assert.equal(result.outcome, "delivered");
  const { responseBody } = result.exchange;
  assert.ok(Buffer.byteLength(responseBody) <= 4096 && responseBody.endsWith("é"), "truncated between characters");
  await receiver.until("the connection to end", ({ connections }) => connections.open === 0);
});

test("a redirect is not followed", async () => {
  const inside = await startReceiver();
  try {
    for (const status of [301, 302, 303, 307, 308]) {
      setReaction({ status, headers: { location: `${inside.url}/secret` } });
      const result = await startPoster().send(receiver.url);
      assert.equal(result.outcome, "retry");
      assert.match(result.error, /Redirects are not followed/);
    }
    assert.equal(inside.requests.length, 0);
  } finally {
    await inside.close();
  }
});

test("the address of a host is checked at every request, also when it changes after the webhook was saved", async () => {
  const internal = await startReceiver({ host: "127.0.0.2", port: receiver.port });
  const { send, check } = startPoster();
  const url = `http://rebind.test:${receiver.port}/`;
  try {
    dns.set("rebind.test", "A", "127.0.0.1");
    assert.deepEqual(await check(url), { url });
    assert.equal((await send(url)).outcome, "delivered");
    dns.set("rebind.test", "A", "127.0.0.2");
    const result = await send(url);
    assert.equal(result.outcome, "retry");
    const { problem } = (await check(url)) as { problem: string };
    for (const text of [result.error, problem]) {
      assert.match(text, /points to rebind\.test; http is allowed only for ranges/);
      assert.doesNotMatch(text, /127\.0\.0/, "the address stays with the operator");
    }
    assert.deepEqual(refusals.at(-1), ["rebind.test", "127.0.0.2"]);
    assert.equal(internal.requests.length, 0);
    assert.equal(internal.connections.opened, 0, "no connection is made");
  } finally {
    await internal.close();
  }
});

test("only allowed addresses of a host are tried, and the next one when one is down", async () => {
  dns.set("mixed.test", "A", "127.0.0.3", "127.0.0.1");
  dns.set("mixed.test", "AAAA", "::ffff:127.0.0.9", "::1");
  const result = await startPoster({ allow: ["127.0.0.1/32", "::1/128"] }).send(`http://mixed.test:${receiver.port}/`);
  assert.equal(result.outcome, "delivered");
  dns.set("down.test", "A", "127.0.0.3", "127.0.0.1");
  assert.equal(
    (await startPoster({ allow: ["127.0.0.0/8"] }).send(`http://down.test:${receiver.port}/`)).outcome,
    "delivered",
  );
});

test("a host that DNS does not know fails at the request, but may be saved", async () => {
  const { send, check } = startPoster();
  dns.behave("broken.test", "servfail");
  assert.match((await send("https://nowhere.test/")).error, /the host nowhere\.test does not exist/);
  assert.match((await send("https://broken.test/")).error, /the DNS lookup of broken\.test failed/);
  assert.deepEqual(await check("https://nowhere.test/"), { url: "https://nowhere.test/" });
});

test("localhost is this host, whatever DNS returns", async () => {
  dns.set("localhost", "A", "8.8.8.8");
  const { check } = startPoster({ allow: [] });
  assert.match(
    ((await check("https://localhost/")) as { problem: string }).problem,
    /localhost, which resolves to an address that is not public/,
  );
  assert.match(
    ((await check("https://a.localhost/")) as { problem: string }).problem,
    /localhost, which resolves to an address that is not public/,
  );
});

test("an untrusted certificate is rejected before the request is sent", async () => {
  const secure = await startReceiver({ tls: testCertificate() });
  try {
    const result = await startPoster().send(`https://localhost:${secure.port}/`);
    assert.equal(result.outcome, "retry");
    assert.match(result.error, /the certificate of localhost is not accepted/);
    assert.equal(secure.requests.length, 0);
    assert.match(
      (await startPoster().send(`https://127.0.0.1:${receiver.port}/`)).error,
      /TLS with 127\.0\.0\.1 failed/,
    );
  } finally {
    await secure.close();
  }
});

test("an idle connection is reused, and a closed one is replaced without a failure", async () => {
  const other = await startReceiver();
  try {
    const { send } = startPoster();
    await send(other.url);
    await send(other.url);
    assert.equal(other.connections.opened, 1);
    other.closeIdle();
    assert.equal((await send(other.url)).outcome, "delivered");
    assert.equal(other.requests.length, 3);
  } finally {
    await other.close();
  }
});

test("an aborted request returns undefined", async () => {
  setReaction("hang");
  const stop = new AbortController();
  const posting = startPoster().post({ url: receiver.url, headers: {}, body: '{"id":"evt_1"}' }, stop.signal);
  await receiver.until("the request", ({ requests }) => requests.length === 1);
  stop.abort();
  assert.equal(await posting, undefined);
});
