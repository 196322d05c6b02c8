import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import fc from "fast-check";
import { needs, pathOf } from "../../test/harness/foreign.ts";
import { type Address, parseAddress } from "./address.ts";
import { compose, composedSizeAtMost, type OutgoingEmail } from "./compose.ts";

function address(text: string): Address {
  const result = parseAddress(text);
  assert.ok(result.ok, `${text}: ${result.ok ? "" : result.reason}`);
  return result.address;
}

const plain: OutgoingEmail = {
  id: "em_01932c5e-7b1a-7abc-8def-0123456789ab",
  messageId: "<01932c5e-7b1a-7abc-8def-0123456789ab@example.com>",
  date: new Date("2026-03-01T09:05:07.890Z"),
  from: address("Ann <ann@example.com>"),
  to: [address("bob@example.net")],
  subject: "Hello",
};

const file = (
  bytes: Uint8Array | string,
  labels: { filename?: string; contentType?: string; contentId?: string } = {},
) => ({
  filename: "file.bin",
  contentType: "application/octet-stream",
  ...labels,
  base64: Buffer.from(bytes).toString("base64"),
});

test("a plain email has exactly the expected octets", () => {
  assert.equal(
    compose({ ...plain, text: "Hi Bob,\nhow are you?\n" }).toString(),
    [
      "From: Ann <ann@example.com>",
      "To: bob@example.net",
      "Subject: Hello",
      "Date: Sun, 01 Mar 2026 09:05:07 +0000",
      "Message-ID: <01932c5e-7b1a-7abc-8def-0123456789ab@example.com>",
      "MIME-Version: 1.0",
      "Content-Type: text/plain; charset=utf-8",
      "Content-Transfer-Encoding: 7bit",
      "",
      "Hi Bob,",
      "how are you?",
      "",
    ].join("\r\n"),
  );
});

test("the same email is composed into the same octets, with any headroom", () => {
  const email = { ...plain, text: "a", html: "<b>ä</b>", attachments: [file("x")] };
  assert.deepEqual(compose(email), compose(structuredClone(email)));
  assert.deepEqual(compose(email, { headroom: 100 }).subarray(100), compose(email));
  assert.notDeepEqual(compose({ ...email, id: "em_01932c5e-7b1a-7abc-8def-0123456789ac" }), compose(email));
});

test("a field that identifies a copy is left out, so that mail accepted by an earlier release can be sent", () => {
  const raw = compose({
    ...plain,
    headers: [
      ["x-posthorn-copy", "rp-forged"],
      ["X-Kept", "1"],
    ],
  }).toString();
  assert.doesNotMatch(raw, /x-posthorn-copy/i);
  assert.match(raw, /^X-Kept: 1\r$/m);
});

test("the header contains threading, reply and custom fields, and 50 of 1,000 references", () => {
  const references = Array.from({ length: 1000 }, (_, i) => `<${i}@example.com>`);
  const email: OutgoingEmail = {
    ...plain,
    cc: [address("c@example.net")],
    replyTo: [address("Support <s@example.com>"), address("t@example.com")],
    inReplyTo: "<999@example.com>",
    references,
    headers: [
      ["List-Unsubscribe", "<https://example.com/u>"],
      ["List-Unsubscribe-Post", "List-Unsubscribe=One-Click"],
      ["X-Note", "größer"],
    ],
  };
  const head = compose(email).toString();
  for (const line of [
    "Cc: c@example.net",
    "Reply-To: Support <s@example.com>, t@example.com",
    "In-Reply-To: <999@example.com>",
    "List-Unsubscribe: <https://example.com/u>",
    "List-Unsubscribe-Post: List-Unsubscribe=One-Click",
  ]) {
    assert.ok(head.includes(`\r\n${line}\r\n`), line);
  }
  assert.equal(head.match(/^References:(.*\r\n )*/m)?.[0].includes("<0@example.com>"), true);
  assert.equal(head.match(/<\d+@example\.com>/g)?.length, 1 + 50);
});

test("invalid input throws instead of being composed", () => {
  const attempts: Partial<OutgoingEmail>[] = [
    { subject: "a\r\nBcc: x@evil.example" },
    { subject: "a\nb" },
    { subject: "a\0" },
    { headers: [["X-A", "a\r\nBcc: x@evil.example"]] },
    { headers: [["X-A: b\r\nBcc", "x"]] },
    { headers: [["Bcc", "x@example.com"]] },
    { headers: [["From", "x@example.com"]] },
    { inReplyTo: "<a@b>\r\nBcc: x@evil.example" },
    { references: ["a b"] },
    { messageId: "none" },
    { id: "em_1\r\n" },
    { from: { ...plain.from, name: "a\r\nBcc: x@evil.example" } },
    { to: [{ ...plain.from, address: "a@b>\r\nBcc: <x@evil.example" }] },
    { from: address("jörg@example.com") },
    { replyTo: [address("jörg@example.com")] },
    { attachments: [file("x", { filename: "a\r\nX: y" })] },
    { attachments: [file("x", { contentType: "text/plain\r\nX: y" })] },
    { html: "x", attachments: [file("x", { contentId: "a>\r\nX: <y" })] },
    { attachments: [{ ...file("x"), base64: "--=_x\r\nContent-Type: text/html" }] },
    { attachments: [{ ...file("x"), base64: Buffer.from("YQ==\r\n--x") }] },
  ];
  for (const attempt of attempts) assert.throws(() => compose({ ...plain, ...attempt }), JSON.stringify(attempt));
});

test("a non-ASCII address is written in UTF-8 only for a session with SMTPUTF8", () => {
  const email = { ...plain, to: [address("用户@example.net")], cc: [address("c@example.net")] };
  assert.match(compose(email, { smtputf8: true }).toString(), /^To: 用户@example\.net\r$/m);
  assert.match(compose(email).toString("latin1"), /^[\x00-\x7f]*$/);
});

const anyText = fc.oneof(
  fc.constantFrom("", ".", "..\n.\r\n.", "a\rb", "From x\n", "line\n".repeat(30), "long ".repeat(30_000), "\0\x01\x7f"),
  fc.string({
    unit: fc.oneof(fc.constantFrom(..."ab .=-\n\r\t"), fc.string({ unit: "grapheme", maxLength: 1 })),
    maxLength: 300,
  }),
);
const oneLine = (maxLength: number) =>
  fc.string({ unit: "grapheme", maxLength }).filter((text) => !/\p{Cc}/u.test(text) && text.isWellFormed());
const anyAttachment = fc.record({
  bytes: fc.uint8Array({ maxLength: 300 }),
  filename: fc.oneof(
    // Python trims file names when it parses them.
    oneLine(120).filter((name) => name === name.trim()),
    fc.constantFrom(
      "",
      'a"b\\c.txt',
      "日本語のとても長いファイル名".repeat(4),
      "r\u0301sume\u0301.pdf",
      "../../x",
      "a;b=c.txt",
    ),
  ),
  contentType: fc.constantFrom("", "image/png", "text/calendar; method=REQUEST", "message/rfc822"),
  contentId: fc.option(fc.constantFrom("logo", "logo@example.com"), { nil: undefined }),
});
const anyEmail: fc.Arbitrary<OutgoingEmail> = fc
  .record({
    name: oneLine(80).filter((name) => !name.includes("=?")),
    subject: oneLine(200),
    text: anyText,
    html: anyText,
    note: oneLine(200),
    attachments: fc.array(anyAttachment, { maxLength: 4 }),
  })
  .map(({ name, subject, text, html, note, attachments }) => ({
    ...plain,
    from: { ...plain.from, name },
    subject,
    text,
    html,
    headers: [["X-Note", note]],
    attachments: attachments.map(({ bytes, ...labels }) => ({
      ...labels,
      base64: Buffer.from(bytes).toString("base64"),
    })),
  }));

test("every email is composed into 7-bit lines of at most 998 octets that end in CRLF", () => {
  fc.assert(
    fc.property(anyEmail, (email) => {
      const raw = compose(email);
      const wire = raw.toString("latin1");
      assert.match(wire, /^[\t\r\n -~]*$/);
      assert.ok(wire.endsWith("\r\n"));
      for (const line of wire.split("\r\n")) assert.ok(line.length <= 998 && !/[\r\n]/.test(line));
      assert.ok(raw.length <= composedSizeAtMost(email));
    }),
    { numRuns: 300 },
  );
});

test("Python's parser reads back the same content", { skip: needs("python3") }, () => {
  const emails = fc.sample(anyEmail, { numRuns: 150, seed: 4 });
  const parsed = parseWithPython(emails.map((email) => compose(email)));
  for (const [index, email] of emails.entries()) {
    const message: Parsed = parsed[index]!;
    assert.deepEqual(message.defects, []);
    assert.equal(message.subject, email.subject);
    assert.equal(message.note, email.headers![0]![1]);
    assert.deepEqual(message.from, [email.from.name, "ann@example.com"]);
    const texts = message.parts
      .filter((part) => part.disposition === null)
      .map(({ type, content }) => [type, decoded(content)]);
    const expected = [
      ["text/plain", email.text!],
      ["text/html", email.html!],
    ].filter(([, text]) => text !== "");
    if (expected.length === 0 && email.attachments!.length === 0) expected.push(["text/plain", ""]);
    // A message always ends with a line end. Otherwise only the line ends change, to CRLF.
    const alone = expected.length === 1 && email.attachments!.length === 0;
    const crlf = ([type, text]: string[]) => [
      type,
      text!.replace(/\r?\n/g, "\r\n").replace(alone ? /(?:\r\n)?$/ : /$/, ""),
    ];
    assert.deepEqual(texts.map(crlf), expected.map(crlf));
    const inlineFirst =
      email.html === ""
        ? email.attachments!
        : email.attachments!.toSorted((a, b) => Number(b.contentId !== undefined) - Number(a.contentId !== undefined));
    assert.deepEqual(
      message.parts
        .filter((part) => part.disposition !== null)
        .map(({ filename, content, cid }) => ({ filename, content, cid })),
      inlineFirst.map(({ filename, base64, contentId }) => ({
        filename: filename === "" ? null : filename,
        content: base64,
        cid: contentId === undefined ? null : `<${contentId}>`,
      })),
    );
  }
});

test("Python parses the MIME structure that mail readers expect", { skip: needs("python3") }, () => {
  const logo = file("png", { contentId: "logo", contentType: "image/png", filename: "logo.png" });
  const shapes: [Partial<OutgoingEmail>, string][] = [
    [{}, "text/plain"],
    [{ text: "a" }, "text/plain"],
    [{ html: "a" }, "text/html"],
    [{ text: "a", html: "b" }, "multipart/alternative(text/plain text/html)"],
    [{ text: "a", attachments: [file("x")] }, "multipart/mixed(text/plain application/octet-stream)"],
    [{ attachments: [file("x")] }, "multipart/mixed(application/octet-stream)"],
    [{ attachments: [file("")], text: "a" }, "multipart/mixed(text/plain application/octet-stream)"],
    [{ html: "b", attachments: [logo] }, "multipart/related(text/html image/png)"],
    [{ text: "a", attachments: [logo] }, "multipart/mixed(text/plain image/png)"],
    [
      { text: "a", html: "b", attachments: [logo, file("x"), file("m", { contentType: "message/rfc822" })] },
      "multipart/mixed(multipart/alternative(text/plain multipart/related(text/html image/png)) application/octet-stream application/octet-stream)",
    ],
  ];
  const parsed = parseWithPython(shapes.map(([part]) => compose({ ...plain, ...part })));
  assert.deepEqual(
    parsed.map(({ shape }) => shape),
    shapes.map(([, shape]) => shape),
  );
  assert.deepEqual(
    parsed.flatMap(({ defects }) => defects),
    [],
  );
});

type Parsed = {
  defects: string[];
  shape: string;
  subject: string;
  note: string | null;
  from: [name: string, address: string];
  parts: { type: string; disposition: string | null; filename: string | null; cid: string | null; content: string }[];
};

const SCRIPT = `
import base64, email, json, sys
from email import policy
from email.header import decode_header, make_header
from email.utils import parseaddr

def shape(part):
    if not part.is_multipart():
        return part.get_content_type()
    return part.get_content_type() + "(" + " ".join(shape(p) for p in part.iter_parts()) + ")"

def leaf(part):
    return {
        "type": part.get_content_type(),
        "disposition": part.get_content_disposition(),
        "filename": part.get_filename(),
        "cid": part["content-id"],
        "content": base64.b64encode(part.get_payload(decode=True)).decode(),
    }

# The parser of policy.default leaves spaces between the encoded words of a display name; the older one does not.
def sender(field):
    name, address = parseaddr(field.replace("\\r\\n", ""))
    return [str(make_header(decode_header(name))), address]

out = []
for raw in json.load(sys.stdin):
    message = email.message_from_bytes(base64.b64decode(raw), policy=policy.default)
    out.append({
        "defects": [repr(d) for part in message.walk() for d in part.defects],
        "shape": shape(message),
        "subject": message["subject"],
        "note": message["x-note"],
        "from": sender(email.message_from_bytes(base64.b64decode(raw))["from"]),
        "parts": [leaf(p) for p in message.walk() if not p.is_multipart()],
    })
json.dump(out, sys.stdout)
`;

/** Parses the messages with an independent parser. */
function parseWithPython(messages: Buffer[]): Parsed[] {
  const input = JSON.stringify(messages.map((raw) => raw.toString("base64")));
  const child = spawnSync(pathOf("python3"), ["-c", SCRIPT], { input, encoding: "utf8", maxBuffer: 1 << 28 });
  assert.equal(child.status, 0, child.error?.message ?? child.stderr);
  return JSON.parse(child.stdout);
}

function decoded(base64: string): string {
  return Buffer.from(base64, "base64").toString();
}
