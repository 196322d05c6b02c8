import assert from "node:assert/strict";
import { test } from "node:test";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { EmailOutcome } from "../../../src/gen/v1/email_pb.ts";
import { readEmailSearch, toRequest } from "../emails/search.ts";
import { series } from "./counts.ts";
import { emailsBehind } from "./links.ts";

test("a link has the filters of the number, and the email log reads them", () => {
  const from = timestampFromDate(new Date("2026-03-01T00:00:00Z"));
  const to = timestampFromDate(new Date("2026-03-02T00:00:00Z"));
  const { search } = emailsBehind({ from, to, outcome: "bounced", key: "campaign", value: "spring" });
  const request = toRequest(readEmailSearch(search), new Date());
  assert.deepEqual([request.createdAfter, request.createdBefore], [from, to]);
  assert.deepEqual([request.outcomes.length, request.metadataKey, request.metadataValue], [1, "campaign", "spring"]);
  assert.deepEqual(emailsBehind({}).search, {});
});

test("the numbers of the chart lead to all emails that they count", () => {
  const selected = series.map(({ outcome }) =>
    toRequest(readEmailSearch(emailsBehind({ outcome }).search), new Date()),
  );
  assert.deepEqual(
    selected.map(({ outcomes }) => outcomes),
    [[EmailOutcome.DELIVERED, EmailOutcome.SENT], [], [EmailOutcome.BOUNCED], [EmailOutcome.COMPLAINED]],
  );
});

test("the log ignores times that are none", () => {
  assert.equal(toRequest(readEmailSearch({ from: "yesterday" }), new Date()).createdAfter, undefined);
});
