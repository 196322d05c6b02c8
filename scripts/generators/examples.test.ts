// Checks every example in proto/examples against the contract.
import assert from "node:assert/strict";
import { glob } from "node:fs/promises";
import { test } from "node:test";
import { type DescMessage, fromJson, type JsonObject, type JsonValue, toJson } from "@bufbuild/protobuf";
import { root } from "./buf.ts";
import { readContract } from "./descriptors.ts";
import { eventPath, readExample, requestPath } from "./examples.ts";
import { eventTypes } from "./reference-events.ts";

const contract = await readContract();
const methods = contract.services.flatMap((service) => service.methods);
const events = eventTypes(contract);

for (const method of methods) {
  test(`the example of ${method.parent.name}.${method.name} is a request`, async () => {
    assertCanonical(method.input, await readExample(requestPath(method)));
  });
}

for (const { type, field } of events) {
  test(`the example of ${type} is an event of that type`, async () => {
    const example = (await readExample(eventPath(type))) as JsonObject;
    assertCanonical(field.parent, example);
    assert.equal(example.type, type);
    assert.ok(field.jsonName in example, `the payload is not in ${field.jsonName}`);
  });
}

test("every example belongs to a method or an event", async () => {
  const known = new Set([...methods.map(requestPath), ...events.map(({ type }) => eventPath(type))]);
  for await (const path of glob("proto/examples/*/*", { cwd: root })) {
    assert.ok(known.has(path), `${path} belongs to nothing in the contract`);
  }
});

// protobuf's JSON reader accepts other spellings too; an example must be exactly what the server would write.
function assertCanonical(message: DescMessage, example: JsonValue): void {
  assert.deepEqual(toJson(message, fromJson(message, example)), example);
}
