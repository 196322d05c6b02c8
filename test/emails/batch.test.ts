import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { untilFinished } from "../harness/sending.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";

let testbed: Testbed;
before(async () => {
  testbed = await startTestbed();
});
after(async () => await testbed.stop());

type Result = {
  id: string;
  status: string;
  messageId: string;
  error?: { code: string; message: string; violations: { field: string }[] };
};
type BatchResponse = { data: Result[]; accepted: number; refused: number; code?: string };

const email = (more: object = {}) => ({
  from: "news@sender.test",
  to: ["one@there.test"],
  subject: "Hello",
  body: "x",
  ...more,
});

async function sendBatch(
  emails: unknown,
  headers: Record<string, string> = {},
): Promise<{ status: number; body: BatchResponse }> {
  const { status, body } = await testbed.call("EmailService/SendEmailBatch", { emails }, { headers });
  return { status, body: body as unknown as BatchResponse };
}

async function countEmails(): Promise<number> {
  const [row] = await testbed.database.sql<{ n: number }[]>`select count(*)::int as n from emails`;
  return row!.n;
}

test("valid emails of a batch are delivered, and each invalid one is rejected at its own position", async () => {
  const bad: [what: string, entry: object, code: string, field: string | undefined][] = [
    ["no recipient", email({ to: [] }), "invalid_argument", "to"],
    ["a broken address", email({ to: ["not an address"] }), "invalid_argument", "to[0]"],
    ["two mistakes", email({ subject: "a\r\nb", to: [] }), "invalid_argument", "subject"],
    ["an unregistered domain", email({ from: "a@elsewhere.test" }), "failed_precondition", undefined],
    ["an unknown parent", email({ replyToEmailId: "em_00000000-0000-7000-8000-000000000000" }), "not_found", undefined],
    [
      "bad base64",
      email({ attachments: [{ filename: "f", base64Content: "*" }] }),
      "invalid_argument",
      "attachments[0].base64Content",
    ],
    ["a NUL", email({ metadata: { a: "b\u0000" } }), "invalid_argument", undefined],
  ];
  const emails = bad.flatMap(([, entry], i) => [email({ to: [`good${i}@there.test`] }), entry]);
  const { status, body } = await sendBatch(emails);
  assert.equal(status, 200, JSON.stringify(body));
  assert.deepEqual([body.accepted, body.refused, body.data.length], [bad.length, bad.length, emails.length]);
  for (const [i, [what, , code, field]] of bad.entries()) {
    const good = body.data[2 * i]!;
    assert.equal(good.status, "EMAIL_STATUS_QUEUED", what);
    assert.match(good.messageId, /^<.+@sender\.test>$/);
    const refused = body.data[2 * i + 1]!;
    assert.deepEqual([refused.id, refused.error?.code], ["", code], `${what}: ${JSON.stringify(refused)}`);
    if (field)
      assert.ok(
        refused.error!.violations.some((v) => v.field === field),
        `${what}: ${JSON.stringify(refused.error)}`,
      );
    assert.equal((await untilFinished(testbed, good.id)).status, "EMAIL_STATUS_SENT", what);
  }
  assert.equal(testbed.sink.received("good0@there.test").length, 1);
});

test("a batch with an idempotency key is sent once, however often the caller repeats it", async () => {
  const emails = [email({ to: ["again@there.test"] }), email({ to: [] })];
  const headers = { "idempotency-key": "a batch" };
  const before = await countEmails();
  const responses = await Promise.all(Array.from({ length: 20 }, () => sendBatch(emails, headers)));
  for (const { status, body } of responses) {
    assert.equal(status, 200, JSON.stringify(body));
    assert.deepEqual(body, responses[0]!.body);
  }
  assert.equal(await countEmails(), before + 1);
  const other = await sendBatch([emails[0]], headers);
  assert.deepEqual([other.status, other.body.code], [409, "already_exists"]);
  const single = await testbed.send({ to: ["again@there.test"] }, headers);
  assert.deepEqual([single.status, single.body.code], [409, "already_exists"]);
});

test("a batch may contain 500 emails; 501 or none is an error", async () => {
  const many = (count: number) =>
    Array.from({ length: count }, (_, i) => email({ to: [`m${i}@there.test`], scheduledAt: later }));
  const later = new Date(Date.now() + 3_600_000).toISOString();
  const { body } = await sendBatch(many(500));
  assert.deepEqual([body.accepted, body.refused], [500, 0]);
  assert.equal(new Set(body.data.map(({ id }) => id)).size, 500);
  for (const count of [501, 0]) {
    const refused = await sendBatch(many(count));
    assert.deepEqual([refused.status, refused.body.code], [400, "invalid_argument"], String(count));
  }
});
