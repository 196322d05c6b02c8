import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { SendEmailBatchRequestSchema, SendEmailRequestSchema } from "../gen/v1/email_pb.ts";
import { Problem } from "../ops/problem.ts";
import { cutFiles, fileOf } from "./cut-files.ts";
import { createRequestReader } from "./read-json.ts";

const bytes = (value: unknown) =>
  new Uint8Array(Buffer.from(typeof value === "string" ? value : JSON.stringify(value)));
const read = createRequestReader(SendEmailRequestSchema);
const large = randomBytes(100_000);
const other = randomBytes(200_001);
const email = (...files: (Buffer | string)[]) => ({
  from: "a@a.test",
  body: 'a "base64Content":"x" \\ text',
  attachments: files.map((file) => ({
    filename: "f",
    base64Content: typeof file === "string" ? file : file.toString("base64"),
  })),
});

test("large files are decoded and not part of the parsed text, small ones stay as they are", () => {
  const message = read(bytes(email(large, Buffer.from("small"), other)));
  assert.equal(message.body, 'a "base64Content":"x" \\ text');
  assert.deepEqual(message.attachments.map(fileOf), [large, undefined, other]);
  assert.equal(message.attachments[1]!.base64Content, Buffer.from("small").toString("base64"));
  assert.ok(message.attachments.every(({ base64Content }) => base64Content.length < 100));
});

test("the files of a batch are found, in any writing of JSON", () => {
  const text = JSON.stringify({ emails: [email(large), email(), email(other, large)] }, null, "\t").replaceAll(
    '"base64Content": "',
    '"base64Content" \r\n : \t "',
  );
  const message = createRequestReader(SendEmailBatchRequestSchema)(bytes(text));
  assert.deepEqual(
    message.emails.map(({ attachments }) => attachments.map(fileOf)),
    [[large], [], [other, large]],
  );
});

test("unknown fields are ignored as usual", () => {
  const message = read(bytes({ ...email(large), tags: [{ base64Content: "no" }] }));
  assert.deepEqual(message.attachments.map(fileOf), [large]);
});

const whole = other.toString("base64");
for (const [what, content] of [
  ["with line breaks", `${whole.slice(0, 76)}\r\n${whole.slice(76)}`],
  ["in the URL alphabet", whole.replaceAll("+", "-").replaceAll("/", "_")],
  ["without padding", large.toString("base64").replace(/=+$/, "")],
  ["with unused bits set", `${Buffer.alloc(100_000).toString("base64").slice(0, -4)}AB==`],
  ["with a character of more octets", `${whole.slice(0, 100)}\u0141${whole.slice(101)}`],
  ["with padding in the middle", large.toString("base64") + whole],
  ["of something else", "*".repeat(100_000)],
] as const) {
  test(`content ${what} stays a string for the check of the handler`, () => {
    const message = read(bytes(email(content)));
    assert.equal(fileOf(message.attachments[0]!), undefined);
    assert.equal(message.attachments[0]!.base64Content, content);
  });
}

test("a file that is no content of an attachment, or is given twice, leaves the request to the usual reader", () => {
  const problem = (request: unknown) => {
    try {
      read(bytes(request));
    } catch (error) {
      return (error as Problem).violations;
    }
    return undefined;
  };
  const file = large.toString("base64");
  assert.deepEqual(problem({ ...email(), base64Content: file }), undefined);
  assert.equal(cutFiles(bytes({ base64Content: file }))?.files.size, 1);
  assert.match(JSON.stringify(problem({ ...email(large), from: 7 })), /from/);
  const text = JSON.stringify(email(large));
  const repeated = text.replace('"filename"', `"base64Content":"${file}","filename"`);
  assert.throws(() => read(bytes(repeated)), Problem);
  assert.throws(() => read(bytes(text.slice(0, -1))), /not valid JSON/);
  assert.equal(cutFiles(bytes(`{"a":"\\"base64Content\\":\\"${file}"}`)), undefined);
});

test("any large request reads the same as with files in its text", () => {
  const part = fc.constantFrom(
    '"base64Content"',
    ":",
    '"',
    "\\",
    " ",
    "{",
    "}",
    ",",
    '"base64Content":"',
    "A".repeat(65_536),
    "b",
  );
  fc.assert(
    fc.property(fc.array(part, { maxLength: 12 }), (parts) => {
      const text = parts.join("");
      const cut = cutFiles(bytes({ from: text, body: "A".repeat(65_536) }));
      assert.equal(cut, undefined, "nothing inside a string is taken for a file");
    }),
    { numRuns: 300 },
  );
});
