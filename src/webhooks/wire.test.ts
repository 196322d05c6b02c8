import assert from "node:assert/strict";
import { test } from "node:test";
import { fromJsonString } from "@bufbuild/protobuf";
import { eventTypes } from "../events/wire.ts";
import { EventSchema } from "../gen/v1/event_pb.ts";
import type { Violation } from "../ops/problem.ts";
import { samplePayload } from "./rules/sample.ts";
import { descriptionFrom, eventJson, eventTypesFrom, sampleEvent } from "./wire.ts";

const id = "01938a52-1f33-7d48-9b10-a4c6e8f02d75";

for (const eventType of eventTypes) {
  test(`the sample of ${eventType} has a payload of its type and only fields of the contract`, () => {
    const payload = samplePayload(eventType);
    assert.ok(payload);
    const event = sampleEvent({ eventId: id, eventType, eventAt: new Date(0), emailId: id });
    const read = fromJsonString(EventSchema, eventJson(event));
    assert.equal(read.type, eventType);
    const shown = JSON.parse(eventJson(event))[read.payload.case!];
    for (const [field, value] of Object.entries(payload)) assert.deepEqual(shown[field], value, field);
  });
}

test("a property that objects inherit is not a sample", () => {
  assert.equal(samplePayload("constructor"), undefined);
});

test("event types may be all, some or none; invalid entries are reported by index", () => {
  const read = (...types: string[]) => {
    const problems: Violation[] = [];
    const found = eventTypesFrom(types, problems);
    return problems.length > 0 ? problems.map(({ field }) => field) : found;
  };
  assert.equal(read(), undefined);
  assert.deepEqual(read("*"), []);
  assert.deepEqual(read("email.sent", "email.bounced", "email.sent"), ["email.sent", "email.bounced"]);
  assert.deepEqual(read("email.sent", "*", "toString"), ["eventTypes[1]", "eventTypes[2]"]);
});

test("a description is trimmed; a long one and control characters are rejected", () => {
  const problems: Violation[] = [];
  assert.equal(descriptionFrom("  Billing ✓ ", problems), "Billing ✓");
  assert.equal(problems.length, 0);
  descriptionFrom("x".repeat(501), problems);
  descriptionFrom("a\u0007b", problems);
  assert.deepEqual(
    problems.map(({ field }) => field),
    ["description", "description"],
  );
});
