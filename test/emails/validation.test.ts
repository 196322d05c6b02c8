import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { create, toBinary } from "@bufbuild/protobuf";
import { SendEmailRequestSchema } from "../../src/gen/v1/email_pb.ts";
import { type Violation, violationsOf } from "../harness/sending.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";

let testbed: Testbed;
before(async () => {
  testbed = await startTestbed();
});
after(async () => await testbed.stop());

async function violations(request: Record<string, unknown>): Promise<Violation[]> {
  const { status, body } = await testbed.send(request);
  assert.equal(status, 400, JSON.stringify(body).slice(0, 500));
  assert.equal(body.code, "invalid_argument");
  return violationsOf(body);
}

const days = (count: number) => new Date(Date.now() + count * 86_400_000).toISOString();
const file = { filename: "a.txt", contentType: "text/plain", base64Content: "AA==" };
const many = <T>(count: number, make: (i: number) => T) => Array.from({ length: count }, (_, i) => make(i));
const entries = (count: number) => Object.fromEntries(many(count, (i) => [`k${i}`, "v"]));

/** Each request has one problem. The description contains the limit and the given value. */
const rejected: [name: string, request: Record<string, unknown>, field: string, description: RegExp][] = [
  ["no sender", { from: "" }, "from", /required/],
  ["no recipient", { to: [] }, "to", /required/],
  ["no subject", { subject: undefined }, "subject", /required/],
  [
    "51 recipients",
    {
      to: many(20, (i) => `t${i}@there.test`),
      cc: many(20, (i) => `c${i}@there.test`),
      bcc: many(11, (i) => `b${i}@there.test`),
    },
    "to",
    /51.*50/,
  ],
  ["a subject of 999 characters", { subject: "s".repeat(999) }, "subject", /999.*998/],
  ["101 attachments", { attachments: many(101, () => file) }, "attachments", /101.*100/],
  ["51 metadata entries", { metadata: entries(51) }, "metadata", /51.*50/],
  [
    "a metadata key of 65 characters",
    { metadata: { ["k".repeat(65)]: "v" } },
    `metadata["${"k".repeat(64)}"]`,
    /65.*64/,
  ],
  ["an empty metadata key", { metadata: { "": "v" } }, 'metadata[""]', /0 characters.*64/],
  ["a metadata value of 1025 characters", { metadata: { big: "v".repeat(1025) } }, 'metadata["big"]', /1025.*1024/],
  ["NUL in metadata", { metadata: { bad: "a\0b" } }, 'metadata["bad"]', /NUL/],
  ["scheduledAt 31 days ahead", { scheduledAt: days(31) }, "scheduledAt", /20\d\d-.*30 days/],
  ["scheduledAt 6 minutes in the past", { scheduledAt: days(-6 / 1440) }, "scheduledAt", /20\d\d-.*5 minutes/],
  ["expiresAt before scheduledAt", { scheduledAt: days(2), expiresAt: days(1) }, "expiresAt", /later/],
  ["expiresAt too far ahead", { expiresAt: days(31) }, "expiresAt", /30 days/],
  ["CR in the subject", { subject: "a\rBcc: x@y.test" }, "subject", /CR, LF or NUL/],
  ["LF in the subject", { subject: "a\nb" }, "subject", /CR, LF or NUL/],
  ["NUL in the text", { body: "a\0b" }, "body", /NUL/],
  ["NUL in the html", { html: "a\0b" }, "html", /NUL/],
  ["line break in an address", { to: ["a@there.test\r\nBcc: b@there.test"] }, "to[0]", /control character/],
  ["line break in a display name", { from: "A\nB <news@sender.test>" }, "from", /control character/],
  ["two addresses in one entry", { to: ["a@there.test, b@there.test"] }, "to[0]", /one address/i],
  ["a quoted local part", { to: ['"x@evil x"@there.test'] }, "to[0]", /Quoted/],
  ["a comment", { cc: ["a(b)@there.test"] }, "cc[0]", /Comments/],
  ["a group", { bcc: ["all: a@there.test;"] }, "bcc[0]", /:|group|control|@/i],
  ["no @", { to: ["ok@there.test", "nobody"] }, "to[1]", /no @/],
  ["a non-ASCII sender", { from: "jürgen@sender.test" }, "from", /ASCII/],
  ["a non-ASCII Reply-To", { replyToAddresses: ["jürgen@sender.test"] }, "replyToAddresses[0]", /ASCII/],
  ["11 Reply-To addresses", { replyToAddresses: many(11, (i) => `r${i}@sender.test`) }, "replyToAddresses", /11.*10/],
  ["bad base64", { attachments: [file, { ...file, base64Content: "a*b" }] }, "attachments[1].base64Content", /base64/],
  [
    "truncated base64",
    { attachments: [{ ...file, base64Content: "AAAAA" }] },
    "attachments[0].base64Content",
    /base64/,
  ],
  ["no file name", { attachments: [{ ...file, filename: "" }] }, "attachments[0].filename", /required/],
  ["line break in a file name", { attachments: [{ ...file, filename: "a\r\nb" }] }, "attachments[0]", /control/],
  ["a bad MIME type", { attachments: [{ ...file, contentType: "text" }] }, "attachments[0]", /type/i],
  ["a bad content id", { attachments: [{ ...file, contentId: "a b" }] }, "attachments[0]", /content id/],
  [
    "a header that Posthorn sets",
    { headers: { "DKIM-Signature": "v=1" } },
    'headers["DKIM-Signature"]',
    /cannot be set/,
  ],
  ["a Bcc header", { headers: { bcc: "x@there.test" } }, 'headers["bcc"]', /cannot be set/],
  ["a header with a line break", { headers: { "X-A": "1\r\nBcc: x@there.test" } }, 'headers["X-A"]', /line break/],
  ["a bad header name", { headers: { "X A": "1" } }, 'headers["X A"]', /not valid/],
  ["a header twice", { headers: { "X-A": "1", "x-a": "2" } }, 'headers["x-a"]', /twice/],
  ["51 headers", { headers: Object.fromEntries(many(51, (i) => [`X-${i}`, "1"])) }, "headers", /51.*50/],
  ["a bad inReplyTo", { inReplyTo: "not an id" }, "inReplyTo", /Message-ID/],
  ["a bad reference", { references: ["<a@b.test>", "<a b>"] }, "references[1]", /Message-ID/],
  ["51 references", { references: many(51, (i) => `<${i}@b.test>`) }, "references", /51.*50/],
];

for (const [name, request, field, description] of rejected) {
  test(`rejected with the field's name: ${name}`, async () => {
    const found = await violations(request);
    assert.deepEqual(
      found.map((violation) => violation.field),
      [field],
      JSON.stringify(found),
    );
    assert.match(found[0]!.description, description);
  });
}

test("a message of more than 40 MiB is rejected, and the error contains both sizes", async () => {
  const attachments = [{ ...file, base64Content: Buffer.alloc(31 * 1024 * 1024).toString("base64") }];
  const [violation] = await violations({ attachments });
  assert.equal(violation!.field, "attachments");
  assert.match(violation!.description, /4[2-5]\d{6} bytes.*41943040/);
});

test("an unpaired surrogate is rejected in every text field", async () => {
  // JSON.stringify writes it as an escape, so it reaches the server in this form.
  for (const field of ["subject", "body", "html"]) {
    const { status, body } = await testbed.send({ [field]: "a\ud800b" });
    assert.equal(status, 400, field);
    assert.equal(body.code, "invalid_argument");
  }
});

test("a binary request with times that no calendar has is refused, and names them", async () => {
  const time = { seconds: 9_000_000_000_000n, nanos: 0 };
  const request = create(SendEmailRequestSchema, {
    from: "news@sender.test",
    to: ["a@there.test"],
    subject: "Hello",
    body: "Hello",
    scheduledAt: time,
    expiresAt: time,
  });
  const answer = await fetch(`${testbed.program.url}/v1.EmailService/SendEmail`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${testbed.program.key}`,
      "content-type": "application/proto",
      "connect-protocol-version": "1",
    },
    body: new Uint8Array(toBinary(SendEmailRequestSchema, request)),
  });
  const body = (await answer.json()) as Record<string, unknown>;
  assert.equal(body.code, "invalid_argument", JSON.stringify(body));
  const fields = violationsOf(body).map(({ field }) => field);
  assert.deepEqual(fields.sort(), ["expiresAt", "scheduledAt"]);
});

test("one error reports all problems of a request, and nothing is stored", async () => {
  const found = await violations({
    from: "nobody",
    to: ["a@there.test", "b@@there.test"],
    cc: ["c"],
    subject: "a\nb",
    body: "\0",
    metadata: { x: "v".repeat(2000) },
    scheduledAt: days(99),
    attachments: [{ ...file, base64Content: "*" }],
    headers: { From: "x" },
    references: ["a b"],
  });
  assert.deepEqual(found.map(({ field }) => field).sort(), [
    "attachments[0].base64Content",
    "body",
    "cc[0]",
    "from",
    'headers["From"]',
    'metadata["x"]',
    "references[0]",
    "scheduledAt",
    "subject",
    "to[1]",
  ]);
  const [row] = await testbed.database.sql<{ n: number }[]>`select count(*)::int as n from emails`;
  assert.equal(row!.n, 0);
});

test("a request exactly at each limit is accepted", async () => {
  const { status, body } = await testbed.send({
    to: many(50, (i) => `t${i}@there.test`),
    subject: "s".repeat(998),
    metadata: { ...entries(49), ["k".repeat(64)]: "v".repeat(1024) },
    attachments: many(100, (i) => ({ ...file, filename: `${i}.txt` })),
    scheduledAt: days(29.99),
    replyToAddresses: many(10, (i) => `r${i}@sender.test`),
    headers: Object.fromEntries(many(50, (i) => [`X-${i}`, "1"])),
    references: many(50, (i) => `<${i}@b.test>`),
  });
  assert.equal(status, 200, JSON.stringify(body));
});
