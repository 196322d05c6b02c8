import assert from "node:assert/strict";
import { test } from "node:test";
import { splitMessage } from "./fields.ts";
import { readOptions } from "./options.ts";

const read = (...lines: string[]) => readOptions(splitMessage(Buffer.from(`${lines.join("\r\n")}\r\n\r\n`)).fields);

test("times have a zone, in the format of the API or of Date", () => {
  for (const time of ["2030-01-31T09:00:00Z", "2030-01-31T10:00:00.000+01:00", "Thu, 31 Jan 2030 09:00:00 +0000"])
    assert.equal(read(`X-Posthorn-Scheduled-At: ${time}`).scheduledAt?.toISOString(), "2030-01-31T09:00:00.000Z");
  for (const wrong of ["", "tomorrow", "1770000000", "2030-01-31", "2030-13-31T09:00:00Z"])
    assert.throws(() => read(`X-Posthorn-Scheduled-At: ${wrong}`), /is not a time/, wrong);
});

test("an option is given once, and other fields are none", () => {
  assert.throws(() => read("X-Posthorn-Metadata-A: 1", "x-posthorn-metadata-a: 2"), /more than one/);
  assert.deepEqual(read("X-Other: 1", "X-Posthorn-Copy: cp-x"), {
    metadata: {},
    scheduledAt: undefined,
    idempotencyKey: undefined,
    unsubscribe: undefined,
  });
  assert.throws(() => read("X-Posthorn-Idempotency: k"), /is not known: use X-Posthorn-Metadata-<name>/);
});

test("any name of metadata is kept", () => {
  assert.deepEqual(Object.entries(read("X-Posthorn-Metadata-__proto__: 1").metadata), [["__proto__", "1"]]);
});

test("a topic replaces the list fields of the sender", () => {
  assert.deepEqual(read("X-Posthorn-Unsubscribe:  news ").unsubscribe, { topic: "news" });
  for (const field of ["List-Unsubscribe: <mailto:a@b.test>", "list-unsubscribe-post: List-Unsubscribe=One-Click"])
    assert.throws(() => read(field, "X-Posthorn-Unsubscribe: news"), /keep one of them/);
});
