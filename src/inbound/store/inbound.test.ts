import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { makeBareWorkspace } from "../../../test/harness/mail.ts";
import { makeUuid, toWireId } from "../../postgres/ids.ts";
import { receivedPayload, repliedPayload } from "../rules/events.ts";
import { createInboundStore, type NewInbound } from "./inbound.ts";

let database: TestDatabase;
let store: ReturnType<typeof createInboundStore>;
let workspaceId: string;
before(async () => {
  database = await createTestDatabase();
  workspaceId = await makeBareWorkspace(database.sql);
  store = createInboundStore(database.sql, { onStored() {} });
});
after(async () => {
  await store.idle();
  await database.drop();
});

type About = { messageId: string; body?: string; html?: string; parentId?: string };

function messageOf({ messageId, body = "Hello", html = "", parentId }: About): NewInbound {
  const id = makeUuid(Date.now());
  const to = ["us@sender.test"];
  const common = { from: "a@there.test", to, subject: "Re:", body, html, messageId, inReplyTo: "" };
  const payload = parentId
    ? repliedPayload({ ...common, newText: body, parentEmailId: toWireId("email", parentId) })
    : receivedPayload({ ...common, inboundId: toWireId("inbound", id), autoSubmitted: false });
  return {
    id,
    workspaceId,
    domainId: id,
    domain: "sender.test",
    recipients: to.map((address) => ({ address, fingerprint: `${messageId} ${address}` })),
    sender: "a@there.test",
    from: "a@there.test",
    subject: "Re:",
    messageId,
    inReplyTo: undefined,
    kind: parentId ? "reply" : "received",
    autoSubmitted: false,
    contentHash: "",
    summary: { references: [], attachments: [] },
    texts: { body, newText: body, html },
    verdicts: {},
    event: { id: makeUuid(Date.now()), type: parentId ? "email.replied" : "email.received", payload },
    parent: parentId ? { id: parentId, messageId: "<p@sender.test>", metadata: { a: "b" } } : undefined,
    raw: Buffer.from(`Message-ID: ${messageId}\r\n\r\n${body}`),
  };
}

async function payloadsOf(items: readonly NewInbound[]): Promise<Record<string, unknown>[]> {
  const rows = await database.sql<{ payload: Record<string, unknown> }[]>`
    select payload from unnest(${items.map(({ event }) => event.id)}::uuid[]) with ordinality i(id, position) join events e using (id)
    order by position`;
  return rows.map(({ payload }) => payload);
}

test("the event has the texts of the message, also when they are sent to the database once", async () => {
  const items = [
    messageOf({ messageId: "<text@there.test>" }),
    messageOf({ messageId: "<both@there.test>", html: '<p>"Hello" \\ \u2028</p>', body: "Hello\n\u{1f600}" }),
    messageOf({ messageId: "<long@there.test>", body: "x".repeat(300_000), html: "<p>short</p>" }),
    messageOf({ messageId: "<reply@there.test>", parentId: makeUuid(Date.now()) }),
  ];
  assert.deepEqual(await Promise.all(items.map(store.store)), [true, true, true, true]);
  assert.deepEqual(
    await payloadsOf(items),
    items.map(({ event }) => JSON.parse(JSON.stringify(event.payload))),
  );
  const rows = await database.sql<{ id: string; body: string; html: string }[]>`
    select id, body, html from inbound_messages where workspace_id = ${workspaceId}`;
  const texts = new Map(rows.map(({ id, body, html }) => [id, { body, html }]));
  for (const { id, texts: own } of items) assert.deepEqual(texts.get(id), own && { body: own.body, html: own.html });
});

test("a message that arrives again changes nothing, in the same batch or later", async () => {
  const again = () => messageOf({ messageId: "<again@there.test>" });
  const items = [again(), again()];
  assert.deepEqual((await Promise.all(items.map(store.store))).toSorted(), [false, true]);
  assert.equal(await store.store(again()), false);
  assert.equal((await payloadsOf(items)).length, 1);
});
