/** The webhook handlers of posthorn/express, fastify, hono and next, on real servers of the real frameworks (Next: its signatures). */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { type TestContext, test } from "node:test";
import { getRequestListener } from "@hono/node-server";
import express from "express";
import fastify, { type FastifyInstance } from "fastify";
import { Hono } from "hono";
import { until } from "../../test/harness/wait.ts";
import * as forExpress from "../src/express.ts";
import * as forFastify from "../src/fastify.ts";
import * as forHono from "../src/hono.ts";
import { type EventOf, PosthornError, signTestPayload, type WebhookHandlerOptions } from "../src/index.ts";
import * as forNext from "../src/next.ts";

const secret = `whsec_${Buffer.from("a secret of twenty-four bytes or so").toString("base64")}`;
const otherSecret = `whsec_${Buffer.from("the secret of a stranger, as long").toString("base64")}`;
const example = await readFile(new URL("../../proto/examples/events/email.bounced.json", import.meta.url), "utf8");
const event = JSON.parse(example) as EventOf<"email.bounced">;

/** Mounts the handler at /hooks; `faults` gets what the framework's own error handling gets. */
type Mount = (t: TestContext, options: WebhookHandlerOptions, faults: unknown[]) => Promise<string>;

async function listen(t: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function startFastify(t: TestContext, app: FastifyInstance): Promise<string> {
  t.after(() => app.close());
  return await app.listen({ port: 0, host: "127.0.0.1" });
}

const keepRaw = {
  verify: (request: object, _response: unknown, raw: Buffer) => void Object.assign(request, { rawBody: raw }),
};

function expressWith(prepare: (app: express.Express) => void): Mount {
  return async (t, options, faults) => {
    const app = express();
    prepare(app);
    app.post("/hooks", forExpress.webhookHandler(options));
    app.use(((error, _request, response, _next) => {
      faults.push(error);
      response.status(500).end();
    }) satisfies express.ErrorRequestHandler);
    return await listen(t, app);
  };
}

function fastifyWith(prepare: (app: FastifyInstance) => void): Mount {
  return async (t, options, faults) => {
    const app = fastify();
    prepare(app);
    app.setErrorHandler(async (error: Error & { statusCode?: number }, _request, reply) => {
      if ((error.statusCode ?? 500) >= 500) faults.push(error);
      return await reply.code(error.statusCode ?? 500).send("error");
    });
    app.post("/hooks", forFastify.webhookRoute(options));
    return await startFastify(t, app);
  };
}

function honoWith(prepare: (app: Hono) => void): Mount {
  return async (t, options, faults) => {
    const app = new Hono();
    prepare(app);
    app.onError((error, c) => {
      faults.push(error);
      return c.text("error", 500);
    });
    app.post("/hooks", forHono.webhookHandler(options));
    return await listen(t, getRequestListener(app.fetch));
  };
}

/** Next calls a route handler with a Request and a context, and logs what it throws. */
const nextRoute: Mount = async (t, options, faults) => {
  const POST = forNext.webhookHandler(options) as (request: Request, context: unknown) => Promise<Response>;
  const handle = async (request: Request) =>
    await POST(request, { params: Promise.resolve({}) }).catch((error: unknown) => {
      faults.push(error);
      return new Response("error", { status: 500 });
    });
  return await listen(t, getRequestListener(handle));
};

/** Next calls an API route with Node's request and response. With its body parser, it reads and parses the body first. */
function nextPages(parse: boolean): Mount {
  return async (t, options, faults) => {
    const handler = forNext.pagesWebhookHandler(options);
    return await listen(t, async (request, response) => {
      if (parse) {
        const chunks: Buffer[] = [];
        for await (const chunk of request) chunks.push(chunk as Buffer);
        Object.assign(request, { body: JSON.parse(Buffer.concat(chunks).toString()) });
      }
      await handler(request, response).catch((error: unknown) => {
        faults.push(error);
        response.writeHead(500).end();
      });
    });
  };
}

const working: Record<string, Mount> = {
  "Express without a body parser": expressWith(() => {}),
  "Express after express.raw": expressWith((app) => app.use(express.raw({ type: () => true, limit: "50kb" }))),
  "Express after express.text": expressWith((app) => app.use(express.text({ type: () => true, limit: "50kb" }))),
  "Express after express.json that keeps the raw body": expressWith((app) => app.use(express.json(keepRaw))),
  "Express after a parser of another type": expressWith((app) => app.use(express.urlencoded())),
  "Fastify with its own JSON parser": fastifyWith(() => {}),
  "Fastify with a parser that keeps the text": fastifyWith((app) => {
    app.removeAllContentTypeParsers();
    app.addContentTypeParser("*", { parseAs: "string" }, (_request, body, done) => done(null, body));
  }),
  "Fastify with an async preParsing hook of the application": fastifyWith((app) => {
    app.addHook("preParsing", async (_request, _reply, payload) => {
      await new Promise(setImmediate);
      return payload;
    });
  }),
  "Hono without a middleware": honoWith(() => {}),
  "Hono after c.req.json()": honoWith((app) =>
    app.use(async (c, next) => {
      if (c.req.method === "POST") await c.req.json().catch(() => undefined);
      await next();
    }),
  ),
  "Hono after c.req.arrayBuffer()": honoWith((app) =>
    app.use(async (c, next) => {
      await c.req.arrayBuffer();
      await next();
    }),
  ),
  "Next route handler": nextRoute,
  "Next API route without a body parser": nextPages(false),
};

function recorder() {
  const seen: string[] = [];
  const errors: unknown[] = [];
  const handlers = {
    secret,
    onBounced({ id, bounced }: EventOf<"email.bounced">) {
      if (bounced.category === "fault") throw new Error("the shop is closed");
      seen.push(id);
    },
  };
  return { seen, errors, handlers, onError: (error: unknown) => void errors.push(error) };
}

const post = async (url: string, { body, headers }: { body: string; headers: Record<string, string> }) =>
  await fetch(`${url}/hooks`, { method: "POST", body, headers });

const faulty = { ...event, bounced: { ...event.bounced, category: "fault" } };

for (const [name, mount] of Object.entries(working)) {
  test(`${name}: genuine webhooks are handled, all others are rejected`, async (t) => {
    const { seen, errors, handlers, onError } = recorder();
    const faults: unknown[] = [];
    const url = await mount(t, { ...handlers, onError }, faults);
    const good = await signTestPayload(event, secret);
    assert.equal((await post(url, good)).status, 204);
    // A second delivery within the tolerance is genuine too: Posthorn retries. The event has the same id.
    assert.equal((await post(url, good)).status, 204);
    assert.deepEqual(seen, [event.id, event.id]);
    // A key that Fastify's own parser refuses.
    const reserved = JSON.stringify({ ...event, metadata: {} }).replace(
      '"metadata":{}',
      '"metadata":{"__proto__":"x"}',
    );
    assert.equal((await post(url, await signTestPayload(reserved, secret))).status, 204, "__proto__");
    seen.pop();
    const umlauts = { ...event, id: "evt_2", metadata: { name: "Grüße 🎉 \u2028 \\u00e9" } };
    assert.equal((await post(url, await signTestPayload(umlauts, secret))).status, 204);

    const old = await signTestPayload(event, secret, { timestamp: new Date(Date.now() - 600_000) });
    const early = await signTestPayload(event, secret, { timestamp: new Date(Date.now() + 600_000) });
    const { "webhook-signature": _, ...unsigned } = good.headers;
    for (const forged of [
      await signTestPayload(event, otherSecret),
      { ...good, body: good.body.replace("ada", "eve") },
      { ...good, body: JSON.stringify(JSON.parse(good.body), null, 2) },
      { ...good, headers: { ...good.headers, "webhook-id": "evt_forged" } },
      { ...good, headers: { ...good.headers, "webhook-timestamp": String(Math.floor(Date.now() / 1000) + 5) } },
      { ...old, headers: { ...old.headers, "webhook-timestamp": good.headers["webhook-timestamp"] } },
      { ...good, headers: unsigned },
      { ...good, body: "{}" },
      old,
      early,
    ])
      assert.equal((await post(url, forged)).status, 401, JSON.stringify(forged).slice(0, 300));
    assert.equal(seen.length, 3);
    assert.ok(errors.every((error) => error instanceof PosthornError && error.code === "unauthenticated"));

    const failed = await post(url, await signTestPayload(faulty, secret));
    assert.equal(failed.status, 500);
    assert.equal(await failed.text(), "The endpoint failed to handle the event.\n");
    assert.match(String(errors.at(-1)), /the shop is closed/);
    assert.deepEqual(faults, [], "with onError, the framework gets no error");
    const get = await fetch(`${url}/hooks`);
    assert.ok([404, 405].includes(get.status));
  });

  test(`${name}: without onError, errors of handlers reach the framework`, async (t) => {
    const { handlers } = recorder();
    const faults: unknown[] = [];
    const url = await mount(t, handlers, faults);
    assert.equal((await post(url, await signTestPayload(faulty, secret))).status, 500);
    assert.deepEqual(faults.map(String), ["Error: the shop is closed"]);
    assert.equal((await post(url, await signTestPayload(event, otherSecret))).status, 401);
    assert.equal(faults.length, 1, "a forged webhook is not an error of the application");
  });
}

const limited = ["Express without a body parser", "Fastify with its own JSON parser", "Hono without a middleware"];
limited.push("Next route handler", "Next API route without a body parser");

for (const name of limited) {
  test(`${name}: a huge body is rejected with 413, and a disconnected client does no harm`, async (t) => {
    const { seen, errors, handlers, onError } = recorder();
    const url = await working[name]!(t, { ...handlers, onError, maxBytes: 10_000 }, []);
    const huge = await signTestPayload(JSON.stringify({ ...event, padding: "x".repeat(5_000_000) }), secret, {
      id: "evt_1",
    });
    assert.equal((await post(url, huge)).status, 413);
    assert.match(String(errors[0]), /larger than 10000 bytes/);
    // The same in chunks, without a content length.
    const body = new ReadableStream({
      pull: (controller) => controller.enqueue(new TextEncoder().encode("x".repeat(5000))),
    });
    const init = { method: "POST", body, headers: huge.headers, duplex: "half" };
    const endless = await fetch(`${url}/hooks`, init as RequestInit).catch((error: Error) => error);
    // The server may close the connection while the client still writes.
    assert.ok(endless instanceof Error || endless.status === 413);
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    const head = "POST /hooks HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{";
    await new Promise<void>((resolve) => socket.write(head, () => resolve()));
    const before = errors.length;
    socket.destroy();
    if (!name.startsWith("Hono") && !name.startsWith("Next route"))
      await until("the handler to see the lost connection", () => errors.length > before);
    assert.equal((await post(url, await signTestPayload(event, secret))).status, 204);
    assert.deepEqual(seen, [event.id]);
  });
}

const consumed: [name: string, mount: Mount, advice: RegExp][] = [
  ["Express after express.json()", expressWith((app) => app.use(express.json())), /before express\.json\(\).*rawBody/],
  [
    "Express after a middleware that reads the stream",
    expressWith((app) =>
      app.use(async (request: IncomingMessage, _response: ServerResponse, next: () => void) => {
        for await (const _ of request);
        next();
      }),
    ),
    /before express\.json\(\)/,
  ],
  [
    "Hono after reading c.req.raw",
    honoWith((app) =>
      app.use(async (c, next) => {
        await c.req.raw.text();
        await next();
      }),
    ),
    /c\.req\.text\(\)/,
  ],
  ["Next API route with its body parser", nextPages(true), /export const config = \{ api: \{ bodyParser: false \} \}/],
  [
    "Fastify with only the handler of the route",
    async (t, options, faults) => {
      const app = fastify();
      app.setErrorHandler(async (error, _request, reply) => {
        faults.push(error);
        return await reply.code(500).send("error");
      });
      app.post("/hooks", (request, reply) => forFastify.webhookRoute(options).handler(request, reply));
      return await startFastify(t, app);
    },
    /Pass the whole result of webhookRoute/,
  ],
];

for (const [name, mount, advice] of consumed) {
  test(`${name}: the error says that the body was consumed, and how to keep it`, async (t) => {
    const { seen, errors, handlers, onError } = recorder();
    const good = await signTestPayload(event, secret);
    const faults: unknown[] = [];
    const quiet = await mount(t, handlers, faults);
    assert.equal((await post(quiet, good)).status, 500);
    const url = await mount(t, { ...handlers, onError }, []);
    assert.equal((await post(url, good)).status, 500);
    assert.equal(faults.length, 1);
    for (const error of [faults[0], errors[0]]) {
      assert.ok(error instanceof PosthornError);
      assert.match(error.message, /^The body was read before the webhook handler/);
      assert.match(error.message, advice);
    }
    assert.deepEqual(seen, []);
  });
}

test("Next route handler: a request whose body was read says so", async () => {
  const request = new Request("https://app.example/hooks", {
    method: "POST",
    ...(await signTestPayload(event, secret)),
  });
  await request.text();
  await assert.rejects(forNext.webhookHandler({ secret, onEvent: () => {} })(request), /The body was read before/);
});

test("an error thrown by onError reaches the framework and does not end the process", async (t) => {
  for (const mount of Object.values(working)) {
    const faults: unknown[] = [];
    const onError = () => {
      throw new Error("the log is full");
    };
    const url = await mount(t, { secret, onEvent: () => {}, onError }, faults);
    assert.equal((await post(url, await signTestPayload(event, otherSecret))).status, 500);
    assert.deepEqual(faults.map(String), ["Error: the log is full"]);
  }
});

test("a handler without options, with no event handler or with a wrong one is refused when it is created", () => {
  for (const create of [
    forExpress.webhookHandler,
    forFastify.webhookRoute,
    forHono.webhookHandler,
    forNext.webhookHandler,
    forNext.pagesWebhookHandler,
  ] as ((options?: unknown) => unknown)[]) {
    assert.throws(() => create(), /options: must be an object with the secret and handlers/);
    assert.throws(() => create({ secret, onBounced: undefined }), /onEvent: is missing/);
    assert.throws(() => create({ secret, onEvent() {}, maxBytes: "1mb" }), /maxBytes: must be a number/);
    assert.throws(() => create({ secret, onEvent() {}, toleranceSeconds: "5m" }), /toleranceSeconds: must be a number/);
    assert.throws(() => create({ secret, onBounce: () => {} }), /onEvent: is missing/);
    assert.throws(() => create({ secret, onBounced: "remove" }), /onBounced: must be a function, not a string/);
  }
});

test("a secret that is not set is an error of the setup, not of the webhook", async (t) => {
  for (const mount of Object.values(working)) {
    const faults: unknown[] = [];
    const url = await mount(t, { secret: undefined as never, onEvent: () => {} }, faults);
    assert.equal((await post(url, await signTestPayload(event, secret))).status, 500);
    assert.match(String(faults[0]), /secret: must be the webhook's signing secret/);
  }
});
