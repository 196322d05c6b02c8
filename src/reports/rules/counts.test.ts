import assert from "node:assert/strict";
import { test } from "node:test";
import { addCounts, noMessages, noSessions } from "./counts.ts";

test("counts are added field by field", () => {
  const one = { ...noMessages, messages: 3, aligned: 2, rejected: 1 };
  assert.deepEqual(addCounts(one, { ...noMessages, messages: 4, rejected: 5 }), {
    ...noMessages,
    messages: 7,
    aligned: 2,
    rejected: 6,
  });
  assert.deepEqual(addCounts({ succeeded: 1, failed: 2 }, noSessions), { succeeded: 1, failed: 2 });
});
