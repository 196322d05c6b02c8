import assert from "node:assert/strict";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { CountEmailsResponseSchema, EmailOutcome } from "../../../src/gen/v1/email_pb.ts";
import { countText } from "./counts.ts";

test("a count that is cut ends with a plus", () => {
  const counts = create(CountEmailsResponseSchema, {
    counts: [
      { outcome: EmailOutcome.DELIVERED, emails: 9_996, atLeast: true },
      { outcome: EmailOutcome.BOUNCED, emails: 4 },
    ],
    total: 10_000,
    atLeast: true,
  });
  assert.equal(countText(counts, undefined), "10,000+");
  assert.equal(countText(counts, EmailOutcome.DELIVERED), "9,996+");
  assert.equal(countText(counts, EmailOutcome.BOUNCED), "4");
  assert.equal(countText(counts, EmailOutcome.COMPLAINED), "0");
  assert.equal(countText(undefined, undefined), "");
});
