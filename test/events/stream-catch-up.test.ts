/** Many readers that catch up at once: each gets the log exactly once and in order, pages are encoded once, and neither unary calls nor the
 * readers of another workspace wait for them. The fault "streams: 1,000 readers catch up at once" measures the times. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, test } from "node:test";
import { createClient } from "@connectrpc/connect";
import { compressionGzip, createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node";
import { EmailService } from "../../src/gen/v1/email_pb.ts";
import { addLog, catchUpForms, startCatchUpReaders } from "../harness/catch-up-readers.ts";
import { addEvents, numbers, readStream, type StreamTestbed, startStreamTestbed } from "../harness/streams.ts";
import { until } from "../harness/wait.ts";

const logEvents = 5000;
/** Pages start at multiples of this number. */
const pageSize = 200;
let testbed: StreamTestbed;
let key: string;
before(async () => {
  testbed = await startStreamTestbed();
  key = await addLog(testbed.database.sql, logEvents);
});
after(async () => await testbed?.stop());

async function pagesBy(how: "encoded" | "shared"): Promise<number> {
  const text = await (await fetch(`${testbed.program.opsUrl}/metrics`)).text();
  return Number(new RegExp(`^posthorn_event_pages_total\\{how="${how}"\\} (\\d+)`, "m").exec(text)?.[1] ?? 0);
}

test("readers that catch up at once get the whole log, from pages that are encoded once", async () => {
  const { url } = testbed.program;
  const { events } = await readStream(url, { key, request: { cursor: "0", follow: false } });
  assert.deepEqual(
    events.map(({ cursor }) => cursor),
    numbers(1, logEvents),
  );
  // The bodies of one reader in each form are the reference for all others.
  const forms = await catchUpForms(url, key);
  const before = { encoded: await pagesBy("encoded"), shared: await pagesBy("shared") };
  const readers = await startCatchUpReaders({ url, key, readers: 50, forms });
  try {
    let answered = 0;
    while (readers.behind() === 50 && readers.wrong().length === 0) {
      const { status } = await testbed.program.call("DomainService/ListDomains");
      assert.equal(status, 200);
      await testbed.send("delivered");
      if (readers.behind() === 50) answered += 1;
    }
    await readers.untilCaughtUp();
    assert.deepEqual(readers.wrong(), []);
    assert.ok(answered > 0, "unary calls are answered while all readers are behind");
    const pages = logEvents / pageSize;
    const encoded = (await pagesBy("encoded")) - before.encoded;
    const shared = (await pagesBy("shared")) - before.shared;
    // Pages are kept for ten seconds, so a slow machine may encode some of them again.
    assert.ok(encoded + shared >= 50 * pages, `${encoded} encoded, ${shared} shared`);
    assert.ok(
      encoded <= (50 * pages) / 4,
      `${encoded} pages were encoded for 50 readers of ${pages} pages in two forms`,
    );
  } finally {
    await readers.stop();
  }
});

test("a reader of another workspace does not wait for readers that catch up", async () => {
  const { url } = testbed.program;
  const otherKey = await addLog(testbed.database.sql, 3 * pageSize);
  const readers = await startCatchUpReaders({ url, key, readers: 200, forms: await catchUpForms(url, key) });
  try {
    await until("all readers to have started", () => readers.started() === 200);
    const { events, end } = await readStream(url, { key: otherKey, request: { cursor: "0", follow: false } });
    const behind = readers.behind();
    assert.deepEqual([events.length, end.code], [3 * pageSize, "ok"]);
    assert.ok(behind > 100, `only ${behind} of 200 readers were behind`);
    await readers.untilCaughtUp();
    assert.deepEqual(readers.wrong(), []);
  } finally {
    await readers.stop();
  }
});

test("readers with any cursor get the rest of the log, within pages and at their ends", async () => {
  const cursors = [1, 137, pageSize - 1, pageSize, pageSize + 1, logEvents - 1, logEvents];
  const streams = await Promise.all(
    cursors.map((cursor) =>
      readStream(testbed.program.url, { key, request: { cursor: String(cursor), follow: false } }),
    ),
  );
  for (const [i, { events, end }] of streams.entries()) {
    assert.equal(end.code, "ok");
    assert.deepEqual(
      events.map(({ cursor }) => cursor),
      numbers(cursors[i]! + 1, logEvents),
    );
  }
});

test("a log that retention has cut in the middle of a page is read from its oldest event", async () => {
  const { sql } = testbed.database;
  const cutKey = await addLog(sql, 500);
  const { events } = await readStream(testbed.program.url, { key: cutKey, request: { cursor: "499", follow: false } });
  const [row] = await sql<{ workspaceId: string }[]>`
    select workspace_id as "workspaceId" from events where id = ${events[0]!.event.id.replace("evt_", "")}`;
  await sql`delete from events where workspace_id = ${row!.workspaceId} and number <= 50`;
  await sql`update event_counters set oldest = 51 where workspace_id = ${row!.workspaceId}`;
  for (const [cursor, first] of [
    ["0", 51],
    ["50", 51],
    ["60", 61],
  ] as const) {
    const rest = await readStream(testbed.program.url, { key: cutKey, request: { cursor, follow: false } });
    assert.deepEqual(
      rest.events.map((one) => one.cursor),
      numbers(first, 500),
    );
  }
});

test("large events are compressed for clients that accept it, and arrive unchanged from every cursor", async () => {
  const { program, database, workspaceId } = testbed;
  const first = (await testbed.table()).length + 1;
  const body = `${randomBytes(5000).toString("hex")}${"compressible ".repeat(2000)}`;
  await addEvents(database.sql, workspaceId, 40, { type: "email.replied", payload: { from: "ann@there.test", body } });
  const headers = { authorization: `Bearer ${program.key}` };
  const acceptCompression = [compressionGzip];
  const transports = [
    createConnectTransport({ baseUrl: program.url, httpVersion: "2", acceptCompression }),
    createConnectTransport({ baseUrl: program.url, httpVersion: "1.1", useBinaryFormat: false, acceptCompression }),
    createGrpcTransport({ baseUrl: program.url, acceptCompression }),
    createGrpcTransport({ baseUrl: program.url, acceptCompression: [] }),
  ];
  for (const transport of transports) {
    for (const skipped of [0, 1, 7, 39]) {
      const request = { cursor: String(first - 1 + skipped), follow: false };
      const seen: string[] = [];
      for await (const { cursor, event } of createClient(EmailService, transport).streamEvents(request, { headers })) {
        if (event?.payload.case !== "replied") continue;
        assert.equal(event.payload.value.body, body);
        seen.push(cursor);
      }
      assert.deepEqual(seen, numbers(first + skipped, first + 39));
    }
  }
});
