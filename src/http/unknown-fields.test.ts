import assert from "node:assert/strict";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { SendEmailBatchRequestSchema, SendEmailRequestSchema } from "../gen/v1/email_pb.ts";
import { createJsonReader, createRequestReader } from "./read-json.ts";
import { rememberNotedJson, unknownFields, withRequestJson } from "./unknown-fields.ts";

const bytes = (json: object) => Buffer.from(JSON.stringify(json));

test("unknown fields are found; JSON names and proto names are both known", () => {
  const read = createRequestReader(SendEmailRequestSchema);
  const message = read(
    bytes({ from: "a@b.test", scheduled_at: null, requireTls: true, text: "x", Body: "y", z: null }),
  );
  assert.deepEqual(unknownFields(message, SendEmailRequestSchema), ["text", "Body", "z"]);
  assert.deepEqual(unknownFields(read(bytes({ body: "x" })), SendEmailRequestSchema), []);
});

test("unknown fields of a batch are found per email", () => {
  const message = createRequestReader(SendEmailBatchRequestSchema)(bytes({ emails: [{ text: "x" }, {}], other: 1 }));
  const at = (i: number) => unknownFields(message, SendEmailRequestSchema, ["emails", i]);
  assert.deepEqual([at(0), at(1), at(2)], [["text"], [], []]);
});

test("JSON that Connect decodes is remembered for the message of the same call only", async () => {
  const onRefused = () => assert.fail("refused");
  const call = async (json: object) =>
    await withRequestJson(async () => {
      createJsonReader(SendEmailRequestSchema, onRefused).decode(bytes(json));
      await new Promise(setImmediate);
      const message = create(SendEmailRequestSchema);
      rememberNotedJson(message);
      return unknownFields(message, SendEmailRequestSchema);
    });
  const calls = [{ text: "x" }, { body: "x" }, { Html: "x" }].map(call);
  assert.deepEqual(await Promise.all(calls), [["text"], [], ["Html"]]);
  createJsonReader(SendEmailRequestSchema, onRefused).decode(bytes({ text: "x" }));
  const outside = create(SendEmailRequestSchema);
  rememberNotedJson(outside);
  assert.deepEqual(unknownFields(outside, SendEmailRequestSchema), []);
});
