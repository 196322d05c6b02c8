/** Reads of stored messages: the memory that they reserve, and what happens when it is used up. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/harness/database.ts";
import { makeWorkspace } from "../../test/harness/mail.ts";
import type { Resolver } from "../dns/resolver.ts";
import { type Call, CallCancellation } from "../http/call.ts";
import { makeUuid, toWireId } from "../postgres/ids.ts";
import { createReader, type Reader } from "./reader.ts";
import { createInboundService } from "./service.ts";
import { createThreads, type Threads } from "./threads.ts";

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
