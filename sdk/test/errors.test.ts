/** Everything that the package throws is a PosthornError: wrong arguments of JavaScript callers, a faulty fetch, faulty responses. */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { type TestContext, test } from "node:test";
import { createTransport } from "nodemailer";
import { wrap } from "../src/envelope.ts";
import { type CursorStore, Posthorn, PosthornError, type PosthornOptions, verifyWebhook } from "../src/index.ts";
import { fileCursorStore } from "../src/node.ts";
import { type PosthornTransportError, posthornTransport } from "../src/nodemailer.ts";
import { userAgentOf } from "../src/request.ts";
import { version } from "../src/version.ts";
import { type Peer, type PeerOptions, rejection, startPeer } from "./peer.ts";

async function peer(t: TestContext, options: PeerOptions = {}): Promise<Peer> {
  const started = await startPeer(options);
  t.after(() => started.close());
  return started;
}

/** A value of the wrong type. */
const wrong = (value: unknown) => value as never;
const first = async (events: AsyncIterator<unknown>) => await events.next();

test("wrong arguments are reported with the name of the argument, before a request is sent", async (t) => {
  const { client, requests } = await peer(t);
  const secret = `whsec_${btoa("a secret of the test, long enough")}`;
  const calls: [field: string, call: () => Promise<unknown>][] = [
    ["email", () => client.emails.send(wrong(undefined))],
    ["email", () => client.emails.send(wrong("ada@example.net"))],
    ["emails", () => client.emails.sendBatch(wrong({ from: "a@example.com" }))],
    ["emails[1]", () => client.emails.sendBatch(wrong([{ from: "a@b.c", to: "d@e.f", subject: "" }, null]))],
    ["id", () => client.emails.get(wrong(undefined))],
    ["id", () => client.domains.delete(wrong(7))],
    ["change", () => client.emails.update("em_1", wrong(undefined))],
    ["webhookId", () => client.webhooks.deliveries(wrong(undefined))],
    ["destination", () => client.queue.purge(wrong(null))],
    ["address", () => client.suppressions.remove(wrong(undefined))],
    ["options", () => client.emails.get("em_1", wrong(null))],
    ["signal", () => client.emails.get("em_1", { signal: wrong(new AbortController()) })],
    ["timeoutMs", () => client.emails.get("em_1", { timeoutMs: wrong("5s") })],
    ["timeoutMs", () => client.emails.get("em_1", { timeoutMs: Number.NaN })],
    ["maxRetries", () => client.emails.get("em_1", { maxRetries: -1 })],
    ["filter", () => client.emails.list(wrong(null))],
    ["filter", () => client.domains.list(wrong("example.com"))],
    ["filter", () => client.events.list(wrong([]))],
    ["filter", () => first(client.emails.list(wrong(7))[Symbol.asyncIterator]())],
    ["request", () => client.domains.add(wrong(undefined))],
    ["request", () => client.webhooks.create(wrong(undefined))],
    ["key", () => client.keys.create(wrong(undefined))],
    ["scopes", () => client.keys.create({ name: "a", scopes: wrong("send") })],
    ["change", () => client.keys.update("key_1", wrong(undefined))],
    ["options", () => client.domains.waitUntilReady("dom_1", wrong(null))],
    ["onProgress", () => client.domains.waitUntilReady("dom_1", { onProgress: wrong("log") })],
    ["idempotencyKey", () => client.emails.send({ ...email, idempotencyKey: "Bestellung ä" })],
    ["idempotencyKey", () => client.emails.send({ ...email, idempotencyKey: "" })],
    ["limit", () => client.webhooks.redeliver("wh_1", wrong({ limit: 5n }))],
    ["request", () => client.webhooks.update("wh_1", wrong(circular()))],
    ["types", () => first(client.events.stream({ types: wrong("email.delivered") }))],
    ["store", () => first(client.events.stream({ store: wrong("./cursor") }))],
    ["signal", () => first(client.events.stream({ signal: wrong({ aborted: false }) }))],
    ["options", () => client.events.listen(wrong(undefined))],
    ["onDelivered", () => client.events.listen({ onDelivered: wrong("log") })],
    ["onEvent", () => client.events.listen({})],
    ["onEvent", () => client.events.listen({ onDelivered: wrong(undefined) })],
    ["headers", () => verifyWebhook("{}", wrong(undefined), secret)],
    ["rawBody", () => verifyWebhook(wrong({ id: "evt_1" }), {}, secret)],
    ["secret", () => verifyWebhook("{}", {}, wrong(undefined))],
  ];
  for (const [field, call] of calls) {
    const error = await rejection<PosthornError>(call());
    assert.ok(error instanceof PosthornError, `${call}: ${error}`);
    assert.equal(error.code, "invalid_argument", String(call));
    assert.equal(error.violations[0]!.field, field, String(call));
  }
  assert.equal(requests.length, 0);
});

const email = { from: "shop@example.com", to: "ada@example.net", subject: "Hello" };

function circular(): object {
  const value: { self?: object } = {};
  value.self = value;
  return value;
}

test("the constructor reports wrong options", () => {
  const options: [field: string, options: unknown][] = [
    ["options", "ph_live_x"],
    ["options", null],
    ["apiKey", { apiKey: 7 }],
    ["baseUrl", { apiKey: "ph_x", baseUrl: 8825 }],
    ["timeoutMs", { apiKey: "ph_x", timeoutMs: "30s" }],
    ["maxRetries", { apiKey: "ph_x", maxRetries: Number.NaN }],
    ["baseUrl", { apiKey: "ph_x", baseUrl: "http://:secret@127.0.0.1" }],
    ["fetch", { apiKey: "ph_x", fetch: "node-fetch" }],
  ];
  for (const [field, value] of options) {
    assert.throws(
      () => new Posthorn(value as PosthornOptions),
      (error) => error instanceof PosthornError && error.violations[0]!.field === field,
      field,
    );
  }
  assert.ok(new Posthorn({ apiKey: "ph_x", baseUrl: wrong(new URL("http://127.0.0.1:1")) }));
});

test("anything that a replaced fetch throws or returns becomes an error with its cause", async (t) => {
  const { connect } = await peer(t);
  const faults: [fetch: () => unknown, message: RegExp][] = [
    [() => Promise.reject(new Error("proxy refused")), /proxy refused/],
    [() => Promise.reject(undefined), /cannot be reached .*undefined/],
    [() => Promise.reject("text"), /\(text\)/],
    [
      () => {
        throw new TypeError("thrown at once");
      },
      /thrown at once/,
    ],
    [() => undefined, /returned no Response/],
    [() => Promise.resolve({ ok: true }), /returned no Response/],
    [() => ({ ok: true, headers: new Headers(), text: () => Promise.reject(new Error("cut")) }), /cut/],
  ];
  for (const [fetch, message] of faults) {
    const client = connect({ fetch: wrong(fetch), maxRetries: 0 });
    const lost = new Promise<PosthornError>((resolve) => {
      const controller = new AbortController();
      const onReconnect = ({ error }: { error: PosthornError }) => {
        resolve(error);
        controller.abort();
      };
      void first(client.events.stream({ signal: controller.signal, onReconnect }));
    });
    assert.ok((await lost) instanceof PosthornError, String(fetch));
    const error = await rejection<PosthornError>(client.keys.list());
    assert.ok(error instanceof PosthornError, `${fetch}: ${error}`);
    assert.equal(error.code, "unavailable");
    assert.match(error.message, message);
  }
});

test("an async onReconnect or onError that fails ends the stream with its error", async (t) => {
  const { client } = await peer(t, { instead: (_request, response) => !!response.writeHead(503).end() });
  const fail = async () => {
    throw new Error("the log is full");
  };
  for (const call of [
    () => first(client.events.stream({ onReconnect: fail })),
    () => client.events.listen({ onEvent: () => {}, onReconnect: fail }),
    () => client.events.listen({ onEvent: () => {}, onError: fail }),
  ])
    assert.equal((await rejection(call())).message, "the log is full", String(call));
});

test("a message of a stream that is no object is an error, after which the client reconnects", async (t) => {
  const controller = new AbortController();
  const instead = (_request: unknown, response: ServerResponse) => {
    response.setHeader("content-type", "application/connect+json");
    return !!response.end(wrap("null"));
  };
  const { client } = await peer(t, { instead });
  const codes: string[] = [];
  const onReconnect = ({ error }: { error: PosthornError }) => {
    codes.push(error.code);
    controller.abort();
  };
  await first(client.events.stream({ signal: controller.signal, onReconnect }));
  assert.deepEqual(codes, ["internal"]);
});

test("an error of the caller's own objects is passed on as the cause", async (t) => {
  const { client } = await peer(t);
  const cause = new Error("not loaded");
  const email = {
    from: "shop@example.com",
    to: "ada@example.net",
    subject: "Hello",
    attachments: [
      {
        filename: "a",
        get content(): string {
          throw cause;
        },
      },
    ],
  };
  const error = await rejection<PosthornError>(client.emails.send(email));
  assert.ok(error instanceof PosthornError);
  assert.deepEqual([error.code, error.message, error.cause], ["unknown", "not loaded", cause]);
});

test("nodemailer's sendMail ends at its timeout although a stream of the message never ends", {
  timeout: 20_000,
}, async (t) => {
  const { url } = await peer(t);
  const mailer = createTransport(posthornTransport({ apiKey: "ph_x", baseUrl: url, timeoutMs: 50 }));
  const attachments = [{ filename: "a", content: new PassThrough() }];
  const sending = mailer.sendMail({ from: "a@example.com", to: "b@example.net", text: "", attachments });
  const error = await rejection<PosthornTransportError>(sending);
  assert.deepEqual([error.code, error.responseCode], ["deadline_exceeded", 451]);
  assert.match(error.message, /^The message was not read within 50 ms/);
});

test("a call ends at its timeout although a replaced fetch ignores the signal", async (t) => {
  const { connect } = await peer(t);
  const client = connect({ fetch: () => new Promise(() => {}) });
  assert.equal((await rejection<PosthornError>(client.keys.list({}, { timeoutMs: 20 }))).code, "deadline_exceeded");
  const controller = new AbortController();
  const waiting = rejection<PosthornError>(client.keys.list({}, { signal: controller.signal }));
  controller.abort("stop");
  assert.deepEqual([(await waiting).code, (await waiting).cause], ["canceled", "stop"]);
});

test("responses without the expected content become errors", async (t) => {
  const { client } = await peer(t, { instead: (_request, response) => !!response.end('{"raw":"%","data":7}') });
  assert.equal((await rejection<PosthornError>(client.emails.content("em_1"))).code, "internal");
  for (const list of [client.keys.list(), client.domains.list()]) {
    const error = await rejection<PosthornError>(first(list[Symbol.asyncIterator]()));
    assert.ok(error instanceof PosthornError);
    assert.match(error.message, /has no list/);
  }
});

test("a cursor file that cannot be read or written ends the stream with an error that names it", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "posthorn-cursor-"));
  t.after(() => rm(folder, { recursive: true }));
  const file = join(folder, "file");
  await writeFile(file, "");
  // A file cannot be used as a folder, also not by root.
  const store: CursorStore = fileCursorStore(join(file, "cursor"));
  for (const use of [async () => await store.load(), async () => await store.save("1")]) {
    const error = await rejection<PosthornError>(use());
    assert.ok(error instanceof PosthornError);
    assert.equal(error.code, "failed_precondition");
    assert.ok(error.message.includes(join(file, "cursor")), error.message);
  }
  assert.throws(() => fileCursorStore(wrong(undefined)), { code: "invalid_argument" });
});

test("instanceof is true for an error of the other build, and only for PosthornErrors", async () => {
  class Special extends PosthornError {}
  // A query makes Node load the module again, as a second build would.
  const other = (await import(`../src/error.ts?${"other"}`)) as { PosthornError: typeof PosthornError };
  const foreign = new other.PosthornError("unknown", "x");
  assert.ok(foreign instanceof PosthornError && other.PosthornError !== PosthornError);
  assert.ok(new Special("unknown", "x") instanceof PosthornError && new Special("unknown", "x") instanceof Special);
  assert.equal(foreign instanceof Special, false);
  for (const value of [new Error("x"), null, undefined, "x", {}])
    assert.equal((value as object) instanceof PosthornError, false);
});

test("requests name the client and the runtime, except in browsers", async (t) => {
  const { client, requests } = await peer(t, { instead: (_request, response) => !!response.end("{}") });
  await client.keys.list();
  assert.equal(requests[0]!.headers["user-agent"], `posthorn-sdk/${version} node/${process.versions.node}`);
  const node = { versions: { node: "20.0.0" } };
  assert.equal(
    userAgentOf({ process: { versions: { node: "22.0.0", bun: "1.2.0" } } }),
    `posthorn-sdk/${version} bun/1.2.0`,
  );
  assert.equal(userAgentOf({ process: node, document: {} }), undefined);
  assert.equal(userAgentOf({ process: { env: {} } }), undefined);
  assert.equal(userAgentOf({}), undefined);
});
