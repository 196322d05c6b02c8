import assert from "node:assert/strict";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { SendEmailBatchRequestSchema, SendEmailRequestSchema } from "../gen/v1/email_pb.ts";
import { createJsonReader, createRequestReader } from "./read-json.ts";
import { keepNoted, unknownFields, withWritten } from "./written.ts";

const bytes = (json: object) => Buffer.from(JSON.stringify(json));

test("the names that a message does not have are found, by their JSON and their proto names", () => {
  const read = createRequestReader(SendEmailRequestSchema);
  const message = read(
    bytes({ from: "a@b.test", scheduled_at: null, requireTls: true, text: "x", Body: "y", z: null }),
  );
  assert.deepEqual(unknownFields(message, SendEmailRequestSchema), ["text", "Body", "z"]);
  assert.deepEqual(unknownFields(read(bytes({ body: "x" })), SendEmailRequestSchema), []);
});

test("the emails of a batch are looked at each by itself", () => {
  const message = createRequestReader(SendEmailBatchRequestSchema)(bytes({ emails: [{ text: "x" }, {}], other: 1 }));
  const at = (i: number) => unknownFields(message, SendEmailRequestSchema, ["emails", i]);
  assert.deepEqual([at(0), at(1), at(2)], [["text"], [], []]);
});

test("a text that Connect reads is remembered for the message of the same call, and of no other", async () => {
  const refused = () => assert.fail("refused");
  const call = async (json: object) =>
    await withWritten(async () => {
      createJsonReader(SendEmailRequestSchema, refused).decode(bytes(json));
      await new Promise(setImmediate);
      const message = create(SendEmailRequestSchema);
      keepNoted(message);
      return unknownFields(message, SendEmailRequestSchema);
    });
  const calls = [{ text: "x" }, { body: "x" }, { Html: "x" }].map(call);
  assert.deepEqual(await Promise.all(calls), [["text"], [], ["Html"]]);
  createJsonReader(SendEmailRequestSchema, refused).decode(bytes({ text: "x" }));
  const outside = create(SendEmailRequestSchema);
  keepNoted(outside);
  assert.deepEqual(unknownFields(outside, SendEmailRequestSchema), []);
});
