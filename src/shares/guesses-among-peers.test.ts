import assert from "node:assert/strict";
import { test } from "node:test";
import { connectAttempts } from "./guesses-among-peers.ts";
import { createAttemptLimit } from "./guessing.ts";

const rate = { burst: 3, periodMs: 1000 };
const sent: string[] = [];
const link = connectAttempts(({ limit, act, key }) => sent.push(`${limit}: ${act} ${key}`));

test("attempts are sent to the other processes, and theirs are counted", () => {
  const limit = createAttemptLimit(rate, "codes");
  limit.take("a", 0);
  limit.giveBack("a", 0);
  assert.deepEqual(sent, ["codes: take a", "codes: giveBack a"]);
  for (let i = 0; i < 3; i++) link.hear({ limit: "codes", act: "take", key: "b" }, 0);
  assert.throws(() => limit.check("b", 0));
  assert.equal(sent.length, 2, "what another process has sent is not sent again");
});

test("a process that starts gets the counts of another one, also before it has created its limits", () => {
  const limit = createAttemptLimit(rate, "links");
  for (let i = 0; i < 3; i++) limit.take("a", 0);
  const counts = link.counts(500);
  assert.deepEqual(new Map(counts).get("links"), [["a", 0.5]]);
  const started = counts.map(([name, of]): (typeof counts)[number] => [`${name} of another process`, of]);
  // The two processes have clocks with different starts.
  link.restore(started, 90_000);
  link.hear({ limit: "links of another process", act: "take", key: "b" }, 90_000);
  const other = createAttemptLimit(rate, "links of another process");
  assert.throws(() => other.check("a", 90_499));
  other.check("a", 90_500);
  assert.deepEqual(new Map(link.counts(90_000)).get("links of another process"), [
    ["a", 0.5],
    ["b", 2],
  ]);
});

test("two limits of a process cannot have the same name", () => {
  createAttemptLimit(rate, "same");
  assert.throws(() => createAttemptLimit(rate, "same"), /two limits with the name same/);
});
