import assert from "node:assert/strict";
import { test } from "node:test";
import type { Violation } from "../../ops/problem.ts";
import { endProblems, readEntries, renewedEnd } from "./settings.ts";

test("lists have one form, and every bad entry is named", () => {
  const problems: Violation[] = [];
  assert.deepEqual(readEntries("domains", ["A.test.", "a.test", "bücher.example"], problems), [
    "a.test",
    "xn--bcher-kva.example",
  ]);
  assert.deepEqual(readEntries("allowedAddresses", [" 10.0.0.1 ", "10.0.0.1/32"], problems), ["10.0.0.1/32"]);
  for (const none of [[], ["*"]]) assert.equal(readEntries("allowedRecipients", none, problems), undefined);
  assert.deepEqual(problems, []);
  readEntries("allowedRecipients", ["a@b.test", "nonsense", "*"], problems);
  readEntries("allowedAddresses", Array(101).fill("10.0.0.1"), problems);
  assert.deepEqual(
    problems.map(({ field }) => field),
    ["allowedRecipients[1]", "allowedRecipients[2]", "allowedAddresses"],
  );
});

test("an end lies in the future, and a replaced key hands on its lifetime", () => {
  assert.deepEqual(endProblems(undefined, 1000), []);
  assert.deepEqual(endProblems(new Date(1001), 1000), []);
  assert.equal(endProblems(new Date(1000), 1000)[0]?.field, "expiresAt");
  assert.equal(renewedEnd({ createdAt: new Date(1000), expiresAt: null }, 5000), undefined);
  assert.equal(renewedEnd({ createdAt: new Date(1000), expiresAt: new Date(3000) }, 5000)?.getTime(), 7000);
});
