import assert from "node:assert/strict";
import { test } from "node:test";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { readEmailSearch, toRequest } from "../emails/search.ts";
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

test("the log ignores times that are none", () => {
  assert.equal(toRequest(readEmailSearch({ from: "yesterday" }), new Date()).createdAfter, undefined);
});
