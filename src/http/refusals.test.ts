import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { test } from "node:test";
import { Code, ConnectError } from "@connectrpc/connect";
import { createRefusalPace, type RefusedCall } from "./refusals.ts";

const refused = new ConnectError("too many", Code.ResourceExhausted);
const invalid = new ConnectError("wrong address", Code.InvalidArgument);
/** Longer than a test may take: only the end of the response ends such a pause. */
const pauseMs = 3_600_000;

/** Failed calls over one connection. */
function connection() {
  const response = new EventEmitter().setMaxListeners(0);
  const onClosed = (listener: () => void) => void response.once("close", listener);
  return {
    close: () => response.emit("close"),
    failed: (owner: string, extra: Partial<RefusedCall> = {}): RefusedCall => ({
      owner,
      admitted: true,
      error: refused,
      onClosed,
      ...extra,
    }),
  };
}

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
  const { pace } = createRefusalPace(() => {}, { burst: 2, perSecond: 0.001, pauseMs });
  const { failed, close } = connection();
  const answers = ["flood", "flood", "flood", "calm"].map((owner) => pace(failed(owner)));
  assert.deepEqual(await atOnce(answers), [true, true, false, true]);
  close();
  await Promise.all(answers);
});

test("every failure before the gate has let a call in is a refusal, later ones by their code", async () => {
  const { pace } = createRefusalPace(() => {}, { burst: 1, perSecond: 0.001, pauseMs });
  const { failed, close } = connection();
  await pace(failed("flood"));
  const answers = [
    pace(failed("flood", { error: invalid })),
    pace(failed("flood", { error: invalid, admitted: false })),
    pace(failed("flood")),
  ];
  assert.deepEqual(await atOnce(answers), [true, false, false]);
  close();
});

test("a pause ends by itself", async () => {
  let pauses = 0;
  const { pace } = createRefusalPace(() => void pauses++, { burst: 1, perSecond: 0.001, pauseMs: 5 });
  for (let i = 0; i < 3; i++) await pace(connection().failed("flood"));
  assert.equal(pauses, 2);
});

test("an owner has a share of the answers that wait, and is answered at once beyond it", async () => {
  const { pace } = createRefusalPace(() => {}, { burst: 1, perSecond: 0.001, pauseMs, waiting: 4 });
  const { failed, close } = connection();
  const flood = Array.from({ length: 5 }, () => pace(failed("flood")));
  assert.deepEqual(await atOnce(flood), [true, false, false, true, true]);
  assert.deepEqual(await atOnce([pace(failed("other")), pace(failed("other"))]), [true, false]);
  close();
});
