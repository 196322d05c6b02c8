// Checks the SDK's types where they go beyond the contract's field lists: required fields, optional fields, and payloads of events.
import assert from "node:assert/strict";
import { test } from "node:test";
import { readContract } from "./descriptors.ts";
import { eventTypes } from "./reference-events.ts";
import { folder, generate } from "./sdk-gen.ts";

const contract = await readContract();
const files = await generate();
const all = [...files.values()].join("\n");

/** The fields of one interface, each as `name` or `name?` with its type. */
function fields(type: string): Map<string, string> {
  const [, body] = new RegExp(`export interface ${type} \\{\\n(.*?)\\n\\}`, "s").exec(all) ?? [];
  assert.ok(body !== undefined, type);
  return new Map([...body.matchAll(/^ {2}(\w+\??): (.+);$/gm)].map(([, name, is]) => [name!, is!]));
}

test("a request requires the fields that its comments call required, and accepts dates", () => {
  const send = fields("SendEmailRequest");
  const required = [...send.keys()].filter((name) => !name.endsWith("?"));
  assert.deepEqual(required, ["from", "to", "subject"]);
  assert.equal(send.get("scheduledAt?"), "Date | string");
  assert.equal(send.get("metadata?"), "Record<string, string>");
});

test("a response has every field except those that its comments call absent", () => {
  const domain = fields("Domain");
  assert.equal(domain.get("createdAt"), "string");
  assert.equal(domain.get("lastCheckedAt?"), "string");
  assert.equal(domain.get("records"), "DomainRecords");
  assert.equal(fields("VerifyDomainResponse").get("nextRetryAt?"), "string");
  assert.equal(fields("StreamEventsResponse").get("event?"), "Event");
  assert.equal(fields("DnsRecord").get("priority?"), "number");
});

test("every method and every event type has a type", () => {
  for (const method of contract.services.flatMap((service) => service.methods)) {
    const line = `"${method.parent.name}/${method.name}": { request: ${method.input.name}; response: ${method.output.name} };`;
    assert.ok(files.get(`${folder}/methods.ts`)!.includes(line), line);
  }
  for (const { type, field } of eventTypes(contract)) {
    assert.ok(all.includes(`{ type: "${type}"; ${field.jsonName}: ${field.message!.name} }`), type);
  }
});
