import assert from "node:assert/strict";
import { test } from "node:test";
import { asciiField, fieldValue, type RawField, splitMessage, textOf } from "./fields.ts";

const field = (text: string): RawField => {
  const { fields } = splitMessage(Buffer.from(`${text}\r\n\r\n`));
  assert.equal(fields.length, 1);
  return fields[0]!;
};

test("a message is split into fields with their folding, and the body", () => {
  const { fields, body } = splitMessage(Buffer.from("A: 1\r\nB: 2\r\n 3\r\n\r\nbody\r\n\r\nmore"));
  assert.deepEqual(
    fields.map(({ key, text }) => [key, text]),
    [
      ["a", "A: 1\r\n"],
      ["b", "B: 2\r\n 3\r\n"],
    ],
  );
  assert.equal(body.toString(), "body\r\n\r\nmore");
  assert.deepEqual(splitMessage(Buffer.from("\r\nbody")).fields, []);
  assert.deepEqual(splitMessage(Buffer.from("A: 1\r\n")).body.length, 0);
});

test("values are unfolded and decoded", () => {
  assert.equal(fieldValue(field("Subject: a\r\n  b")), "a  b");
  assert.equal(textOf(field("Subject: =?UTF-8?Q?Gr=C3=BC=C3=9Fe?=")), "Grüße");
  assert.equal(textOf(field("Subject: Grüße")), "Grüße");
});

test("ASCII fields stay, others are encoded by their kind", () => {
  assert.equal(asciiField(field("X-A: b\r\n c")), "X-A: b\r\n c\r\n");
  assert.match(asciiField(field("Subject: Grüße")), /^Subject: =\?UTF-8\?[QB]\?/);
  assert.equal(
    asciiField(field("To: Zoë <zoe@there.test>, bob@there.test")),
    "To: =?UTF-8?Q?Zo=C3=AB?= <zoe@there.test>, bob@there.test\r\n",
  );
  assert.equal(
    asciiField(field('Content-Disposition: attachment; filename="ü;b.txt"; size=3')),
    "Content-Disposition: attachment; filename*=UTF-8''%C3%BC%3Bb.txt; size=3\r\n",
  );
});

test("the last line of a header counts without a line end, too", () => {
  const { fields } = splitMessage(Buffer.from("A: 1\r\nB: 2"));
  assert.deepEqual(
    fields.map(({ text }) => text),
    ["A: 1\r\n", "B: 2\r\n"],
  );
});

test("obsolete forms that receivers read in different ways are written in the current one", () => {
  const { fields } = splitMessage(
    Buffer.from("From \t: a@b.test\r\nSubject: x\r\n \r\n y\r\n\t\r\nTo: c@d.test\r\n\r\n"),
  );
  assert.deepEqual(
    fields.map(({ text }) => text),
    ["From: a@b.test\r\n", "Subject: x\r\n y\r\n", "To: c@d.test\r\n"],
  );
});

test("a parameter of escapes takes no quadratic time", { timeout: 5000 }, () => {
  const value = `text/plain; name=ü${'\\"'.repeat(30_000)}`;
  const before = process.cpuUsage();
  asciiField({ name: "Content-Type", key: "content-type", text: latin1(`Content-Type: ${value}\r\n`) });
  const { user } = process.cpuUsage(before);
  assert.ok(user < 1_000_000, `${user} µs`);
  assert.equal(
    asciiField(field('Content-Type: text/plain; a="x\\";y"; b=ü; c="z')),
    'Content-Type: text/plain; a="x\\";y"; b*=UTF-8\'\'%C3%BC; c="z\r\n',
  );
});

const latin1 = (text: string) => Buffer.from(text).toString("latin1");
