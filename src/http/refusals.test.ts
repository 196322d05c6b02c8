import assert from "node:assert/strict";
import { test } from "node:test";
import { Code, ConnectError } from "@connectrpc/connect";
import { createRefusals } from "./refusals.ts";

const refused = new ConnectError("too many", Code.ResourceExhausted);
/** Longer than a test may take: only the end of the call ends such a pause. */
const pauseMs = 3_600_000;

/** Whether each answer is sent at once. */
async function atOnce(answers: Promise<void>[]): Promise<boolean[]> {
  const sent = answers.map(() => false);
  for (const [i, answer] of answers.entries())
    void answer.then(() => {
      sent[i] = true;
    });
  await new Promise((resolve) => setImmediate(resolve));
  return sent;
}

test("the first refusals of an owner are answered at once, the next ones wait, and other owners do not", async () => {
  const refusals = createRefusals(() => {}, { burst: 2, perSecond: 0.001, pauseMs });
  const call = new AbortController();
  const pace = (owner: string, error = refused) => refusals.pace(owner, error, call);
  const answers = [pace("flood"), pace("flood"), pace("flood"), pace("calm")];
  assert.deepEqual(await atOnce(answers), [true, true, false, true]);
  const failed = new ConnectError("wrong address", Code.InvalidArgument);
  assert.deepEqual(await atOnce([pace("flood", failed), pace("flood")]), [true, false]);
  call.abort();
  await Promise.all(answers);
  assert.deepEqual(await atOnce([pace("flood")]), [true], "the caller has left");
});

test("a pause ends by itself", async () => {
  let pauses = 0;
  const refusals = createRefusals(() => void pauses++, { burst: 1, perSecond: 0.001, pauseMs: 5 });
  for (let i = 0; i < 3; i++) await refusals.pace("flood", refused, new AbortController());
  assert.equal(pauses, 2);
});

test("an owner has a share of the answers that wait, and is answered at once beyond it", async () => {
  const refusals = createRefusals(() => {}, { burst: 1, perSecond: 0.001, pauseMs, waiting: 4 });
  const call = new AbortController();
  const pace = (owner: string) => refusals.pace(owner, refused, call);
  assert.deepEqual(await atOnce(Array.from({ length: 5 }, () => pace("flood"))), [true, false, false, true, true]);
  assert.deepEqual(await atOnce([pace("other"), pace("other")]), [true, false]);
  call.abort();
});
