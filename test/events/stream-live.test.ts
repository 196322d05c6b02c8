/** Streams that have caught up get new events by a push. Every protocol gets each event once and in order, between heartbeats too, and a client that
 * does not read for a while misses nothing. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { request as http1, type IncomingMessage } from "node:http";
import { type ClientHttp2Session, connect as http2 } from "node:http2";
import type { Readable } from "node:stream";
import { after, before, test } from "node:test";
import { createClient } from "@connectrpc/connect";
import {
  compressionGzip,
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from "@connectrpc/connect-node";
import { EmailService } from "../../src/gen/v1/email_pb.ts";
import { addEvents, numbers, type StreamForm, type StreamTestbed, startStreamTestbed } from "../harness/streams.ts";
import { until } from "../harness/wait.ts";

let testbed: StreamTestbed;
let session: ClientHttp2Session;
before(async () => {
  testbed = await startStreamTestbed({ POSTHORN_STREAM_HEARTBEAT_MS: "150" });
  session = http2(testbed.program.url);
});
after(async () => {
  session?.destroy();
  await testbed?.stop();
});

type Seen = { cursor: string; id: string };

test("live streams of every protocol get each event once and in order, small and large ones", async () => {
  const { program, database, workspaceId } = testbed;
  const { sql } = database;
  const first = (await testbed.table()).length + 1;
  const disconnect = new AbortController();
  const readers: { name: string; seen: Seen[]; heartbeats: number; isOpen: boolean; ended: Promise<unknown> }[] = [];
  const forms: StreamForm[] = ["lines", "sse", "connect"];
  const opened = await Promise.all(
    forms.map(async (form) => {
      const stream = await testbed.open({ cursor: "latest" }, { form });
      await stream.until("the first message", ({ messages }) => messages.length > 0);
      return { form, stream };
    }),
  );
  const options = { baseUrl: program.url };
  const acceptCompression = [compressionGzip];
  for (const [name, transport] of Object.entries({
    "Connect, HTTP/1.1, JSON": createConnectTransport({ ...options, httpVersion: "1.1", useBinaryFormat: false }),
    "Connect, HTTP/1.1, gzip": createConnectTransport({ ...options, httpVersion: "1.1", acceptCompression }),
    "Connect, HTTP/2": createConnectTransport({ ...options, httpVersion: "2", acceptCompression: [] }),
    "gRPC, gzip": createGrpcTransport({ ...options, acceptCompression }),
    "gRPC-Web": createGrpcWebTransport({ ...options, httpVersion: "1.1", acceptCompression: [] }),
  })) {
    const reader = {
      name,
      seen: [] as Seen[],
      heartbeats: 0,
      isOpen: false,
      ended: Promise.resolve() as Promise<unknown>,
    };
    const read = async () => {
      const call = { headers: { authorization: `Bearer ${program.key}` }, signal: disconnect.signal };
      for await (const { cursor, event } of createClient(EmailService, transport).streamEvents(
        { cursor: "latest" },
        call,
      )) {
        if (event) reader.seen.push({ cursor, id: event.id });
        else if (reader.isOpen) reader.heartbeats += 1;
        reader.isOpen = true;
      }
    };
    reader.ended = read().catch(() => {});
    readers.push(reader);
  }
  await until("all streams to be open", () => readers.every(({ isOpen }) => isOpen));

  const text = (bytes: number) => ({ from: "ann@there.test", body: randomBytes(bytes / 2).toString("hex") });
  for (const { count, bytes } of [
    ...[
      { count: 1, bytes: 10 },
      { count: 30, bytes: 10 },
      { count: 3, bytes: 3_000 },
      { count: 1, bytes: 100_000 },
    ],
    ...[
      { count: 40, bytes: 5_000 },
      { count: 600, bytes: 10 },
      { count: 1, bytes: 10 },
    ],
  ]) {
    await addEvents(sql, workspaceId, count, { type: "email.received", payload: text(bytes) });
    // So that the next ones arrive at streams that have caught up and have sent a heartbeat.
    const heartbeats = readers.map((reader) => reader.heartbeats);
    await until("a heartbeat of each stream", () => readers.every((one, i) => one.heartbeats > heartbeats[i]!));
  }
  const expected = (await testbed.table()).slice(first - 1).map(({ number, id }) => ({ cursor: number, id }));
  const all = [
    ...readers,
    ...opened.map(({ form, stream }) => ({
      name: form,
      get seen() {
        return stream.events().map(({ cursor, event }) => ({ cursor, id: event.id }));
      },
    })),
  ];
  await until("all events", () => all.every(({ seen }) => seen.length >= expected.length));
  for (const { name, seen } of all) assert.deepEqual(seen, expected, name);
  disconnect.abort();
  for (const { stream } of opened) stream.leave();
  await Promise.all(readers.map(({ ended }) => ended));
});

test("live streams with a filter get the events that match, and heartbeats with the cursors of the others", async () => {
  const { database, workspaceId } = testbed;
  const first = (await testbed.table()).length + 1;
  const chosen = await testbed.open({ cursor: "latest", types: ["email.received"] });
  const none = await testbed.open({ cursor: "latest", types: ["email.sent"] });
  for (const stream of [chosen, none]) await stream.until("the first message", ({ messages }) => messages.length > 0);
  for (const type of ["domain.updated", "email.received", "domain.updated"])
    await addEvents(database.sql, workspaceId, 10, { type, payload: {} });
  const last = String(first + 29);
  for (const stream of [chosen, none])
    await stream.until("the last cursor", ({ messages }) => messages.at(-1)!.cursor === last);
  assert.deepEqual(
    chosen.events().map(({ cursor }) => cursor),
    numbers(first + 10, first + 19),
  );
  assert.deepEqual(none.events(), []);
  for (const stream of [chosen, none]) stream.leave();
});

test("a client that stops reading a live stream for a while gets the rest in order, and others do not wait for it", async () => {
  const { database, workspaceId, program } = testbed;
  const path = "/v1.EmailService/StreamEvents";
  const headers = {
    authorization: `Bearer ${program.key}`,
    "content-type": "application/json",
    "connect-protocol-version": "1",
  };
  const overHttp1 = () =>
    new Promise<Readable>((resolve, reject) => {
      const options = { method: "POST", path, headers, agent: false };
      http1(program.url + path, options, (response: IncomingMessage) => resolve(response))
        .on("error", reject)
        .end('{"cursor":"latest"}');
    });
  const overHttp2 = () =>
    new Promise<Readable>((resolve, reject) => {
      const stream = session.request({ ":method": "POST", ":path": path, ...headers });
      stream.on("error", reject);
      stream.on("response", () => resolve(stream));
      stream.end('{"cursor":"latest"}');
    });
  const first = (await testbed.table()).length + 1;
  const paused = await Promise.all([overHttp1(), overHttp2()]);
  const live = await testbed.open({ cursor: "latest" });
  await live.until("the first message", ({ messages }) => messages.length > 0);
  const payload = { from: "ann@there.test", body: randomBytes(10_000).toString("hex") };
  const count = 600;
  for (let added = 0; added < count; added += 20) {
    await addEvents(database.sql, workspaceId, 20, { type: "email.received", payload });
    await live.until("the events at the live reader", (stream) => stream.events().length >= added + 20);
  }
  for (const stream of paused) {
    const seen: string[] = [];
    let rest = "";
    for await (const chunk of stream) {
      const lines = (rest + String(chunk)).split("\n");
      rest = lines.pop()!;
      for (const line of lines) {
        const { cursor, event } = JSON.parse(line) as { cursor: string; event?: unknown };
        if (event) seen.push(cursor);
      }
      if (seen.length >= count) break;
    }
    assert.deepEqual(seen, numbers(first, first + count - 1));
  }
  live.leave();
});
