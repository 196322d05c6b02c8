import assert from "node:assert/strict";
import { test } from "node:test";
import { addressesOf, prettyJson } from "./payload.ts";

test("an event about an email names its recipients, a reply its sender, other events nothing", () => {
  const event = { id: "evt_1", metadata: { recipients: "x", from: "Spring" }, createdAt: "2026-01-01T00:00:00Z" };
  const addresses = (part: object) => addressesOf(JSON.stringify({ ...event, ...part }));
  assert.deepEqual(addresses({ bounced: { recipients: ["a@b.test", "c@d.test"] } }), ["a@b.test", "c@d.test"]);
  assert.deepEqual(addresses({ replied: { from: "a@b.test", to: ["x@y.test"] } }), ["a@b.test"]);
  assert.deepEqual(addresses({ domainUpdated: { domain: "b.test" } }), []);
});

test("a body that is missing or no JSON is shown as it is", () => {
  for (const text of ["", "not JSON", "null", "7"]) assert.deepEqual([addressesOf(text), prettyJson(text)], [[], text]);
  assert.equal(prettyJson('{"a":1}'), '{\n  "a": 1\n}');
});
