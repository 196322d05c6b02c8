/** emails.*: requests as the server decodes them, and arguments that are rejected before a request is sent. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { create, toJson } from "@bufbuild/protobuf";
import {
  EmailService,
  SendEmailRequestSchema,
  SendEmailResponseSchema,
  type SendEmailRequest as Wire,
} from "../../src/gen/v1/email_pb.ts";
import type { PosthornError, SendEmail } from "../src/index.ts";
import { type Peer, rejection, startPeer } from "./peer.ts";

let peer: Peer;
let received: Wire[] = [];

before(async () => {
  peer = await startPeer({
    routes: (router) =>
      router.service(EmailService, {
        sendEmail(request) {
          received.push(request);
          return create(SendEmailResponseSchema, { id: "em_1", status: 1, messageId: "<1@example.com>" });
        },
        sendEmailBatch(request) {
          received.push(...request.emails);
          return {
            data: [
              { id: "em_1", status: 1 },
              { error: { code: "invalid_argument", violations: [{ field: "to", description: "is required" }] } },
            ],
            accepted: 1,
            refused: 1,
          };
        },
        getEmail: ({ id }) => ({ email: { id, status: 3, recipients: [{ address: "ada@example.net", status: 4 }] } }),
        updateEmail: ({ id, scheduledAt }) => ({ email: { id, scheduledAt }, message: "done" }),
        cancelEmail: ({ id }) => ({ email: { id }, canceledRecipients: 2, message: "done" }),
        getEmailContent: () => ({ raw: new TextEncoder().encode("Subject: ä\r\n\r\n"), body: "text", html: "<p>" }),
      }),
  });
});

after(() => peer.close());

/** Sends an email and returns the request that the server received, as JSON. */
async function sent(email: SendEmail): Promise<Record<string, unknown>> {
  received = [];
  await peer.client.emails.send(email);
  assert.equal(received.length, 1);
  return toJson(SendEmailRequestSchema, received[0]!) as Record<string, unknown>;
}

const base = { from: "Shop <shop@example.com>", to: "ada@example.net", subject: "Hello" };

test("recipients may be a string or an array, times a Date or a string, and other fields are sent unchanged", async () => {
  assert.deepEqual(await sent(base), { ...base, to: ["ada@example.net"] });
  const full = await sent({
    ...base,
    to: ["ada@example.net", "Grace <grace@example.net>"],
    cc: "carl@example.net",
    bcc: ["bea@example.net"],
    body: "Hello",
    html: "<p>Hello</p>",
    metadata: { order: "1042" },
    scheduledAt: new Date("2030-01-02T03:04:05.678Z"),
    expiresAt: "2030-01-03T00:00:00Z",
    inReplyTo: "<0@example.net>",
    references: "<0@example.net>",
    async: true,
    headers: { "X-Order": "1042" },
    replyToAddresses: "help@example.com",
    requireTls: true,
  });
  assert.deepEqual(full, {
    ...base,
    to: ["ada@example.net", "Grace <grace@example.net>"],
    cc: ["carl@example.net"],
    bcc: ["bea@example.net"],
    body: "Hello",
    html: "<p>Hello</p>",
    metadata: { order: "1042" },
    scheduledAt: "2030-01-02T03:04:05.678Z",
    expiresAt: "2030-01-03T00:00:00Z",
    inReplyTo: "<0@example.net>",
    references: ["<0@example.net>"],
    async: true,
    headers: { "X-Order": "1042" },
    replyToAddresses: ["help@example.com"],
    requireTls: true,
  });
});

test("an empty subject is sent, not omitted", async () => {
  assert.equal((await sent({ ...base, subject: "" })).subject, "");
});

test("replyTo is sent as replyToEmailId", async () => {
  const request = await sent({ ...base, replyTo: "em_01938a52" });
  assert.equal(request.replyToEmailId, "em_01938a52");
});

test("an attachment may be a Buffer, a slice of one, bytes, a Blob, a File or base64", async () => {
  const bytes = Uint8Array.from({ length: 100_000 }, (_, i) => i * 7);
  const base64 = Buffer.from(bytes).toString("base64");
  const slice = Buffer.concat([Buffer.alloc(3), bytes, Buffer.alloc(5)]).subarray(3, 3 + bytes.length);
  const contents = [Buffer.from(bytes), slice, bytes, bytes.slice().buffer, new Blob([bytes]), base64];
  const { attachments } = await sent({
    ...base,
    attachments: [
      ...contents.map((content) => ({ content, filename: "a.bin" })),
      { content: new File([bytes], "photo.png", { type: "image/png" }), contentId: "photo" },
    ],
  });
  const expected = { base64Content: base64, filename: "a.bin" };
  assert.deepEqual(attachments, [
    ...contents.map(() => expected),
    { base64Content: base64, filename: "photo.png", contentType: "image/png", contentId: "photo" },
  ]);
});

test("invalid arguments are rejected before a request is sent", async () => {
  const mistakes: [change: object, field: string, message: RegExp][] = [
    [{ text: "Hello" }, "text", /use body instead/],
    [{ color: "red" }, "color", /is not a field of an email/],
    [{ replyTo: "help@example.com" }, "replyTo", /replyToAddresses/],
    [{ scheduledAt: new Date("tomorrow") }, "scheduledAt", /invalid date/],
    [{ attachments: [{ content: "aGk=" }] }, "attachments[0].filename", /is required/],
    [{ attachments: [{ content: 7, filename: "a" }] }, "attachments[0].content", /base64 string/],
  ];
  const requestsBefore = peer.requests.length;
  for (const [change, field, message] of mistakes) {
    const error = await rejection<PosthornError>(peer.client.emails.send({ ...base, ...change } as SendEmail));
    assert.equal(error.code, "invalid_argument");
    assert.equal(error.violations[0]!.field, field);
    assert.match(error.message, message);
  }
  assert.equal(peer.requests.length, requestsBefore);
});

test("a batch is one request with one idempotency key and one result per email", async () => {
  received = [];
  const response = await peer.client.emails.sendBatch([base, { ...base, to: [] }], { idempotencyKey: "night-run" });
  assert.deepEqual(
    received.map(({ to }) => to),
    [["ada@example.net"], []],
  );
  assert.equal(peer.requests.at(-1)!.headers["idempotency-key"], "night-run");
  assert.equal(response.data[0]!.status, "EMAIL_STATUS_QUEUED");
  assert.deepEqual(response.data[1]!.error!.violations, [{ field: "to", description: "is required" }]);
});

test("a scheduled email gets another time, as a Date or as text", async () => {
  const scheduledAt = new Date("2030-01-02T03:04:05.678Z");
  for (const time of [scheduledAt, scheduledAt.toISOString()]) {
    const { email } = await peer.client.emails.update("em_1", { scheduledAt: time });
    assert.equal(email.id, "em_1");
    assert.deepEqual(new Date(email.scheduledAt!), scheduledAt);
  }
  const wrong = peer.client.emails.update("em_1", { scheduledAt: new Date("tomorrow") });
  assert.equal((await rejection<PosthornError>(wrong)).violations[0]!.field, "scheduledAt");
});

test("an email is read, its content is decoded, and it is canceled", async () => {
  const email = await peer.client.emails.get("em_1");
  assert.equal(email.status, "EMAIL_STATUS_SENT");
  assert.equal(email.recipients[0]!.status, "RECIPIENT_STATUS_DELIVERED");
  const { raw, body } = await peer.client.emails.content("em_1");
  assert.equal(new TextDecoder().decode(raw), "Subject: ä\r\n\r\n");
  assert.equal(body, "text");
  assert.equal((await peer.client.emails.cancel("em_1")).canceledRecipients, 2);
});
