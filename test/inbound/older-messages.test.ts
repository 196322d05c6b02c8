/** Messages that an earlier version stored, without texts and positions of attachments: they are parsed once, in fair turns. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { makeUuid, toWireId } from "../../src/postgres/ids.ts";
import { deliverInbound, type InboundTestbed, startInboundTestbed } from "../harness/inbound.ts";
import { makeWorkspace } from "../harness/workspaces.ts";

let testbed: InboundTestbed;
before(async () => {
  testbed = await startInboundTestbed();
});
after(async () => await testbed.stop());

const raw = `From: ann@there.test
Subject: older
Content-Type: multipart/mixed; boundary=b

--b
Content-Type: text/plain; charset=utf-8

Grüße${"\n".repeat(60_000)}
> quoted
--b
Content-Type: text/csv
Content-Disposition: attachment; filename=a.csv
Content-Transfer-Encoding: base64

YSxiCg==
--b--
`;

/** Copies of the message as an earlier version stored it, in the workspace of this key. */
async function older(count: number, workspaceId: string): Promise<string[]> {
  const { sql } = testbed.database;
  const ids = Array.from({ length: count }, () => makeUuid(Date.now()));
  await sql`
    insert into inbound_messages (workspace_id, id, domain_id, domain, recipients, sender, from_address, subject, kind, content_hash,
      size_bytes, summary, verdicts)
    select ${workspaceId}::uuid, n.id, domain_id, domain, recipients, sender, from_address, 'copy', kind, content_hash, size_bytes,
      summary - 'positions', verdicts
    from inbound_messages, unnest(${ids}::uuid[]) as n(id) where subject = 'older'`;
  await sql`
    insert into inbound_contents (workspace_id, inbound_id, piece, data)
    select ${workspaceId}::uuid, n.id, c.piece, c.data
    from inbound_messages m join inbound_contents c on c.inbound_id = m.id, unnest(${ids}::uuid[]) as n(id) where m.subject = 'older'`;
  return ids;
}

async function workspaces(): Promise<{ ours: string; theirs: { id: string; key: string } }> {
  const { sql } = testbed.database;
  const key = await makeWorkspace(sql, "theirs");
  const rows = await sql<{ id: string; name: string }[]>`select id, name from workspaces`;
  const idOf = (name: string) => rows.find((row) => row.name === name)!.id;
  return { ours: idOf("default"), theirs: { id: idOf("theirs"), key } };
}

const read = (id: string, key?: string) =>
  testbed.call("InboundService/GetInbound", { id: toWireId("inbound", id) }, key ? { key } : {});

test("an older message is parsed at its first read, and a workspace that reads many does not stop another", async () => {
  await deliverInbound(testbed, { to: "us@sender.test", raw });
  const { ours, theirs } = await workspaces();
  const { sql } = testbed.database;
  const [first] = await older(1, ours);
  const answer = await read(first!);
  assert.equal(answer.status, 200, JSON.stringify(answer.body).slice(0, 300));
  assert.match(answer.body.body as string, /^Grüße\n+> quoted$/);
  assert.equal(answer.body.newText, "Grüße");
  const attachment = await testbed.call("InboundService/GetInboundAttachment", {
    id: toWireId("inbound", first!),
    attachmentId: "1",
  });
  assert.equal(Buffer.from(attachment.body.content as string, "base64").toString(), "a,b\n");
  const [row] = await sql<{ body: string }[]>`select body from inbound_messages where id = ${first!}`;
  assert.equal(row!.body, answer.body.body);
  await sql`delete from inbound_contents where inbound_id = ${first!}`;
  assert.equal((await read(first!)).status, 200, "the second read does not parse");

  const many = await older(150, ours);
  const [one] = await older(1, theirs.id);
  const order: string[] = [];
  const reads = many.map((id) =>
    read(id).then((result) => {
      order.push("ours");
      return result;
    }),
  );
  const other = await read(one!, theirs.key);
  order.push("theirs");
  assert.equal(other.status, 200);
  const results = await Promise.all(reads);
  assert.ok(order.indexOf("theirs") < 150, order.join());
  for (const { status, body } of results) {
    assert.ok(status === 200 || status === 429, `${status} ${JSON.stringify(body).slice(0, 200)}`);
    if (status === 429) assert.match(JSON.stringify(body), /RetryInfo/);
  }
  assert.ok(results.some(({ status }) => status === 200));
});

test("equal reads at the same time are one", async () => {
  const { ours } = await workspaces();
  const [id] = await older(1, ours);
  const answers = await Promise.all(Array.from({ length: 100 }, () => read(id!)));
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
});

test("a message with more lines than mail may have today can still be read", async () => {
  const { ours } = await workspaces();
  const [id] = await older(1, ours);
  const long = Buffer.from(`Subject: long\r\n\r\nabove${"\r\n".repeat(150_000)}below`);
  await testbed.database.sql`delete from inbound_contents where inbound_id = ${id!}`;
  await testbed.database.sql`
    insert into inbound_contents (workspace_id, inbound_id, piece, data) values (${ours}, ${id!}, 0, ${long.toString("base64")})`;
  const answer = await read(id!);
  assert.match(answer.body.body as string, /^above\n{150000}below$/);
});
