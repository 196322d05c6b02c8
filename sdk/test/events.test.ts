/** events.*: nothing missed and nothing twice over broken connections, the place kept over restarts, handlers called in order. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError, type HandlerContext } from "@connectrpc/connect";
import { EmailService, type StreamEventsRequest, type StreamEventsResponseSchema } from "../../src/gen/v1/email_pb.ts";
import { BounceType } from "../../src/gen/v1/event_pb.ts";
import { until } from "../../test/harness/wait.ts";
import { type Event, memoryCursorStore, type Posthorn, type PosthornError, type StreamOptions } from "../src/index.ts";
import { fileCursorStore } from "../src/node.ts";
import { rejection, startPeer } from "./peer.ts";

type Message = MessageInitShape<typeof StreamEventsResponseSchema>;
type Play = (request: StreamEventsRequest, context: HandlerContext, turn: number) => AsyncIterable<Message>;

interface Stage {
  client: Posthorn;
  asked: StreamEventsRequest[];
}

/** A server whose stream is played by the test, connection by connection. */
async function stage(t: TestContext, play: Play, instead?: Parameters<typeof startPeer>[0]["instead"]): Promise<Stage> {
  const asked: StreamEventsRequest[] = [];
  const peer = await startPeer({
    instead,
    routes: (router) =>
      router.service(EmailService, {
        streamEvents(request, context) {
          asked.push(request);
          return play(request, context, asked.length);
        },
      }),
  });
  t.after(() => peer.close());
  return { client: peer.client, asked };
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

/** Stays open until the client leaves. */
async function untilLeft({ signal }: HandlerContext): Promise<void> {
  await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
}

test("the stream gives events and keeps cursors without an event to itself", async (t) => {
  const { client, asked } = await stage(t, async function* (_request, context) {
    yield { cursor: "0" };
    yield delivered(1);
    yield { cursor: "1" };
    yield bounced(2);
    await untilLeft(context);
  });
  const events: Event[] = [];
  for await (const { event } of client.events.stream({
    types: ["email.delivered", "email.bounced"],
    emailId: "em_1",
  })) {
    events.push(event);
    if (events.length === 2) break;
  }
  assert.deepEqual(asked[0]!.types, ["email.delivered", "email.bounced"]);
  assert.equal(asked[0]!.cursor, "0");
  assert.equal(asked[0]!.emailId, "em_1");
  const [first, second] = events;
  assert.ok(first?.type === "email.delivered" && second?.type === "email.bounced");
  assert.deepEqual(first.delivered.recipients, ["r1@example.net"]);
  assert.equal(second.bounced.bounceType, "BOUNCE_TYPE_PERMANENT");
});

test("leaving the loop closes the connection", async (t) => {
  let isOpen = false;
  const { client } = await stage(t, async function* (_request, context) {
    isOpen = true;
    yield delivered(1);
    await untilLeft(context).then(() => {
      isOpen = false;
    });
  });
  assert.deepEqual(await take(client, 1), ["1"]);
  await until("the server to see the client leave", () => !isOpen);
});

test("a broken connection is made again from the last event taken", async (t) => {
  const ends: (() => Promise<never>)[] = [
    () => Promise.reject(new ConnectError("stopping", Code.Unavailable)),
    () => Promise.reject(new ConnectError("too slow", Code.ResourceExhausted)),
    () => Promise.reject(new Error("a fault of the server's")),
  ];
  const { client, asked } = await stage(t, async function* ({ cursor }, context, turn) {
    const from = Number(cursor);
    yield { cursor };
    for (let i = 1; i <= 3; i++) yield delivered(from + i);
    const end = ends[turn - 1];
    await (end ? end() : untilLeft(context));
  });
  const lost: string[] = [];
  const cursors = await take(client, 12, { cursor: "5", onReconnect: ({ error }) => lost.push(error.code) });
  assert.deepEqual(
    cursors,
    Array.from({ length: 12 }, (_, i) => String(6 + i)),
  );
  assert.deepEqual(
    asked.map(({ cursor }) => cursor),
    ["5", "8", "11", "14"],
  );
  assert.deepEqual(lost, ["unavailable", "resource_exhausted", "internal"]);
});

test("a connection cut within a message, and a stream that ends by itself, lose nothing", async (t) => {
  let turn = 0;
  const { client, asked } = await stage(
    t,
    async function* ({ cursor }, context) {
      yield delivered(Number(cursor) + 1);
      if (cursor !== "0") await untilLeft(context);
    },
    (_request, response) => {
      turn += 1;
      if (turn !== 2) return false;
      response.writeHead(200, { "content-type": "application/connect+json" });
      response.write(Buffer.from([0, 0, 0, 0, 200, 123]), () => response.destroy());
      return true;
    },
  );
  assert.deepEqual(await take(client, 2), ["1", "2"]);
  assert.deepEqual(
    asked.map(({ cursor }) => cursor),
    ["0", "1"],
  );
  assert.equal(turn, 3);
});

test("what a new connection cannot mend is thrown", async (t) => {
  for (const [code, name] of [
    [Code.OutOfRange, "out_of_range"],
    [Code.Unauthenticated, "unauthenticated"],
    [Code.PermissionDenied, "permission_denied"],
    [Code.InvalidArgument, "invalid_argument"],
  ] as const) {
    // biome-ignore lint/correctness/useYield: a stream that fails before its first message
    const { client, asked } = await stage(t, async function* () {
      throw new ConnectError("kept are 40 to 90", code);
    });
    const error = await rejection<PosthornError>(take(client, 1, { cursor: "3" }));
    assert.equal(error.code, name);
    assert.equal(error.message, "kept are 40 to 90");
    assert.equal(error.requestId, "request-1");
    assert.equal(asked.length, 1);
  }
});

test("without follow the stream ends at the newest event", async (t) => {
  const { client, asked } = await stage(t, async function* () {
    yield delivered(1);
    yield delivered(2);
  });
  assert.deepEqual(await take(client, 99, { follow: false }), ["1", "2"]);
  assert.equal(asked[0]!.follow, false);
});

test("a signal ends the stream quietly, while it reads and while it waits", async (t) => {
  const { client } = await stage(t, async function* (_request, context) {
    yield delivered(1);
    await untilLeft(context);
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

test("a store keeps the place for the next process", async (t) => {
  const { client, asked } = await stage(t, async function* ({ cursor }, context) {
    yield { cursor: cursor === "latest" ? "7" : cursor };
    for (let i = 1; i <= 3; i++) yield delivered((Number(cursor) || 7) + i);
    await untilLeft(context);
  });
  const folder = await mkdtemp(join(tmpdir(), "posthorn-sdk-"));
  t.after(() => rm(folder, { recursive: true }));
  const file = join(folder, "places", "orders");
  for (const store of [memoryCursorStore(), fileCursorStore(file)]) {
    asked.length = 0;
    // Left at the third event: two are handled, the third is not.
    assert.deepEqual(await take(client, 3, { store, cursor: "latest" }), ["8", "9", "10"]);
    assert.deepEqual(await take(client, 1, { store, cursor: "latest" }), ["10"]);
    assert.deepEqual(
      asked.map(({ cursor }) => cursor),
      ["latest", "9"],
    );
  }
  assert.equal(await readFile(file, "utf8"), "9\n");
  await writeFile(file, "");
  assert.equal((await rejection<PosthornError>(take(client, 1, { store: fileCursorStore(file) }))).code, "data_loss");
});

test("a store that cannot save stops the stream", async (t) => {
  const { client } = await stage(t, async function* (_request, context) {
    for (let i = 1; i <= 1000; i++) yield delivered(i);
    await untilLeft(context);
  });
  const store = { load: () => undefined, save: () => Promise.reject(new Error("the disk is full")) };
  assert.equal((await rejection(take(client, 2000, { store }))).message, "the disk is full");
});

test("handlers are called one after the other with their own kind of event", async (t) => {
  const { client, asked } = await stage(t, async function* (_request, context) {
    yield delivered(1);
    yield bounced(2);
    yield delivered(3);
    await untilLeft(context);
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
  assert.deepEqual(asked[0]!.types, ["email.delivered", "email.bounced"], "only what somebody handles is asked for");
});

test("onEvent sees every type, also one that this version does not know", async (t) => {
  const { client, asked } = await stage(t, async function* () {
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
  assert.deepEqual(asked[0]!.types, []);
});

test("what a handler throws goes to onError; without it the event comes again", async (t) => {
  const { client } = await stage(t, async function* ({ cursor }) {
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

test("listening without a handler is a mistake", async (t) => {
  const { client } = await stage(t, async function* () {});
  assert.equal((await rejection<PosthornError>(client.events.listen({}))).code, "invalid_argument");
});
