import assert from "node:assert/strict";
import { test } from "node:test";
import { type Evidence, isInDoubt, phases, sessionOpened } from "./evidence.ts";

const lost = (phase: (typeof phases)[number]): Evidence => ({ kind: "lost", phase, code: "ECONNRESET", message: "" });
const reply = { code: 250, enhanced: null, text: "ok", line: "250 ok" };

test("a message is in doubt only when the reply to the final dot is missing", () => {
  for (const phase of phases) assert.equal(isInDoubt(lost(phase)), phase === "after-dot", phase);
  assert.ok(!isInDoubt({ kind: "accepted", reply }));
  assert.ok(!isInDoubt({ kind: "refused", phase: "dot", reply }));
});

test("a session counts as opened for every failure from MAIL on", () => {
  const opened = phases.filter((phase) => sessionOpened(lost(phase)));
  assert.deepEqual(opened, ["mail", "rcpt", "data", "dot", "after-dot"]);
  assert.ok(sessionOpened({ kind: "accepted", reply }));
  assert.ok(!sessionOpened({ kind: "unroutable", reason: "null-mx", message: "" }));
});
