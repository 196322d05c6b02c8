/** Bad input that pure functions reject: the rows of the table in docs/security.md that need no running program. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { check } from "../../src/emails/rules/check.ts";
import { emptyRequest, type SendRequest } from "../../src/emails/rules/request.ts";
import { readFilter } from "../../src/events/cursor.ts";
import { SendEmailBatchRequestSchema, SendEmailRequestSchema } from "../../src/gen/v1/email_pb.ts";
import { createRequestReader } from "../../src/http/read-json.ts";
import { parseAddress } from "../../src/mail/address.ts";
import { parseDkimRecord } from "../../src/mail/dkim-record.ts";
import { parseDmarc } from "../../src/mail/dmarc.ts";
import { shapeProblem } from "../../src/mail/message/structure.ts";
import { Problem, type Violation } from "../../src/ops/problem.ts";
import { eventTypesFrom } from "../../src/webhooks/wire.ts";

const limits = { recipients: 50, messageBytes: 41_943_040, attachments: 100 };
const file = { filename: "a.txt", contentType: "text/plain", base64Content: "AA==", contentId: "" };
const good: SendRequest = {
  ...emptyRequest,
  from: "news@sender.test",
  to: ["a@there.test"],
  subject: "Hello",
  body: "Hi",
};
const fieldsOf = (request: Partial<SendRequest>) => {
  const checked = check({ ...good, ...request }, { limits, nowMs: Date.now() });
  return checked.ok ? [] : checked.violations.map(({ field }) => field);
};

/** Every field that becomes part of a header, as a request with this text in it. */
const headerBound: [field: string, request: (text: string) => Partial<SendRequest>][] = [
  ["subject", (subject) => ({ subject })],
  ["from", (text) => ({ from: `${text} <news@sender.test>` })],
  ["to[0]", (text) => ({ to: [`a${text}@there.test`] })],
  ["cc[0]", (text) => ({ cc: [`${text} <a@there.test>`] })],
  ["bcc[0]", (text) => ({ bcc: [`a@there${text}.test`] })],
  ["replyToAddresses[0]", (text) => ({ replyToAddresses: [`a${text}@there.test`] })],
  ["inReplyTo", (text) => ({ inReplyTo: `<a${text}@there.test>` })],
  ["references[0]", (text) => ({ references: [`<a${text}@there.test>`] })],
  ['headers["X-A"]', (text) => ({ headers: { "X-A": text } })],
  ["attachments[0]", (text) => ({ attachments: [{ ...file, filename: text }] })],
  ["attachments[0]", (text) => ({ attachments: [{ ...file, contentType: `text/${text}` }] })],
  ["attachments[0]", (text) => ({ attachments: [{ ...file, contentId: text }] })],
];

test("CR, LF, NUL and unpaired surrogates are rejected in every field that becomes part of a header", () => {
  for (const character of ["\r", "\n", "\r\nBcc: x@there.test", "\0", "\ud800"])
    for (const [field, request] of headerBound) {
      const found = fieldsOf(request(`a${character}b`));
      assert.ok(
        found.some((one) => one.startsWith(field)),
        `${JSON.stringify(character)} in ${field}: ${found}`,
      );
    }
  assert.deepEqual(fieldsOf({}), [], "the request is otherwise valid");
});

test("ambiguous addresses are rejected, and domains in other scripts are stored as punycode", () => {
  for (const text of [
    ...[
      '"x@evil.test x"@there.test',
      "a(b)@there.test",
      "all: a@there.test;",
      "a@there.test, b@there.test",
      "<a@there.test",
    ],
    ...[
      "a@b@there.test",
      "a@[127.0.0.1]",
      "a@there.test>",
      "@there.test:a@elsewhere.test",
      "a b@there.test",
      "a@there..test",
    ],
  ])
    assert.equal(parseAddress(text).ok, false, text);
  const homograph = parseAddress("a@аpple.com");
  assert.ok(homograph.ok);
  assert.equal(homograph.address.address, "a@xn--pple-43d.com", "stored and shown as punycode");
});

/** CPU time of this thread, the minimum of three runs, because compilation and garbage collection add noise. */
function cpuMs(work: () => unknown): number {
  const times = [1, 2, 3].map(() => {
    const before = process.threadCpuUsage();
    work();
    const { user, system } = process.threadCpuUsage(before);
    return (user + system) / 1000;
  });
  return Math.min(...times);
}

const crlf = (text: string) => Buffer.from(text.replaceAll("\n", "\r\n"));
const shapes: [name: string, raw: Buffer][] = [
  ["1,000,000 parts", crlf(`Content-Type: multipart/mixed; boundary=b\n\n${"--b\n\nx\n".repeat(1_000_000)}`)],
  ["a header of 64 KB", crlf(`X: ${"a".repeat(65_536)}\n\nx`)],
  ["1,000 signatures", crlf(`${"DKIM-Signature: v=1\n".repeat(1000)}\nx`)],
  ["a signature of 60 KB of blanks", crlf(`DKIM-Signature: v=1; b=${"\n ".repeat(20_000)}A\n\nx`)],
  ["a header of 15,000 lines", crlf(`Subject: x\n${" y\n".repeat(15_000)}\nx`)],
  [
    "1,000 levels of MIME",
    crlf(Array.from({ length: 1000 }, (_, i) => `Content-Type: multipart/mixed; boundary=b${i}\n\n--b${i}\n`).join("")),
  ],
  ["20,000,000 empty lines", Buffer.alloc(40_000_000, "\r\n")],
];
for (const [name, raw] of shapes)
  test(`a message with ${name} is rejected within 100 ms of CPU time`, () => {
    assert.match(shapeProblem(raw) ?? "", /^554 5\.6\.0/);
    const ms = cpuMs(() => shapeProblem(raw));
    assert.ok(ms < 100, `${ms} ms`);
  });

test("a huge list causes a short error", () => {
  const many = Array.from({ length: 1_000_000 }, () => "x");
  for (const field of ["to", "cc", "bcc", "references", "replyToAddresses"])
    assert.ok(fieldsOf({ [field]: many }).length <= 11, field);
  assert.deepEqual(fieldsOf({ attachments: many.map(() => file) }), ["attachments"]);
  const problems: Violation[] = [];
  eventTypesFrom(many, problems);
  assert.ok(problems.length <= 50);
  assert.throws(
    () => readFilter({ cursor: "", types: many, afterEventId: "" }),
    (error: Problem) => error.violations.length <= 50,
  );
});

test("huge JSON is parsed or rejected within a second of CPU time, with a short error", () => {
  const many = Array.from({ length: 200_000 }, (_, i) => `a${i}@there.test`);
  const [one, batch] = [SendEmailRequestSchema, SendEmailBatchRequestSchema].map((desc) => createRequestReader(desc));
  const key = JSON.stringify("k".repeat(300_000));
  const texts: [name: string, text: string, read: (bytes: Uint8Array) => unknown, rejection: RegExp | undefined][] = [
    ["a long list", JSON.stringify({ to: many }), one!, undefined],
    ["a long list and an unknown field", JSON.stringify({ to: many, nope: 1 }), one!, undefined],
    [
      "a long list and a value that looks like a key",
      JSON.stringify({ to: many, subject: 'he said "no": yes' }),
      one!,
      undefined,
    ],
    [
      "a long list with a wrong type at its end",
      JSON.stringify({ replyToAddresses: [...many, 7] }),
      one!,
      /^replyToAddresses: /,
    ],
    [
      "invalid dates",
      JSON.stringify({ emails: many.map(() => ({ scheduledAt: "2026-02-30" })) }),
      batch!,
      /emails\[49\]/,
    ],
    ["a long key twice", `{${key}:1,${key}:2}`, one!, /duplicate object key/],
  ];
  for (const [name, text, read, rejection] of texts) {
    let error: Problem | undefined;
    const ms = cpuMs(() => {
      try {
        read(Buffer.from(text));
      } catch (thrown) {
        error = thrown as Problem;
      }
    });
    assert.ok(ms < 1000, `${name}: ${ms} ms`);
    if (rejection) assert.match(error?.message ?? "", rejection, name);
    else assert.equal(error, undefined, name);
    assert.ok((error?.violations.length ?? 0) <= 50 && (error?.message.length ?? 0) < 10_000, name);
  }
});

test("every invalid time is reported as the caller's mistake", () => {
  const read = createRequestReader(SendEmailRequestSchema);
  for (const scheduledAt of ["2026-99-99T00:00:00Z", "2026-02-30T00:00:00Z", "2026-11-16T25:00:00Z", "tomorrow", 7, {}])
    assert.throws(() => read(Buffer.from(JSON.stringify({ scheduledAt }))), Problem, JSON.stringify(scheduledAt));
});

test("an error quotes only a short part of the request", () => {
  const read = createRequestReader(SendEmailRequestSchema);
  const request = JSON.stringify({ headers: { ["x".repeat(100_000)]: 7 }, from: ["y".repeat(100_000)] });
  assert.throws(
    () => read(Buffer.from(request)),
    (error: Problem) => error instanceof Problem && error.message.length < 1000,
  );
});

test("a long run of one character is parsed in linear time", () => {
  const spaces = " ".repeat(200_000);
  const works: Record<string, () => unknown> = {
    "a Message-ID": () => fieldsOf({ inReplyTo: `<a${spaces}` }),
    "a DKIM record": () => parseDkimRecord(`v=DKIM1; p=a${spaces}b`),
    "a DMARC record": () => parseDmarc(`v=DMARC1; p=none; rua=a${spaces}b`),
  };
  for (const [name, work] of Object.entries(works)) {
    const ms = cpuMs(work);
    assert.ok(ms < 100, `${name}: ${ms} ms`);
  }
});
