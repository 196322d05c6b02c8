import assert from "node:assert/strict";
import { test } from "node:test";
import { fromJson } from "@bufbuild/protobuf";
import { EmailOutcome, EmailService, EmailStatus, ListEmailsRequestSchema } from "../../gen/v1/email_pb.ts";
import { filterFrom, filterOptions } from "./email-filters.ts";

test("every filter of ListEmails has an option, and every constant a word", () => {
  const notFilters = new Set(["page_size", "page_token"]);
  const byOption: Record<string, string[]> = {
    metadata: ["metadata_key", "metadata_value"],
    outcome: ["outcomes"],
    key: ["key_id"],
    after: ["created_after"],
    before: ["created_before"],
  };
  const covered = Object.keys(filterOptions).flatMap((name) => byOption[name] ?? [name]);
  const fields = EmailService.method.listEmails.input.fields.map(({ name }) => name);
  assert.deepEqual(covered.sort(), fields.filter((name) => !notFilters.has(name)).sort());
  for (const [names, option] of [
    [Object.keys(EmailStatus), filterOptions.status],
    [Object.keys(EmailOutcome), filterOptions.outcome],
  ] as const)
    for (const name of names.filter((one) => /^[A-Z]/.test(one) && one !== "UNSPECIFIED"))
      assert.ok(option.help.includes(name.toLowerCase()), name);
});

test("options become the request of the API", () => {
  const options = { status: "sent", metadata: "a=b=c", open: true, after: "2026-11-01", key: "key_1", search: "x y" };
  const request = filterFrom(options, { outcome: ["bounced", "failed"] });
  const read = fromJson(ListEmailsRequestSchema, request);
  assert.deepEqual(
    [read.status, read.outcomes, read.metadataKey, read.metadataValue, read.open, read.keyId, read.search],
    [EmailStatus.SENT, [EmailOutcome.BOUNCED, EmailOutcome.FAILED], "a", "b=c", true, "key_1", "x y"],
  );
  assert.equal(read.createdAfter?.seconds, BigInt(Date.UTC(2026, 10, 1) / 1000));
  assert.equal(read.createdBefore, undefined);
  assert.deepEqual(fromJson(ListEmailsRequestSchema, filterFrom({}, {})), fromJson(ListEmailsRequestSchema, {}));
});
