/** No blank email by accident: a send without body, html and attachment is refused, and an unknown field in it is named with the likely right one. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { json } from "node:stream/consumers";
import { after, before, test } from "node:test";
import { gzipSync } from "node:zlib";
import { ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { hashOf } from "../../src/accept/idempotency.ts";
import { BadRequestSchema } from "../../src/gen/google/rpc/error_details_pb.ts";
import { EmailService } from "../../src/gen/v1/email_pb.ts";
import { runCommand } from "../harness/program.ts";
import { accepted, violationsOf } from "../harness/sending.ts";
import { startWorld, type World } from "../harness/world.ts";

let world: World;
before(async () => {
  world = await startWorld();
});
after(async () => await world.stop());

const envelope = { from: "news@sender.test", to: ["a@there.test"], subject: "Hello" };
const need = "is required: an email needs body, html or an attachment";

async function emailsStored(): Promise<number> {
  const [row] = await world.database.sql<{ n: number }[]>`select count(*)::int as n from emails`;
  return row!.n;
}

/** The violations of a call that must be refused. */
async function refusal(request: object, method = "SendEmail") {
  const { status, body } = await world.call(`EmailService/${method}`, request);
  assert.deepEqual([status, body.code], [400, "invalid_argument"], JSON.stringify(body));
  return { message: body.message as string, violations: violationsOf(body) };
}

test("an email without content is refused, and nothing is stored", async () => {
  const before = await emailsStored();
  for (const content of [{}, { body: "" }, { html: "" }, { body: "", html: "", attachments: [] }, { body: null }]) {
    const { message, violations } = await refusal({ ...envelope, ...content });
    assert.deepEqual(violations, [{ field: "body", description: need }], JSON.stringify(content));
    assert.equal(message, `body: ${need}`);
  }
  assert.equal(await emailsStored(), before);
});

test("html alone, an attachment alone and a body of spaces are content", async () => {
  const file = { filename: "a.txt", contentType: "text/plain", base64Content: "" };
  for (const content of [{ body: "", html: "<p>Hi</p>" }, { body: "", attachments: [file] }, { body: " " }])
    await accepted(world, content);
});

test("the fields of other services are named with ours", async () => {
  const cases = [
    [{ text: "Hi" }, "The request has an unknown field: text (use body)"],
    [{ HtmlBody: "<p>", TextBody: "Hi" }, "The request has unknown fields: HtmlBody (use html), TextBody (use body)"],
    [{ bdoy: "Hi", priority: 1 }, "The request has unknown fields: bdoy (use body), priority"],
    [
      { template: { id: "welcome" } },
      "The request has an unknown field: template (render the template yourself and use html)",
    ],
  ] as const;
  for (const [content, said] of cases) {
    const { violations } = await refusal({ ...envelope, ...content });
    assert.deepEqual(violations, [{ field: "body", description: `${need}. ${said}` }]);
  }
});

test("it is reported together with every other problem", async () => {
  const { violations } = await refusal({ ...envelope, to: ["nobody"], text: "Hi", reply_to: "a@b.test" });
  assert.deepEqual(
    violations.map(({ field }) => field),
    ["to[0]", "body"],
  );
  assert.match(violations[1]!.description, /text \(use body\), reply_to \(use replyToAddresses\)$/);
});

test("with content, and in other methods, unknown fields stay ignored", async () => {
  await accepted(world, { body: "Hi", text: "ignored", shadow: { deep: [1] } });
  const { status } = await world.call("EmailService/ListEmails", { pagesize: 1 });
  assert.equal(status, 200);
});

test("names that protobuf accepts in JSON are not unknown", async () => {
  const { violations } = await refusal({ ...envelope, scheduled_at: null, replyToAddresses: [], require_tls: true });
  assert.deepEqual(violations, [{ field: "body", description: need }]);
});

test("in a batch each blank email is refused in its own place", async () => {
  const emails = [{ body: "Hi" }, { text: "Hi" }, {}, { html: "<p>" }, { Html: "<p>" }].map((one) => ({
    ...envelope,
    ...one,
  }));
  const { status, body } = await world.call("EmailService/SendEmailBatch", { emails, text: "not of an email" });
  assert.equal(status, 200, JSON.stringify(body));
  const data = body.data as { error?: { code: string; violations: { field: string; description: string }[] } }[];
  assert.deepEqual(
    data.map(({ error }) =>
      error?.violations.map(({ field, description }) => `${field} ${description.slice(need.length)}`),
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

test("a request in pieces or compressed, which Connect reads, gets the same answer", async () => {
  const text = JSON.stringify({ ...envelope, text: "Hi" });
  const headers = {
    ...{ authorization: `Bearer ${world.program.key}`, "content-type": "application/json" },
    "connect-protocol-version": "1",
  };
  const ways: [object, Buffer][] = [
    [{ "transfer-encoding": "chunked" }, Buffer.from(text)],
    [{ "content-encoding": "gzip" }, gzipSync(text)],
  ];
  for (const [extra, body] of ways) {
    const call = httpRequest(`${world.program.url}/v1.EmailService/SendEmail`, {
      method: "POST",
      headers: { ...headers, ...extra },
    });
    call.end(body);
    const [response] = await once(call, "response");
    assert.equal(response.statusCode, 400);
    const [violation] = violationsOf((await json(response)) as Record<string, unknown>);
    assert.match(violation!.description, /unknown field: text \(use body\)$/, JSON.stringify(extra));
  }
  // The next request of that kind has no memory of the one before.
  const emails = { emails: [{ ...envelope }] };
  const call = httpRequest(`${world.program.url}/v1.EmailService/SendEmailBatch`, {
    method: "POST",
    headers: { ...headers, "transfer-encoding": "chunked" },
  });
  call.end(JSON.stringify(emails));
  const [response] = await once(call, "response");
  const { data } = (await json(response)) as { data: { error: { message: string } }[] };
  assert.equal(data[0]!.error.message, `body: ${need}`);
});

test("gRPC, whose messages carry no names, gets the plain reason", async () => {
  const client = createClient(EmailService, createGrpcTransport({ baseUrl: world.program.url }));
  const headers = { authorization: `Bearer ${world.program.key}` };
  const error = await client.sendEmail(envelope, { headers }).then(
    () => assert.fail("accepted"),
    (reason) => ConnectError.from(reason),
  );
  const [detail] = error.findDetails(BadRequestSchema);
  assert.deepEqual(
    detail!.fieldViolations.map(({ field, description }) => ({ field, description })),
    [{ field: "body", description: need }],
  );
});

test("posthorn send without a text says what is missing", async () => {
  const { dataDir } = world.program;
  const args = ["send", "--from", "news@sender.test", "--subject", "Hello", "--body", "", "a@there.test"];
  const { code, stdout, stderr } = await runCommand(args, { dataDir, databaseUrl: world.database.url });
  assert.deepEqual([code, stdout], [1, ""]);
  assert.ok(stderr.includes(`body: ${need}`), stderr);
});

test("a blank email that an earlier release accepted is answered again under its idempotency key", async () => {
  const key = { "idempotency-key": "before" };
  const { status, body: first } = await world.send({ to: ["a@there.test"], body: "Hi" }, key);
  assert.equal(status, 200);
  // As if the first call had been stored without a text: the hash of the blank request stands in its row.

  const blank = {
    ...{ from: "News <news@sender.test>", to: ["a@there.test"], cc: [], bcc: [], subject: "Hello", body: "", html: "" },
    ...{ metadata: {}, scheduledAt: undefined, expiresAt: undefined, attachments: [], inReplyTo: "", references: [] },
    ...{ headers: {}, replyToEmailId: "", replyToAddresses: [], requireTls: false },
  };
  await world.database.sql`update idempotency set request_hash = ${hashOf(blank)} where key = 'before'`;
  const again = await world.send({ to: ["a@there.test"], body: "" }, key);
  assert.deepEqual([again.status, again.body.id], [200, first.id]);
});
