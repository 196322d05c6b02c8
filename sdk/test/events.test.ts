/** events.*: no event is lost or repeated across reconnects, cursors survive restarts, and handlers run in order. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError, type HandlerContext } from "@connectrpc/connect";
import { ErrorInfoSchema } from "../../src/gen/google/rpc/error_details_pb.ts";
import { EmailService, type StreamEventsRequest, type StreamEventsResponseSchema } from "../../src/gen/v1/email_pb.ts";
import { BounceType } from "../../src/gen/v1/event_pb.ts";
import { until } from "../../test/harness/wait.ts";
import { type Event, memoryCursorStore, type Posthorn, type PosthornError, type StreamOptions } from "../src/index.ts";
import { fileCursorStore } from "../src/node.ts";
import { rejection, startPeer } from "./peer.ts";

type Message = MessageInitShape<typeof StreamEventsResponseSchema>;
type Serve = (request: StreamEventsRequest, context: HandlerContext, connection: number) => AsyncIterable<Message>;

interface StreamServer {
  client: Posthorn;
  requests: StreamEventsRequest[];
}

/** Starts a server whose stream the test scripts, connection by connection. */
async function startStreamServer(
  t: TestContext,
  serve: Serve,
  instead?: Parameters<typeof startPeer>[0]["instead"],
): Promise<StreamServer> {
  const requests: StreamEventsRequest[] = [];
  const peer = await startPeer({
    instead,
    routes: (router) =>
      router.service(EmailService, {
        streamEvents(request, context) {
          requests.push(request);
          return serve(request, context, requests.length);
        },
      }),
  });
  t.after(() => peer.close());
  return { client: peer.client, requests };
}

function delivered(number: number): Message {
  const payload = { case: "delivered" as const, value: { recipients: [`r${number}@example.net`] } };
  return { cursor: String(number), event: { id: `evt_${number}`, type: "email.delivered", payload } };
}

function bounced(number: number): Message {
  const payload = {
    case: "bounced" as const,
    value: { recipients: ["x@example.net"], bounceType: BounceType.PERMANENT },
  };
  return { cursor: String(number), event: { id: `evt_${number}`, type: "email.bounced", payload } };
}

async function take(client: Posthorn, count: number, options: StreamOptions = {}): Promise<string[]> {
  const cursors: string[] = [];
  for await (const { cursor } of client.events.stream(options)) if (cursors.push(cursor) === count) break;
  return cursors;
}

/** Keeps the stream open until the client disconnects. */
async function untilDisconnect({ signal }: HandlerContext): Promise<void> {
  await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
}

test("the stream yields events and skips messages that have only a cursor", async (t) => {
  const { client, requests } = await startStreamServer(t, async function* (_request, context) {
    yield { cursor: "0" };
    yield delivered(1);
    yield { cursor: "1" };
    yield bounced(2);
    await untilDisconnect(context);
  });
  const events: Event[] = [];
  for await (const { event } of client.events.stream({
    types: ["email.delivered", "email.bounced"],
    emailId: "em_1",
  })) {
    events.push(event);
    if (events.length === 2) break;
  }
  assert.deepEqual(requests[0]!.types, ["email.delivered", "email.bounced"]);
  assert.equal(requests[0]!.cursor, "0");
  assert.equal(requests[0]!.emailId, "em_1");
  const [first, second] = events;
  assert.ok(first?.type === "email.delivered" && second?.type === "email.bounced");
  assert.deepEqual(first.delivered.recipients, ["r1@example.net"]);
  assert.equal(second.bounced.bounceType, "BOUNCE_TYPE_PERMANENT");
});

test("leaving the loop closes the connection", async (t) => {
  let isOpen = false;
  const { client } = await startStreamServer(t, async function* (_request, context) {
    isOpen = true;
    yield delivered(1);
    await untilDisconnect(context).then(() => {
      isOpen = false;
    });
  });
  assert.deepEqual(await take(client, 1), ["1"]);
  await until("the server to see the client disconnect", () => !isOpen);
});

test("after a lost connection the stream resumes after the last event", async (t) => {
  const ends: (() => Promise<never>)[] = [
    () => Promise.reject(new ConnectError("stopping", Code.Unavailable)),
    () => Promise.reject(new ConnectError("too slow", Code.ResourceExhausted)),
    () => Promise.reject(new Error("a bug in the server")),
  ];
  const { client, requests } = await startStreamServer(t, async function* ({ cursor }, context, connection) {
    const from = Number(cursor);
    yield { cursor };
    for (let i = 1; i <= 3; i++) yield delivered(from + i);
    const end = ends[connection - 1];
    await (end ? end() : untilDisconnect(context));
  });
  const lost: string[] = [];
  const cursors = await take(client, 12, { cursor: "5", onReconnect: ({ error }) => lost.push(error.code) });
  assert.deepEqual(
    cursors,
    Array.from({ length: 12 }, (_, i) => String(6 + i)),
  );
  assert.deepEqual(
    requests.map(({ cursor }) => cursor),
    ["5", "8", "11", "14"],
  );
  assert.deepEqual(lost, ["unavailable", "resource_exhausted", "internal"]);
});

test("no event is lost when a connection ends within a message or the server ends the stream", async (t) => {
  let connections = 0;
  const { client, requests } = await startStreamServer(
    t,
    async function* ({ cursor }, context) {
      yield delivered(Number(cursor) + 1);
      if (cursor !== "0") await untilDisconnect(context);
    },
    (_request, response) => {
      connections += 1;
      if (connections !== 2) return false;
      response.writeHead(200, { "content-type": "application/connect+json" });
      response.write(Buffer.from([0, 0, 0, 0, 200, 123]), () => response.destroy());
      return true;
    },
  );
  assert.deepEqual(await take(client, 2), ["1", "2"]);
  assert.deepEqual(
    requests.map(({ cursor }) => cursor),
    ["0", "1"],
  );
  assert.equal(connections, 3);
});

test("errors that a new connection cannot fix are thrown", async (t) => {
  for (const [code, name] of [
    [Code.OutOfRange, "out_of_range"],
    [Code.Unauthenticated, "unauthenticated"],
    [Code.PermissionDenied, "permission_denied"],
    [Code.InvalidArgument, "invalid_argument"],
  ] as const) {
    // biome-ignore lint/correctness/useYield: a stream that fails before its first message
    const { client, requests } = await startStreamServer(t, async function* () {
      throw new ConnectError("stored are 40 to 90", code);
    });
    const error = await rejection<PosthornError>(take(client, 1, { cursor: "3" }));
    assert.equal(error.code, name);
    assert.equal(error.message, "stored are 40 to 90");
    assert.equal(error.requestId, "request-1");
    assert.equal(requests.length, 1);
  }
});

test("with follow false the stream ends after the newest event", async (t) => {
  const { client, requests } = await startStreamServer(t, async function* () {
    yield delivered(1);
    yield delivered(2);
  });
  assert.deepEqual(await take(client, 99, { follow: false }), ["1", "2"]);
  assert.equal(requests[0]!.follow, false);
});

test("an abort ends the stream without an error, while reading and while waiting to reconnect", async (t) => {
  const { client } = await startStreamServer(t, async function* (_request, context) {
    yield delivered(1);
    await untilDisconnect(context);
  });
  const reading = new AbortController();
  const seen: string[] = [];
  for await (const { cursor } of client.events.stream({ signal: reading.signal })) {
    seen.push(cursor);
    reading.abort();
  }
  assert.deepEqual(seen, ["1"]);
  const gone = await startPeer({});
  await gone.close();
  const waiting = new AbortController();
  const onReconnect = () => waiting.abort();
  assert.deepEqual(await take(gone.client, 1, { signal: waiting.signal, onReconnect }), []);
});

test("a cursor store lets the next process resume", async (t) => {
  const { client, requests } = await startStreamServer(t, async function* ({ cursor }, context) {
    yield { cursor: cursor === "latest" ? "7" : cursor };
    for (let i = 1; i <= 3; i++) yield delivered((Number(cursor) || 7) + i);
    await untilDisconnect(context);
  });
  const folder = await mkdtemp(join(tmpdir(), "posthorn-sdk-"));
  t.after(() => rm(folder, { recursive: true }));
  const file = join(folder, "cursors", "orders");
  for (const store of [memoryCursorStore(), fileCursorStore(file)]) {
    requests.length = 0;
    // The consumer leaves at the third event: two are handled, the third is not.
    assert.deepEqual(await take(client, 3, { store, cursor: "latest" }), ["8", "9", "10"]);
    assert.deepEqual(await take(client, 1, { store, cursor: "latest" }), ["10"]);
    assert.deepEqual(
      requests.map(({ cursor }) => cursor),
      ["latest", "9"],
    );
  }
  assert.equal(await readFile(file, "utf8"), "9\n");
  await writeFile(file, "");
  assert.equal((await rejection<PosthornError>(take(client, 1, { store: fileCursorStore(file) }))).code, "data_loss");
});

test("the stream stops when its store cannot save", async (t) => {
  const { client } = await startStreamServer(t, async function* (_request, context) {
    for (let i = 1; i <= 1000; i++) yield delivered(i);
    await untilDisconnect(context);
  });
  const store = { load: () => undefined, save: () => Promise.reject(new Error("the disk is full")) };
  assert.equal((await rejection(take(client, 2000, { store }))).message, "the disk is full");
});

test("handlers are called one at a time, each with its own event type", async (t) => {
  const { client, requests } = await startStreamServer(t, async function* (_request, context) {
    yield delivered(1);
    yield bounced(2);
    yield delivered(3);
    await untilDisconnect(context);
  });
  const controller = new AbortController();
  const seen: string[] = [];
  let busy = false;
  await client.events.listen({
    signal: controller.signal,
    async onDelivered({ delivered }) {
      assert.ok(!busy);
      busy = true;
      await new Promise(setImmediate);
      busy = false;
      seen.push(`delivered ${delivered.recipients[0]}`);
      if (delivered.recipients[0] === "r3@example.net") controller.abort();
    },
    onBounced: ({ bounced }) => void seen.push(`bounced ${bounced.bounceType}`),
  });
  assert.deepEqual(seen, ["delivered r1@example.net", "bounced BOUNCE_TYPE_PERMANENT", "delivered r3@example.net"]);
  assert.deepEqual(requests[0]!.types, ["email.delivered", "email.bounced"], "only types with a handler are requested");
});

test("onEvent is called for every type, including types that this version does not know", async (t) => {
  const { client, requests } = await startStreamServer(t, async function* () {
    yield delivered(1);
    yield { cursor: "2", event: { id: "evt_2", type: "email.opened" } };
  });
  const seen: string[] = [];
  await client.events.listen({
    follow: false,
    onDelivered: () => void seen.push("onDelivered"),
    onEvent: ({ type }) => void seen.push(type),
  });
  assert.deepEqual(seen, ["onDelivered", "email.delivered", "email.opened"]);
  assert.deepEqual(requests[0]!.types, []);
});

test("an error from a handler is passed to onError; without onError the event is delivered again", async (t) => {
  const { client } = await startStreamServer(t, async function* ({ cursor }) {
    for (let i = Number(cursor) + 1; i <= 3; i++) yield delivered(i);
  });
  const errors: string[] = [];
  const onDelivered = ({ id }: Event) => {
    if (id === "evt_2") throw new Error("the shop is closed");
  };
  const store = memoryCursorStore();
  const error = await rejection(client.events.listen({ follow: false, store, onDelivered }));
  assert.equal(error.message, "the shop is closed");
  assert.equal(store.load(), "1");
  await client.events.listen({
    follow: false,
    store,
    onDelivered,
    onError: (error, event) => errors.push(`${event?.id}: ${(error as Error).message}`),
  });
  assert.deepEqual(errors, ["evt_2: the shop is closed"]);
  assert.equal(store.load(), "3");
});

test("listen without a handler is rejected", async (t) => {
  const { client } = await startStreamServer(t, async function* () {});
  assert.equal((await rejection<PosthornError>(client.events.listen({}))).code, "invalid_argument");
});

const cutDetails = (lastSharedCursor: string, lastSharedEventId: string) => ({
  desc: ErrorInfoSchema,
  value: { reason: "LOG_CUT", domain: "posthorn", metadata: { lastSharedCursor, lastSharedEventId } },
});

test("after a cut of the log the stream calls onLogReset and resumes from the last shared cursor", async (t) => {
  const { client, requests } = await startStreamServer(t, async function* (_request, context, connection) {
    if (connection === 1) {
      yield { cursor: "0" };
      yield delivered(1);
      yield delivered(2);
      yield delivered(3);
      throw new ConnectError("the log was cut", Code.OutOfRange, undefined, [cutDetails("1", "evt_1")]);
    }
    yield { cursor: "1", eventId: "evt_1" };
    yield { ...bounced(2), cursor: "2-1kqzvtw" };
    await untilDisconnect(context);
  });
  const store = memoryCursorStore();
  const resets: string[] = [];
  const onLogReset: StreamOptions["onLogReset"] = ({ cursor, lastSharedCursor, error }) =>
    resets.push(`${cursor} ${lastSharedCursor} ${error.code}`);
  assert.deepEqual(await take(client, 4, { store, onLogReset }), ["1", "2", "3", "2-1kqzvtw"]);
  assert.deepEqual(resets, ["3 1 out_of_range"]);
  assert.deepEqual(
    requests.map(({ cursor, afterEventId, withEventIds }) => [cursor, afterEventId, withEventIds]),
    [
      ["0", "", true],
      ["1", "evt_1", true],
    ],
  );
});

test("a server that cuts the log again and again ends the stream with its error", async (t) => {
  const { client, requests } = await startStreamServer(t, async function* () {
    yield* [];
    throw new ConnectError("the log was cut", Code.OutOfRange, undefined, [cutDetails("1", "evt_1")]);
  });
  const error = await rejection<PosthornError>(take(client, 1, { cursor: "3" }));
  assert.equal(error.code, "out_of_range");
  assert.equal(requests.length, 6);
});

test("a reconnect sends the id of the event at the cursor, also after a heartbeat and after a restart", async (t) => {
  const directory = await mkdtemp(join(tmpdir(), "posthorn-cursor-"));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const file = join(directory, "cursor");
  const { client, requests } = await startStreamServer(t, async function* (_request, context, connection) {
    if (connection === 1) {
      yield delivered(1);
      yield { cursor: "1" };
      throw new ConnectError("restart", Code.Unavailable);
    }
    if (connection === 2) {
      yield { cursor: "7", eventId: "evt_7" };
      throw new ConnectError("restart", Code.Unavailable);
    }
    if (connection === 3) {
      yield delivered(8);
      yield delivered(9);
    } else yield delivered(10);
    await untilDisconnect(context);
  });
  assert.deepEqual(await take(client, 3, { store: fileCursorStore(file) }), ["1", "8", "9"]);
  assert.deepEqual(await take(client, 1, { store: fileCursorStore(file) }), ["10"]);
  assert.deepEqual(
    requests.map(({ cursor, afterEventId }) => [cursor, afterEventId]),
    [
      ["0", ""],
      ["1", "evt_1"],
      ["7", "evt_7"],
      ["8", "evt_8"],
    ],
  );
  await writeFile(file, "3\n");
  assert.equal(await fileCursorStore(file).loadEventId?.(), undefined, "the id of another save is not used");
});
