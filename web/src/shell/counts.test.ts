import assert from "node:assert/strict";
import { test } from "node:test";
import { countOf } from "./counts.ts";

const exactly = (number: number) => ({ number, atLeast: false });

test("a section shows its number, and its hint says what is counted", () => {
  const counts = { emails: { number: 10_000, atLeast: true }, waiting: exactly(1), suppressions: exactly(41) };
  assert.deepEqual(countOf("/emails", counts, ""), {
    text: "10,000+",
    says: "10,000+ emails in the last 24 hours",
    isProblem: false,
  });
  assert.equal(countOf("/queue", counts, "")?.says, "1 email is not finished");
  assert.equal(countOf("/suppressions", counts, "")?.says, "41 addresses are suppressed");
});

test("problems are named", () => {
  const counts = { domainsToFix: exactly(1), failingWebhooks: exactly(2) };
  assert.deepEqual(countOf("/domains", counts, ""), {
    text: "1 needs DNS",
    says: "1 domain lacks DNS records",
    isProblem: true,
  });
  assert.equal(countOf("/webhooks", counts, "")?.text, "2 failing");
});

test("inbound messages count until the person has seen them", () => {
  const inbound = { ids: ["in_3", "in_2", "in_1"], atLeast: true };
  assert.equal(countOf("/inbound", { inbound }, "in_1")?.says, "2 new messages");
  assert.equal(countOf("/inbound", { inbound }, "")?.text, "3+");
  assert.equal(countOf("/inbound", { inbound }, "in_3"), undefined);
});

test("zero, and what the caller may not read, show nothing", () => {
  assert.equal(countOf("/emails", { emails: exactly(0) }, ""), undefined);
  assert.equal(countOf("/emails", {}, ""), undefined);
  assert.equal(countOf("/keys", { emails: exactly(3) }, ""), undefined);
});
