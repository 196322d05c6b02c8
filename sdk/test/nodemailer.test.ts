/** posthorn/nodemailer: real nodemailer sends through the transport to the real program, and the stored messages are read back. */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { after, before, test } from "node:test";
import { createTransport, type SendMailOptions } from "nodemailer";
import PostalMime, { type Email as Parsed } from "postal-mime";
import type { RunningProgram } from "../../test/harness/program.ts";
import { type Posthorn, PosthornError } from "../src/index.ts";
import { type PosthornTransportError, type PosthornTransportOptions, posthornTransport } from "../src/nodemailer.ts";
import { type RunningClient, startClient } from "./client.ts";
import { rejection, startPeer } from "./peer.ts";

let running: RunningClient;
let program: RunningProgram;
let posthorn: Posthorn;

before(async () => {
  running = await startClient({ POSTHORN_PUBLIC_URL: "https://mail.posthorn.test" });
  ({ program, posthorn } = running);
});
after(async () => await running?.stop());

function transport(options: PosthornTransportOptions = {}) {
  return createTransport(posthornTransport({ apiKey: program.key, baseUrl: program.url, ...options }));
}

const plain = { from: "shop@example.test", to: "ada@example.net", subject: "Your order", text: "Thank you." };

async function sendAndRead(message: SendMailOptions): Promise<Parsed> {
  const { id } = await transport().sendMail(message);
  return await PostalMime.parse((await posthorn.emails.content(id)).raw);
}

test("a message with nodemailer's fields arrives complete, and info describes it", async () => {
  const info = await transport().sendMail({
    from: { name: 'Shop "Grüße"', address: "shop@example.test" },
    to: ["Ada <ada@example.net>", { name: "Bob, Jr.", address: "bob@example.net" }],
    cc: "Team: carol@example.net, dave@example.net;",
    bcc: "eve@example.net",
    replyTo: "Help <help@example.test>",
    subject: "Your order — 1042",
    text: "Thank you.",
    html: "<p>Thank you.</p>",
    inReplyTo: "<first@example.net>",
    references: ["<zero@example.net>", "first@example.net"],
    priority: "high",
    xMailer: "Shop 1.0",
    headers: {
      "X-Order": "1042",
      "X-Folded": { prepared: true, value: "one\r\n two" },
      "X-Posthorn-Metadata-Order": "1042",
    },
    list: { unsubscribe: { url: "https://shop.example/leave", comment: "Leave" }, id: { url: "orders.example.test" } },
  });
  assert.deepEqual(info.envelope, {
    from: "shop@example.test",
    to: ["ada@example.net", "bob@example.net", "carol@example.net", "dave@example.net", "eve@example.net"],
  });
  assert.deepEqual([info.accepted, info.rejected, info.pending], [info.envelope.to, [], []]);
  assert.match(info.response, /^em_\S+ EMAIL_STATUS_QUEUED/);
  const email = await posthorn.emails.get(info.id);
  assert.equal(email.messageId, info.messageId);
  assert.deepEqual(email.metadata, { order: "1042" });
  assert.deepEqual(email.bcc, ["eve@example.net"]);
  const parsed = await PostalMime.parse((await posthorn.emails.content(info.id)).raw);
  assert.deepEqual(parsed.from, { name: 'Shop "Grüße"', address: "shop@example.test" });
  assert.deepEqual(parsed.to, [
    { name: "Ada", address: "ada@example.net" },
    { name: "Bob, Jr.", address: "bob@example.net" },
  ]);
  assert.deepEqual(
    parsed.cc?.map(({ address }) => address),
    ["carol@example.net", "dave@example.net"],
  );
  assert.equal(parsed.bcc, undefined);
  assert.deepEqual(parsed.replyTo, [{ name: "Help", address: "help@example.test" }]);
  assert.equal(parsed.subject, "Your order — 1042");
  assert.deepEqual([parsed.text?.trim(), parsed.html?.trim()], ["Thank you.", "<p>Thank you.</p>"]);
  assert.equal(parsed.inReplyTo, "<first@example.net>");
  assert.equal(parsed.references, "<zero@example.net> <first@example.net>");
  assert.equal(parsed.messageId, info.messageId);
  const headers = Object.fromEntries(parsed.headers.map(({ key, value }) => [key, value]));
  assert.deepEqual(
    ["x-order", "x-folded", "x-mailer", "x-priority", "importance", "list-unsubscribe", "list-id"].map(
      (name) => headers[name],
    ),
    [
      "1042",
      "one two",
      "Shop 1.0",
      "1 (Highest)",
      "High",
      "<https://shop.example/leave> (Leave)",
      "<orders.example.test>",
    ],
  );
  assert.ok(!Object.keys(headers).some((name) => name.startsWith("x-posthorn-metadata")));
});

test("attachments arrive in every form that nodemailer takes, and the caller's message is not changed", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "posthorn-nodemailer-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, "from-path.txt");
  await writeFile(path, "path");
  const server = createServer((_request, response) => response.end("href")).listen(0, "127.0.0.1");
  t.after(() => server.close());
  await new Promise((resolve) => server.once("listening", resolve));
  const href = `http://127.0.0.1:${(server.address() as AddressInfo).port}/from-href.csv`;
  const attachments = [
    { filename: "text.txt", content: "Grüße" },
    { filename: "buffer.bin", content: Buffer.from([0, 255, 1]) },
    { filename: "bytes.bin", content: new Uint8Array([7, 8]) as Buffer },
    { filename: "stream.txt", content: Readable.from([Buffer.from("str"), Buffer.from("eam")]) },
    { filename: "hex.txt", content: "686578", encoding: "hex" },
    { filename: "base64.pdf", content: "YmFzZTY0", encoding: "base64" },
    { path },
    { href },
    { path: href, filename: "path-url.csv" },
    { path: "data:text/plain;base64,ZGF0YQ==", filename: "data.txt" },
    { filename: "empty.txt", content: "" },
    { filename: "logo.png", content: Buffer.from("png"), cid: "<logo@shop>" },
    { filename: "typed", content: "{}", contentType: "application/json" },
  ];
  // nodemailer itself rewrites entries with a data URL or with a URL as path.
  const entries = [...attachments];
  const copies = attachments.slice(0, 8).map((one) => ({ ...one }));
  const parsed = await sendAndRead({ ...plain, html: '<img src="cid:logo@shop">', attachments });
  assert.ok(attachments.every((one, i) => one === entries[i]));
  assert.deepEqual(attachments.slice(0, 8), copies);
  const got = parsed.attachments.map(({ filename, mimeType, content }) => [
    filename,
    mimeType,
    Buffer.from(content as ArrayBuffer).toString("latin1"),
  ]);
  assert.deepEqual(got.sort(), [
    ["base64.pdf", "application/pdf", "base64"],
    ["buffer.bin", "application/octet-stream", "\0\xff\x01"],
    ["bytes.bin", "application/octet-stream", "\x07\x08"],
    ["data.txt", "text/plain", "data"],
    ["empty.txt", "text/plain", ""],
    ["from-href.csv", "text/csv", "href"],
    ["from-path.txt", "text/plain", "path"],
    ["hex.txt", "text/plain", "hex"],
    ["logo.png", "image/png", "png"],
    ["path-url.csv", "text/csv", "href"],
    ["stream.txt", "text/plain", "stream"],
    ["text.txt", "text/plain", Buffer.from("Grüße").toString("latin1")],
    ["typed", "application/json", "{}"],
  ]);
  assert.equal(parsed.attachments.find(({ filename }) => filename === "logo.png")?.contentId, "<logo@shop>");
  // The same attachments can be sent again, except for the stream, which nodemailer has read.
  const again = await sendAndRead({
    ...plain,
    attachments: attachments.filter(({ filename }) => filename !== "stream.txt"),
  });
  assert.equal(again.attachments.length, 12);
});

test("text and html are taken from streams, files, buffers and images in data URLs", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "posthorn-nodemailer-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, "mail.html"), "<p>file</p>");
  const one = await sendAndRead({
    ...plain,
    text: Readable.from(["stre", "am"]),
    html: { path: join(folder, "mail.html") },
  });
  assert.deepEqual([one.text?.trim(), one.html?.trim()], ["stream", "<p>file</p>"]);
  const two = await sendAndRead({
    ...plain,
    text: Buffer.from("buffer"),
    html: '<img src="data:image/png;base64,cG5n">',
    attachDataUrls: true,
  });
  assert.equal(two.text?.trim(), "buffer");
  assert.match(two.html!, /src="cid:/);
  assert.equal(two.attachments.length, 1);
  const { text: _, ...rest } = plain;
  assert.equal((await sendAndRead({ ...rest, html: "<p>Only HTML</p>" })).text?.trim(), "Only HTML");
  assert.equal((await sendAndRead({ ...rest, html: "<p>Only HTML</p>", text: "" })).text, undefined);
});

test("options in headers work as over SMTP: schedule and idempotency key", async () => {
  const scheduledAt = new Date(Date.now() + 3_600_000);
  const headers = { "x-posthorn-scheduled-at": scheduledAt.toISOString(), "X-Posthorn-Idempotency-Key": "order-1042" };
  const [first, second] = [
    await transport().sendMail({ ...plain, headers }),
    await transport().sendMail({ ...plain, headers }),
  ];
  assert.equal(first.id, second.id);
  assert.equal(first.messageId, second.messageId);
  assert.equal(new Date((await posthorn.emails.get(first.id)).scheduledAt!).getTime(), scheduledAt.getTime());
});

test("the header with a topic adds the fields of one-click unsubscribe", async () => {
  const { headers } = await sendAndRead({ ...plain, headers: { "X-Posthorn-Unsubscribe": "news" } });
  const fieldOf = (name: string) => headers.find(({ key }) => key === name)?.value;
  assert.match(fieldOf("list-unsubscribe") ?? "", /^<https:\/\/mail\.posthorn\.test\/unsubscribe\//);
  assert.equal(fieldOf("list-unsubscribe-post"), "List-Unsubscribe=One-Click");
  assert.equal(fieldOf("x-posthorn-unsubscribe"), undefined);
});

test("fields that cannot be sent are refused by name, and nothing is stored", async () => {
  const count = async () => (await posthorn.emails.list({ pageSize: 100 })).data.length;
  const before = await count();
  const refused: [message: SendMailOptions, expected: RegExp][] = [
    [{ ...plain, messageId: "<mine@example.test>" }, /^messageId: cannot be set: Posthorn generates the Message-ID/],
    [{ ...plain, headers: { "message-id": "<mine@example.test>" } }, /^headers\.message-id: cannot be set/],
    [{ ...plain, date: new Date() }, /^date: cannot be set.*X-Posthorn-Scheduled-At/],
    [{ ...plain, sender: "boss@example.test" }, /^sender: cannot be set/],
    [
      { raw: "From: a@example.test\r\n\r\nHi", envelope: { from: "a@example.test", to: "b@example.net" } },
      /^raw: .*over SMTP/,
    ],
    [{ ...plain, alternatives: [{ contentType: "text/x-web-markdown", content: "*" }] }, /^alternatives: /],
    [
      { ...plain, dsn: { id: "1", notify: "failure" } },
      /^dsn: cannot be requested: Posthorn reports outcomes as events/,
    ],
    [{ ...plain, icalEvent: { content: "BEGIN:VCALENDAR" } }, /^icalEvent: cannot be sent: attach the file/],
    [{ ...plain, from: "a@example.test, b@example.test" }, /^from: has several addresses/],
    [{ ...plain, from: undefined }, /^from: is required/],
    [{ ...plain, to: ["ada@example.net", "bob"] }, /^to: "bob" is not an address/],
    [
      { ...plain, envelope: { from: "x@example.test", to: "other@example.net" } },
      /^envelope: must have the recipients/,
    ],
    [{ ...plain, headers: { "X-A": ["1", "2"] } }, /^headers\.X-A: has several values/],
    [
      {
        ...plain,
        headers: [
          { key: "X-A", value: "1" },
          { key: "x-a", value: "2" },
        ],
      },
      /^headers\.x-a: is set twice/,
    ],
    [{ ...plain, headers: { "X-Posthorn-Metadta-Order": "1" } }, /is not known: use X-Posthorn-Metadata-<name>/],
    [{ ...plain, headers: { "X-Posthorn-Scheduled-At": "2030-01-31T09:00:00" } }, /is not a time/],
    [{ ...plain, headers: { "Return-Path": "x@example.test" } }, /mail servers set it in transit/],
    [
      { ...plain, attachments: [{ raw: "Content-Type: text/plain\r\n\r\nx" }] },
      /^attachments\[0\]\.raw: cannot be sent/,
    ],
    [{ ...plain, attachments: [{ filename: "x" }] }, /^attachments\[0\]: has no content/],
    [{ ...plain, attachments: [{ filename: "x", content: { a: 1 } as never }] }, /^attachments\[0\]\.content: must be/],
    [{ ...plain, attachments: [{ path: "/nowhere/at/all.pdf" }] }, /cannot be read: ENOENT.*\/nowhere\/at\/all\.pdf/],
    [{ ...plain, attachments: [{ path: "/etc/hostname" }], disableFileAccess: true }, /File access rejected/],
  ];
  for (const [message, expected] of refused) {
    const error = await rejection<PosthornTransportError>(transport().sendMail(message));
    assert.ok(error instanceof PosthornError, `${expected}`);
    assert.match(error.message, expected);
    assert.deepEqual([error.code, error.responseCode, error.command], ["invalid_argument", 554, "SendEmail"]);
    assert.equal(error.response, `invalid_argument: ${error.message}`);
  }
  assert.equal(await count(), before);
});

test("empty fields count as not set, and priority replaces the headers that it stands for", async () => {
  const empty = { messageId: "", sender: "", cc: "", bcc: [], replyTo: "", attachments: [], alternatives: [], amp: "" };
  const parsed = await sendAndRead({
    ...plain,
    ...empty,
    priority: "low",
    headers: { "x-priority": "3", "X-None": "" },
  });
  const headers = Object.fromEntries(parsed.headers.map(({ key, value }) => [key, value]));
  assert.deepEqual([headers["x-priority"], headers["x-none"]], ["5 (Lowest)", undefined]);
});

test("line breaks in a message cannot add headers or recipients", async () => {
  const parsed = await sendAndRead({
    ...plain,
    from: { name: "Shop\r\nBcc: eve@example.net", address: "shop@example.test" },
    subject: "Hello\r\nBcc: eve@example.net",
    headers: { "X-Order": "1042\r\nBcc: eve@example.net", __proto__: null },
  });
  assert.equal(parsed.bcc, undefined);
  assert.equal(parsed.subject, "Hello Bcc: eve@example.net");
  assert.equal(parsed.headers.find(({ key }) => key === "x-order")?.value, "1042 Bcc: eve@example.net");
  for (const message of [
    { ...plain, headers: { "X-Bad\r\nBcc": "eve@example.net" } },
    { ...plain, attachments: [{ filename: "a\r\nBcc: eve@example.net", content: "x" }] },
  ]) {
    const sent = await transport()
      .sendMail(message)
      .catch((error: PosthornTransportError) => error);
    if (sent instanceof Error) assert.equal(sent.code, "invalid_argument");
    else assert.deepEqual(sent.envelope.to, ["ada@example.net"]);
  }
});

test("an envelope with the same recipients is accepted", async () => {
  const envelope = { from: "bounces@example.test", to: ["ada@example.net"] };
  assert.deepEqual((await transport().sendMail({ ...plain, envelope })).accepted, ["ada@example.net"]);
});

test("with async false, rejected recipients are reported, and an error if all were rejected", async () => {
  const waiting = transport({ async: false });
  const info = await waiting.sendMail({ ...plain, to: ["delivered@there.test", "bounced@there.test"] });
  assert.deepEqual([info.accepted, info.rejected], [["delivered@there.test"], ["bounced@there.test"]]);
  assert.equal(info.status, "EMAIL_STATUS_SENT");
  const error = await rejection<PosthornTransportError>(waiting.sendMail({ ...plain, to: "bounced@there.test" }));
  assert.deepEqual(
    [error.code, error.responseCode, error.rejected],
    ["failed_precondition", 550, ["bounced@there.test"]],
  );
  assert.match(error.message, /No recipient's server accepted the email em_\S+: 550 5\.1\.1/);
  assert.match(error.metadata.emailId!, /^em_/);
});

test("errors of the server have its code and an SMTP reply code", async () => {
  const error = await rejection<PosthornTransportError>(
    transport().sendMail({ ...plain, from: "shop@nowhere.example" }),
  );
  assert.deepEqual([error.code, error.responseCode], ["failed_precondition", 550]);
  assert.match(error.message, /nowhere\.example/);
  assert.ok(error.requestId);
  const wrongKey = await rejection<PosthornTransportError>(transport({ apiKey: "ph_live_wrong" }).sendMail(plain));
  assert.deepEqual([wrongKey.code, wrongKey.responseCode], ["unauthenticated", 535]);
  const gone = await startPeer({});
  await gone.close();
  const unreachable = transport({ baseUrl: gone.url, maxRetries: 0 });
  assert.deepEqual((await rejection<PosthornTransportError>(unreachable.sendMail(plain))).responseCode, 451);
});

test("verify succeeds with a key that may send, and names the problem otherwise", async () => {
  const before = (await posthorn.emails.list({ pageSize: 100 })).data.length;
  const { secret: sendKey } = await posthorn.keys.create({ name: "sender", permission: "send" });
  const { secret: readKey } = await posthorn.keys.create({ name: "reader", permission: "read" });
  assert.equal(await transport({ apiKey: sendKey }).verify(), true);
  const success = await new Promise((resolve) =>
    transport().verify((error: Error | null, ok: true) => resolve(error ?? ok)),
  );
  assert.equal(success, true);
  const denied = await rejection<PosthornTransportError>(transport({ apiKey: readKey }).verify() as Promise<true>);
  assert.deepEqual([denied.code, denied.responseCode], ["permission_denied", 550]);
  const failed = await new Promise<PosthornTransportError>((resolve) =>
    transport({ apiKey: "ph_live_wrong" }).verify((error: Error | null) => resolve(error as PosthornTransportError)),
  );
  assert.equal(failed.code, "unauthenticated");
  assert.equal((await posthorn.emails.list({ pageSize: 100 })).data.length, before);
  // Another program at this address must not pass for a Posthorn server.
  const other = await startPeer({
    instead: (_request, response) => {
      response.writeHead(400).end("bad");
      return true;
    },
  });
  assert.equal(
    (await rejection<PosthornTransportError>(transport({ baseUrl: other.url }).verify() as Promise<true>)).code,
    "internal",
  );
  await other.close();
});

test("defaults of createTransport, callbacks, close and isIdle work", async () => {
  const { from, ...rest } = plain;
  const mailer = createTransport(posthornTransport({ apiKey: program.key, baseUrl: program.url }), { from });
  const info = await new Promise<{ messageId: string }>((resolve, reject) =>
    mailer.sendMail(rest, (error, info) => (error ? reject(error) : resolve(info))),
  );
  assert.match(info.messageId, /^<.+@example\.test>$/);
  assert.equal(mailer.isIdle(), true);
  mailer.close();
  assert.throws(() => posthornTransport({ apiKey: "", baseUrl: program.url }), /No API key/);
});
