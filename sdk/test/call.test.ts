/** Unary calls: request headers, error mapping, retries, deadlines and settings. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, type ConnectRouter } from "@connectrpc/connect";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "../../src/gen/google/rpc/error_details_pb.ts";
import { EmailService } from "../../src/gen/v1/email_pb.ts";
import { KeyService } from "../../src/gen/v1/key_pb.ts";
import { Posthorn, PosthornError } from "../src/index.ts";
import { type Peer, type PeerOptions, peerKey, rejection, startPeer } from "./peer.ts";

const email = { from: "shop@example.com", to: "ada@example.net", subject: "Hello" };

async function peer(t: TestContext, options: PeerOptions): Promise<Peer> {
  const started = await startPeer(options);
  t.after(() => started.close());
  return started;
}

test("a call sends the key, the protocol version and the remaining time", async (t) => {
  const { client, requests } = await peer(t, {
    routes: (router) => router.service(KeyService, { listKeys: () => ({ data: [{ id: "key_1", name: "first" }] }) }),
  });
  const page = await client.keys.list({}, { timeoutMs: 20_000 });
  assert.equal(page.data[0]!.name, "first");
  assert.equal(page.data[0]!.domain, "", "fields with default values are present");
  const { path, headers } = requests[0]!;
  assert.equal(path, "/v1.KeyService/ListKeys");
  assert.equal(headers.authorization, `Bearer ${peerKey}`);
  assert.equal(headers["connect-protocol-version"], "1");
  assert.equal(headers["content-type"], "application/json");
  const serverTimeoutMs = Number(headers["connect-timeout-ms"]);
  assert.ok(serverTimeoutMs > 0 && serverTimeoutMs < 20_000, `shorter than the client's timeout: ${serverTimeoutMs}`);
});

test("a base URL may have a path and a trailing slash", async (t) => {
  const { url, connect, requests } = await peer(t, { instead: (_request, response) => !!response.end("{}") });
  await connect({ baseUrl: `${url}/mail/` }).keys.revoke("key_1");
  assert.equal(requests[0]!.path, "/mail/v1.KeyService/RevokeKey");
});

test("an error has every violation, the request id and the server's message", async (t) => {
  const violations = [
    { field: "from", description: "is required" },
    { field: "to[1]", description: "“ä@” is no address" },
  ];
  const { client } = await peer(t, {
    routes: (router) =>
      router.service(EmailService, {
        sendEmail() {
          const error = new ConnectError("from: is required", Code.InvalidArgument);
          error.details.push({
            desc: BadRequestSchema,
            value: create(BadRequestSchema, { fieldViolations: violations }),
          });
          throw error;
        },
      }),
  });
  const error = await rejection<PosthornError>(client.emails.send(email));
  assert.ok(error instanceof PosthornError);
  assert.equal(error.code, "invalid_argument");
  assert.equal(error.message, "from: is required");
  assert.deepEqual(error.violations, violations);
  assert.equal(error.requestId, "request-1");
  assert.equal(error.retryAfterMs, undefined);
});

test("a send is retried after unavailable with the same idempotency key", async (t) => {
  let tries = 0;
  const { client, requests } = await peer(t, {
    routes: (router) =>
      router.service(EmailService, {
        sendEmail() {
          tries += 1;
          if (tries < 3) throw new ConnectError("the database is unavailable", Code.Unavailable);
          return { id: "em_1", messageId: "<1@example.com>" };
        },
      }),
  });
  assert.equal((await client.emails.send(email)).id, "em_1");
  const keys = requests.map(({ headers }) => headers["idempotency-key"]);
  assert.equal(keys.length, 3);
  assert.match(keys[0] as string, /^sdk-[0-9a-f]{32}$/);
  assert.equal(new Set(keys).size, 1);
  await client.emails.send(email);
  assert.notEqual(requests[3]!.headers["idempotency-key"], keys[0], "another call has a new key");
  await client.emails.send({ ...email, idempotencyKey: "order-1042" });
  assert.equal(requests[4]!.headers["idempotency-key"], "order-1042");
});

test("a call is retried at most maxRetries times", async (t) => {
  const { connect, requests } = await peer(t, {
    routes: (router) =>
      router.service(KeyService, {
        listKeys() {
          throw new ConnectError("stopping", Code.Unavailable);
        },
      }),
  });
  const error = await rejection<PosthornError>(connect({ maxRetries: 1 }).keys.list());
  assert.equal(error.code, "unavailable");
  assert.equal(requests.length, 2);
});

test("a call is retried after a rate limit, but not after a limit without a delay", async (t) => {
  let isRateLimit = true;
  const { client, requests } = await peer(t, {
    routes: (router) =>
      router.service(KeyService, {
        createKey() {
          const error = new ConnectError("too many", Code.ResourceExhausted);
          if (isRateLimit)
            error.details.push({
              desc: RetryInfoSchema,
              value: create(RetryInfoSchema, { retryDelay: durationFromMs(120) }),
            });
          if (requests.length === 2) return { secret: "ph_live_new" };
          throw error;
        },
      }),
  });
  const created = await client.keys.create({ name: "worker", permission: "send" });
  assert.equal(created.secret, "ph_live_new");
  isRateLimit = false;
  const error = await rejection<PosthornError>(client.keys.create({ name: "worker", permission: "send" }));
  assert.equal(error.code, "resource_exhausted");
  assert.equal(requests.length, 3);
});

/** Answers CreateKey once with this reason, then with a key. */
const failsOnce = (reason: string) => {
  let failed = false;
  return (router: ConnectRouter) =>
    router.service(KeyService, {
      createKey() {
        if (failed) return { secret: "ph_live_new" };
        failed = true;
        const error = new ConnectError("the database", Code.Unavailable);
        const value = create(ErrorInfoSchema, { reason, domain: "posthorn" });
        error.details.push({ desc: ErrorInfoSchema, value });
        throw error;
      },
    });
};

test("key creation is retried when the server knows that nothing was stored", async (t) => {
  const { client, requests } = await peer(t, { routes: failsOnce("DATABASE_READ_ONLY") });
  assert.equal((await client.keys.create({ name: "worker", permission: "send" })).secret, "ph_live_new");
  assert.equal(requests.length, 2);
});

test("key creation is not retried when its outcome is unknown, and the error has the reason", async (t) => {
  const { client, requests } = await peer(t, { routes: failsOnce("OUTCOME_UNKNOWN") });
  const error = await rejection<PosthornError>(client.keys.create({ name: "worker", permission: "send" }));
  assert.deepEqual([error.code, error.reason], ["unavailable", "OUTCOME_UNKNOWN"]);
  assert.equal(requests.length, 1);
});

test("key creation is not retried when its response is lost", async (t) => {
  const { client, requests } = await peer(t, { instead: (request) => !!request.socket.destroy() });
  const error = await rejection<PosthornError>(client.keys.create({ name: "worker", permission: "full" }));
  assert.equal(error.code, "unavailable");
  assert.match(error.message, /cannot be reached at http:\/\/127\.0\.0\.1/);
  assert.equal(requests.length, 1);
});

test("key creation is retried when no connection was established", async (t) => {
  const closed = await startPeer({});
  await closed.close();
  const open = await peer(t, {
    routes: (router) => router.service(KeyService, { createKey: () => ({ secret: "ph_live_new" }) }),
  });
  let tries = 0;
  const client = open.connect({
    fetch: (input, init) => fetch(tries++ === 0 ? String(input).replace(open.url, closed.url) : input, init),
  });
  assert.equal((await client.keys.create({ name: "worker", permission: "full" })).secret, "ph_live_new");
});

test("a call ends with deadline_exceeded after its timeout and with canceled after an abort", async (t) => {
  const { client } = await peer(t, { instead: () => true });
  const late = await rejection<PosthornError>(client.keys.list({}, { timeoutMs: 50 }));
  assert.equal(late.code, "deadline_exceeded");
  const controller = new AbortController();
  const waiting = rejection<PosthornError>(client.keys.list({}, { signal: controller.signal }));
  controller.abort(new Error("shutting down"));
  const stopped = await waiting;
  assert.equal(stopped.code, "canceled");
  assert.equal((stopped.cause as Error).message, "shutting down");
  const before = await rejection<PosthornError>(client.keys.list({}, { signal: AbortSignal.abort() }));
  assert.equal(before.code, "canceled");
});

test("responses from other servers become clear errors", async (t) => {
  const answers: [status: number, body: string, code: string, message: RegExp, location?: string][] = [
    [404, "<h1>Not here</h1>", "unimplemented", /HTTP 404: <h1>Not here<\/h1>\. .*check baseUrl/],
    [401, "sign in first", "unauthenticated", /HTTP 401/],
    [413, "", "resource_exhausted", /HTTP 413/],
    [301, "", "unknown", /redirects to https:\/\/mail\.example\//, "https://mail.example/"],
    [200, "<!doctype html>", "unknown", /not a JSON object/],
    [500, '{"code":"strange"}', "unknown", /HTTP 500/],
  ];
  const { client, requests } = await peer(t, {
    instead(_request, response) {
      const [status, body, , , location] = answers[requests.length - 1]!;
      response.writeHead(status, location ? { location } : {});
      return !!response.end(body);
    },
  });
  for (const [status, , code, message] of answers) {
    const error = await rejection<PosthornError>(client.keys.revoke("key_1"));
    assert.equal(error.code, code, `HTTP ${status}`);
    assert.match(error.message, message);
  }
});

test("a call is retried after a proxy's 503", async (t) => {
  const { client, requests } = await peer(t, {
    instead(_request, response) {
      if (requests.length > 1) return false;
      response.writeHead(503, { "retry-after": "0" });
      return !!response.end("starting");
    },
    routes: (router) => router.service(KeyService, { listKeys: () => ({}) }),
  });
  assert.deepEqual((await client.keys.list()).data, []);
  assert.equal(requests.length, 2);
});

test("the constructor rejects missing and malformed settings", () => {
  const saved = { key: process.env.POSTHORN_KEY, url: process.env.POSTHORN_URL };
  try {
    delete process.env.POSTHORN_KEY;
    assert.throws(() => new Posthorn(), { code: "unauthenticated", message: /POSTHORN_KEY.*first-key/ });
    process.env.POSTHORN_KEY = " ph_live_from-the-environment\n";
    assert.ok(new Posthorn());
    assert.throws(() => new Posthorn({ apiKey: "ph_ä" }), { code: "invalid_argument" });
    process.env.POSTHORN_URL = "localhost:8825";
    assert.throws(() => new Posthorn(), { code: "invalid_argument", message: /baseUrl: "localhost:8825"/ });
    assert.throws(() => new Posthorn({ baseUrl: "http://me:pw@localhost" }), { code: "invalid_argument" });
  } finally {
    restore("POSTHORN_KEY", saved.key);
    restore("POSTHORN_URL", saved.url);
  }
});

test("the key and the URL are read from the environment", async (t) => {
  const { url, requests } = await peer(t, {
    routes: (router) => router.service(KeyService, { listKeys: () => ({}) }),
  });
  const saved = { key: process.env.POSTHORN_KEY, url: process.env.POSTHORN_URL };
  try {
    process.env.POSTHORN_KEY = "ph_live_from-the-environment";
    process.env.POSTHORN_URL = url;
    await new Posthorn().keys.list();
    assert.equal(requests[0]!.headers.authorization, "Bearer ph_live_from-the-environment");
  } finally {
    restore("POSTHORN_KEY", saved.key);
    restore("POSTHORN_URL", saved.url);
  }
});

function restore(name: string, value: string | undefined): void {
  if (value === undefined) delete process.env[name];
  else process.env[name] = value;
}
