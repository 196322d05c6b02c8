/** Reads of stored messages: the memory that they reserve, and what happens when it is used up. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/harness/database.ts";
import { makeWorkspace } from "../../test/harness/mail.ts";
import { until } from "../../test/harness/wait.ts";
import type { Resolver } from "../dns/resolver.ts";
import { type Call, CallCancellation } from "../http/call.ts";
import { makeUuid, toWireId } from "../postgres/ids.ts";
import { createReader, type Reader } from "./reader.ts";
import { createInboundService } from "./service.ts";
import { getInbound } from "./store/reads.ts";
import { createStoredMail } from "./stored.ts";
import type { Threads } from "./thread-tasks.ts";
import { createThreads } from "./threads.ts";

const mib = 1024 * 1024;
let database: TestDatabase;
let threads: Threads;
let reader: Reader;
let workspaceId: string;

before(async () => {
  database = await createTestDatabase();
  workspaceId = await makeWorkspace(database.sql);
  threads = createThreads({ resolver: {} as Resolver, onOverrun() {} });
  reader = createReader({ threads, hostname: "mx.test" });
});
after(async () => {
  await threads.stop();
  await database.drop();
});

/** Stores the row of a message of this size, with its texts and one attachment. */
async function storeMessage(sizeBytes: number, attachedBytes: number): Promise<string> {
  const id = makeUuid(Date.now());
  const summary = { references: [], attachments: [{ id: "1", sizeBytes: attachedBytes }] };
  await database.sql`
    insert into inbound_messages (workspace_id, id, domain_id, domain, recipients, sender, from_address, subject, kind, content_hash,
      size_bytes, summary, body, new_text, html)
    values (${workspaceId}, ${id}, ${id}, 'sender.test', '{us@sender.test}', '', 'a@there.test', '', 'received', '', ${sizeBytes},
      (${JSON.stringify(summary)}::text)::jsonb, 'Hello', 'Hello', '')`;
  return id;
}

function callOf(reserved: number[]): Call {
  return {
    caller: { workspaceId, keyId: "", permission: "full" } as unknown as Call["caller"],
    requestId: "",
    cancellation: new CallCancellation(),
    timeLeftMs: () => undefined,
    header: () => undefined,
    beginWrite() {},
    async reserveAnswer(bytes) {
      reserved.push(bytes);
    },
  };
}

test("GetInbound reserves memory for the texts of the message, not for its attachments", async () => {
  const { handlers } = createInboundService({ sql: database.sql, reader });
  const getInbound = handlers.getInbound as (request: { id: string }, call: Call) => Promise<{ body: string }>;
  const reserved: number[] = [];
  const id = await storeMessage(10 * mib, 8 * mib);
  assert.equal((await getInbound({ id: toWireId("inbound", id) }, callOf(reserved))).body, "Hello");
  assert.deepEqual(reserved, [6 * mib]);
});

/** A reader with memory for one message of 1 MiB, which a first read holds until `free` is called. */
async function readWithoutMemory(waitMs: number) {
  const { sql } = database;
  const id = await storeMessage(mib, 0);
  const row = await getInbound(sql, workspaceId, id);
  const stored = createStoredMail({ sql, reader, limits: { memoryBytes: 3 * mib, waitMs, waiters: 2 } });
  let free = () => {};
  const blocked = new Promise<void>((resolve) => (free = resolve));
  let isLocked = false;
  const lock = sql.begin(async (tx) => {
    await tx`lock table inbound_contents in access exclusive mode`;
    isLocked = true;
    await blocked;
  });
  await until("the content to be locked", () => isLocked);
  const read = (cancellation = new CallCancellation()) => stored.content({ workspaceId, cancellation }, row!);
  const attachment = (cancellation: CallCancellation) => stored.attachment({ workspaceId, cancellation }, row!, "1");
  const first = read();
  const end = async () => {
    free();
    await lock;
    assert.equal(await first, undefined);
  };
  return { read, attachment, end };
}
const refused = { code: "resource_exhausted", retryAfterMs: 5_000 };

test("a read that waits for memory for too long is refused with a retry delay", async () => {
  const { read, end } = await readWithoutMemory(20);
  await assert.rejects(read(), refused);
  await end();
});

test("a few reads of a workspace wait for memory, until their callers leave", async () => {
  const { read, attachment, end } = await readWithoutMemory(60_000);
  const [one, two, three] = [new CallCancellation(), new CallCancellation(), new CallCancellation()];
  const waits = [one, two].map((caller) => assert.rejects(attachment(caller), { code: "canceled" }));
  waits.push(assert.rejects(read(three), { code: "canceled" }));
  await assert.rejects(read(), refused);
  three.end("caller left");
  // The other caller of the same attachment still waits for it.
  one.end("caller left");
  const next = assert.rejects(read(two), { code: "canceled" });
  await assert.rejects(read(), refused);
  two.end("caller left");
  await Promise.all([...waits, next]);
  await end();
});
