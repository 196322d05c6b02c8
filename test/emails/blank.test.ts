/** An email without body, html and attachment is rejected. The error names unknown fields and suggests the right ones. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { json } from "node:stream/consumers";
import { after, before, test } from "node:test";
import { gzipSync } from "node:zlib";
import { ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { requestHash } from "../../src/emails/rules/idempotency.ts";
import { BadRequestSchema } from "../../src/gen/google/rpc/error_details_pb.ts";
import { EmailService } from "../../src/gen/v1/email_pb.ts";
import { runCommand } from "../harness/program.ts";
import { accepted, violationsOf } from "../harness/sending.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";

let testbed: Testbed;
before(async () => {
  testbed = await startTestbed();
});
after(async () => await testbed.stop());

const envelope = { from: "news@sender.test", to: ["a@there.test"], subject: "Hello" };
const required = "is required: an email needs body, html or an attachment";

async function countEmails(): Promise<number> {
  const [row] = await testbed.database.sql<{ n: number }[]>`select count(*)::int as n from emails`;
  return row!.n;
}

/** Makes a call that must be rejected, and returns its violations. */
async function rejection(request: object, method = "SendEmail") {
  const { status, body } = await testbed.call(`EmailService/${method}`, request);
  assert.deepEqual([status, body.code], [400, "invalid_argument"], JSON.stringify(body));
  return { message: body.message as string, violations: violationsOf(body) };
}

test("an email without content is rejected, and nothing is stored", async () => {
  const before = await countEmails();
  for (const content of [{}, { body: "" }, { html: "" }, { body: "", html: "", attachments: [] }, { body: null }]) {
    const { message, violations } = await rejection({ ...envelope, ...content });
    assert.deepEqual(violations, [{ field: "body", description: required }], JSON.stringify(content));
    assert.equal(message, `body: ${required}`);
  }
  assert.equal(await countEmails(), before);
});

test("html alone, an attachment alone, and a body of spaces each count as content", async () => {
  const file = { filename: "a.txt", contentType: "text/plain", base64Content: "" };
  for (const content of [{ body: "", html: "<p>Hi</p>" }, { body: "", attachments: [file] }, { body: " " }])
    await accepted(testbed, content);
});

test("field names of other email services are reported with our names for them", async () => {
  const cases = [
    [{ text: "Hi" }, "The request has an unknown field: text (use body)"],
    [{ HtmlBody: "<p>", TextBody: "Hi" }, "The request has unknown fields: HtmlBody (use html), TextBody (use body)"],
    [{ bdoy: "Hi", priority: 1 }, "The request has unknown fields: bdoy (use body), priority"],
    [
      { template: { id: "welcome" } },
      "The request has an unknown field: template (render the template yourself and use html)",
    ],
  ] as const;
  for (const [content, hint] of cases) {
    const { violations } = await rejection({ ...envelope, ...content });
    assert.deepEqual(violations, [{ field: "body", description: `${required}. ${hint}` }]);
  }
});

test("missing content is reported together with every other problem", async () => {
  const { violations } = await rejection({ ...envelope, to: ["nobody"], text: "Hi", reply_to: "a@b.test" });
  assert.deepEqual(
    violations.map(({ field }) => field),
    ["to[0]", "body"],
  );
  assert.match(violations[1]!.description, /text \(use body\), reply_to \(use replyToAddresses\)$/);
});

test("unknown fields are ignored in an email with content and in other methods", async () => {
  await accepted(testbed, { body: "Hi", text: "ignored", shadow: { deep: [1] } });
  const { status } = await testbed.call("EmailService/ListEmails", { pagesize: 1 });
  assert.equal(status, 200);
});

test("field names that protobuf accepts in JSON are not reported as unknown", async () => {
  const { violations } = await rejection({ ...envelope, scheduled_at: null, replyToAddresses: [], require_tls: true });
  assert.deepEqual(violations, [{ field: "body", description: required }]);
});

test("in a batch, each email without content is rejected at its own position", async () => {
  const emails = [{ body: "Hi" }, { text: "Hi" }, {}, { html: "<p>" }, { Html: "<p>" }].map((one) => ({
    ...envelope,
    ...one,
  }));
  const { status, body } = await testbed.call("EmailService/SendEmailBatch", { emails, text: "not of an email" });
  assert.equal(status, 200, JSON.stringify(body));
  const data = body.data as { error?: { code: string; violations: { field: string; description: string }[] } }[];
  assert.deepEqual(
    data.map(({ error }) =>
      error?.violations.map(({ field, description }) => `${field} ${description.slice(required.length)}`),
    ),
    [
      undefined,
      ["body . The request has an unknown field: text (use body)"],
      ["body "],
      undefined,
      ["body . The request has an unknown field: Html (use html)"],
    ],
  );
  assert.deepEqual([body.accepted, body.refused], [2, 3]);
});

test("a chunked or compressed request, which Connect parses, gets the same error", async () => {
  const text = JSON.stringify({ ...envelope, text: "Hi" });
  const headers = {
    authorization: `Bearer ${testbed.program.key}`,
    "content-type": "application/json",
    "connect-protocol-version": "1",
  };
  const encodings: [object, Buffer][] = [
    [{ "transfer-encoding": "chunked" }, Buffer.from(text)],
    [{ "content-encoding": "gzip" }, gzipSync(text)],
  ];
  for (const [extra, body] of encodings) {
    const call = httpRequest(`${testbed.program.url}/v1.EmailService/SendEmail`, {
      method: "POST",
      headers: { ...headers, ...extra },
    });
    call.end(body);
    const [response] = await once(call, "response");
    assert.equal(response.statusCode, 400);
    const [violation] = violationsOf((await json(response)) as Record<string, unknown>);
    assert.match(violation!.description, /unknown field: text \(use body\)$/, JSON.stringify(extra));
  }
  // Unknown fields of one request do not show up in the error of the next.
  const emails = { emails: [{ ...envelope }] };
  const call = httpRequest(`${testbed.program.url}/v1.EmailService/SendEmailBatch`, {
    method: "POST",
    headers: { ...headers, "transfer-encoding": "chunked" },
  });
  call.end(JSON.stringify(emails));
  const [response] = await once(call, "response");
  const { data } = (await json(response)) as { data: { error: { message: string } }[] };
  assert.equal(data[0]!.error.message, `body: ${required}`);
});

test("gRPC, whose messages contain no field names, gets the error without a hint", async () => {
  const client = createClient(EmailService, createGrpcTransport({ baseUrl: testbed.program.url }));
  const headers = { authorization: `Bearer ${testbed.program.key}` };
  const error = await client.sendEmail(envelope, { headers }).then(
    () => assert.fail("accepted"),
    (reason) => ConnectError.from(reason),
  );
  const [detail] = error.findDetails(BadRequestSchema);
  assert.deepEqual(
    detail!.fieldViolations.map(({ field, description }) => ({ field, description })),
    [{ field: "body", description: required }],
  );
});

test("posthorn send without a body reports what is missing", async () => {
  const { dataDir } = testbed.program;
  const args = ["send", "--from", "news@sender.test", "--subject", "Hello", "--body", "", "a@there.test"];
  const { code, stdout, stderr } = await runCommand(args, { dataDir, databaseUrl: testbed.database.url });
  assert.deepEqual([code, stdout], [1, ""]);
  assert.ok(stderr.includes(`body: ${required}`), stderr);
});

test("an email without content that an earlier release accepted gets the same response again under its idempotency key", async () => {
  const key = { "idempotency-key": "before" };
  const { status, body: first } = await testbed.send({ to: ["a@there.test"], body: "Hi" }, key);
  assert.equal(status, 200);
  // Simulates an earlier release: the row contains the hash of a request without content. All fields are written out, so that a field
  // added to the contract later does not change what that release has stored.
  const blank = {
    from: "News <news@sender.test>",
    to: ["a@there.test"],
    cc: [],
    bcc: [],
    subject: "Hello",
    body: "",
    html: "",
    metadata: {},
    scheduledAt: undefined,
    expiresAt: undefined,
    attachments: [],
    inReplyTo: "",
    references: [],
    headers: {},
    replyToEmailId: "",
    replyToAddresses: [],
    requireTls: false,
    unsubscribe: undefined,
  };
  await testbed.database.sql`update idempotency set request_hash = ${requestHash(blank)} where key = 'before'`;
  const again = await testbed.send({ to: ["a@there.test"], body: "" }, key);
  assert.deepEqual([again.status, again.body.id], [200, first.id]);
});
