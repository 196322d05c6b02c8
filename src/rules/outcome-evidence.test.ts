import assert from "node:assert/strict";
import { test } from "node:test";
import { type Evidence, isInDoubt, opensSession, phases } from "./outcome-evidence.ts";

const lost = (phase: (typeof phases)[number]): Evidence => ({ kind: "lost", phase, code: "ECONNRESET", message: "" });
const reply = { code: 250, enhanced: null, text: "ok", line: "250 ok" };

test("only the missing answer to the final dot leaves a message in doubt", () => {
  for (const phase of phases) assert.equal(isInDoubt(lost(phase)), phase === "after-dot", phase);
  assert.ok(!isInDoubt({ kind: "accepted", reply }));
  assert.ok(!isInDoubt({ kind: "refused", phase: "dot", reply }));
});

test("a session came about when the opening was over, whatever was said then", () => {
  const opened = phases.filter((phase) => opensSession(lost(phase)));
  assert.deepEqual(opened, ["mail", "rcpt", "data", "dot", "after-dot"]);
  assert.ok(opensSession({ kind: "accepted", reply }));
  assert.ok(!opensSession({ kind: "unroutable", reason: "null-mx", message: "" }));
});
