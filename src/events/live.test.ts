import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as immediate } from "node:timers/promises";
import type { StreamOutput } from "../http/stream-output.ts";
import { createLive, type LiveOptions } from "./live.ts";
import { createPage, type Page } from "./page.ts";
import type { Cuts } from "./rules.ts";
import type { StoredEvent } from "./store.ts";

const event = (number: number, payload: Record<string, unknown> = { domain: "example.test" }): StoredEvent => ({
  number: String(number),
  id: "01890000-0000-7000-8000-000000000000",
  type: number % 2 === 0 ? "domain.updated" : "email.received",
  emailId: null,
  messageId: null,
  metadata: {},
  payload,
  createdAt: new Date(0),
});

/** A log with streams whose clients take everything until they are full. */
function setUp({ keeps = true } = {}) {
  const events: StoredEvent[] = [];
  let cuts: Cuts = [];
  let forgotten = 0;
  let encoded = 0;
  const pages = new Map<string, Page>();
  let kept = 0;
  const live = createLive({
    workspaceId: "w",
    log: {
      head: () => BigInt(events.length),
      cuts: () => cuts,
      after: (number) => (number < forgotten ? undefined : events.slice(Number(number))),
    },
    catchUp: {
      pushTurn: () => immediate(),
      async pageInMemory(_workspaceId, key, content) {
        const onEncoded = () => {
          encoded += 1;
        };
        const page = pages.get(key) ?? createPage({ ...content, onEncoded, onShared() {} });
        pages.set(key, page);
        return page;
      },
      keep() {
        if (!keeps) return undefined;
        kept += 1;
        return () => {
          kept -= 1;
        };
      },
    },
  });

  function open(options: Partial<LiveOptions> = {}) {
    const client = { numbers: [] as number[], bytes: [] as Uint8Array[], isFull: false, woken: 0 };
    const output: StreamOutput = {
      format: () => ({ form: "lines", compression: undefined }),
      replaceNext: () => assert.fail("not while the stream is live"),
      push({ bytes }) {
        client.bytes.push(bytes);
        for (const line of Buffer.from(bytes).toString().trimEnd().split("\n"))
          client.numbers.push(Number(JSON.parse(line).cursor));
        return !client.isFull;
      },
      drained: async () => {},
    };
    const position = BigInt(events.length);
    const wake = () => {
      client.woken += 1;
    };
    const stream = live.add({
      position,
      cuts,
      types: [],
      emailId: undefined,
      inboundText: true,
      output,
      wake,
      ...options,
    });
    return Object.assign(client, stream);
  }

  return {
    open,
    add(...payloads: (Record<string, unknown> | undefined)[]) {
      for (const payload of payloads) events.push(event(events.length + 1, payload));
      live.push();
    },
    async settled() {
      for (let i = 0; i < 20; i++) await immediate();
    },
    cut(names: Cuts) {
      cuts = names;
    },
    forget(before: number) {
      forgotten = before;
    },
    encoded: () => encoded,
    kept: () => kept,
  };
}

test("streams at the same event share the bytes, and those that join later get what follows", async () => {
  const log = setUp();
  const [one, two] = [log.open(), log.open()];
  log.add(undefined, undefined);
  await log.settled();
  assert.deepEqual(
    [one.numbers, two.numbers],
    [
      [1, 2],
      [1, 2],
    ],
  );
  assert.equal(one.bytes[0]!.buffer, two.bytes[0]!.buffer);
  assert.equal(log.encoded(), 1);
  const late = log.open();
  log.add(undefined);
  await log.settled();
  assert.deepEqual([one.numbers, late.numbers], [[1, 2, 3], [3]]);
  assert.equal(one.position(), 3n);
  assert.equal(one.woken + two.woken + late.woken, 0);
});

test("events that arrive during a push are not lost", async () => {
  const log = setUp();
  const streams = Array.from({ length: 5 }, () => log.open());
  for (let i = 0; i < 10; i++) {
    log.add(undefined);
    await immediate();
  }
  await log.settled();
  for (const { numbers } of streams) assert.deepEqual(numbers, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
});

test("a stream gets only the events of its choice, and passes the others without a write", async () => {
  const log = setUp();
  const chosen = log.open({ types: ["domain.updated"] });
  const none = log.open({ types: ["email.sent"] });
  log.add(undefined, undefined, undefined, undefined, undefined);
  await log.settled();
  assert.deepEqual(chosen.numbers, [2, 4]);
  assert.deepEqual([none.numbers, none.pushedAt()], [[], undefined]);
  assert.deepEqual([chosen.position(), none.position()], [5n, 5n]);
});

test("a stream whose client does not take the bytes goes on by itself, and holds its page until it is released", async () => {
  const log = setUp();
  const [slow, other] = [log.open(), log.open()];
  slow.isFull = true;
  log.add(undefined);
  await log.settled();
  log.add(undefined);
  await log.settled();
  assert.deepEqual([slow.numbers, slow.woken, slow.position()], [[1], 1, 1n]);
  assert.deepEqual(other.numbers, [1, 2]);
  assert.equal(log.kept(), 1);
  slow.release();
  assert.equal(log.kept(), 0);
});

test("a stream that leaves gets nothing more", async () => {
  const log = setUp();
  const [gone, other] = [log.open(), log.open()];
  log.add(undefined);
  gone.leave();
  await log.settled();
  assert.deepEqual([gone.numbers, gone.position(), other.numbers], [[], 0n, [1]]);
});

test("large events are pushed in pieces, and an event larger than a piece is left to the stream", async () => {
  const log = setUp();
  const stream = log.open();
  const large = { body: "x".repeat(30_000) };
  log.add(large, undefined, large, undefined, large);
  await log.settled();
  assert.deepEqual(stream.numbers, [1, 2, 3, 4, 5]);
  assert.ok(stream.bytes.length > 1 && stream.bytes.every(({ length }) => length <= 32 * 1024));
  log.add(undefined, { body: "x".repeat(70_000) });
  await log.settled();
  assert.deepEqual([stream.numbers.at(-1), stream.position(), stream.woken], [6, 6n, 1]);
});

test("streams go on by themselves when events are gone from memory, when the log was cut, or when others hold too many pages", async () => {
  for (const happen of [
    { fault: (log: ReturnType<typeof setUp>) => log.forget(1) },
    { fault: (log: ReturnType<typeof setUp>) => log.cut(["0aaaa"]) },
    { fault() {}, keeps: false },
  ]) {
    const log = setUp(happen);
    const stream = log.open();
    happen.fault(log);
    log.add(undefined);
    await log.settled();
    assert.deepEqual([stream.numbers, stream.position(), stream.woken], [[], 0n, 1]);
  }
});
