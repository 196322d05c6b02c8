import assert from "node:assert/strict";
import { test } from "node:test";
import { Problem } from "../ops/problem.ts";
import { noteCommitted, passWriteCheck } from "../postgres/call-scope.ts";
import { OutcomeUnknown } from "../postgres/outage.ts";
import { type Call, CallCancellation, cancellationOf, unlessCanceled, withinDeadline } from "./call.ts";
import type { Caller } from "./caller.ts";

test("a call is canceled once, with the first reason, and its listeners are called", () => {
  const cancellation = new CallCancellation();
  const called: string[] = [];
  cancellation.onCancel(() => called.push("one"));
  const unsubscribe = cancellation.onCancel(() => called.push("two"));
  unsubscribe();
  assert.equal(cancellation.reason(), undefined);
  cancellation.end("deadline passed");
  cancellation.end("caller left");
  assert.deepEqual([cancellation.reason()?.code, called], ["deadline_exceeded", ["one"]]);
});

test("the signal of a canceled call is aborted, whether it was read before or after", () => {
  const [early, late] = [new CallCancellation(), new CallCancellation()];
  const { signal } = early;
  assert.equal(signal.aborted, false);
  early.end("caller left");
  late.end("caller left");
  assert.equal(signal, early.signal);
  assert.equal((signal.reason as { code: string }).code, "canceled");
  assert.equal(late.signal.aborted, true);
});

test("the reason of Connect's signal distinguishes a passed deadline from a disconnected caller", () => {
  for (const [code, expected] of [
    [4, "deadline_exceeded"],
    [1, "canceled"],
  ] as const) {
    const controller = new AbortController();
    const cancellation = cancellationOf(controller.signal);
    let calls = 0;
    cancellation.onCancel(() => calls++);
    assert.equal(cancellation.reason(), undefined);
    controller.abort({ code });
    assert.deepEqual([cancellation.reason()?.code, calls], [expected, 1]);
  }
});

test("canceled work is rejected with the reason, unless it must be finished", async () => {
  const cancellation = new CallCancellation();
  assert.equal(await unlessCanceled(cancellation, Promise.resolve(1)), 1);
  await assert.rejects(unlessCanceled(cancellation, Promise.reject(new Error("its own"))), /its own/);
  const never = unlessCanceled(cancellation, new Promise(() => {}));
  const slow = Promise.withResolvers<number>();
  const mustFinish = unlessCanceled(cancellation, slow.promise, () => true);
  cancellation.end("deadline passed");
  await assert.rejects(never, { code: "deadline_exceeded" });
  slow.resolve(2);
  assert.equal(await mustFinish, 2);
  await assert.rejects(unlessCanceled(cancellation, new Promise(() => {})), { code: "deadline_exceeded" });
});

const away = Object.assign(new Error("connection reset"), { code: "ECONNRESET" });

/** The error of a call whose work is this. */
async function errorOf(work: (call: Call) => Promise<unknown>): Promise<unknown> {
  const call = { caller: {} as Caller, requestId: "r", cancellation: new CallCancellation() };
  const context = { ...call, timeLeftMs: () => undefined, header: () => undefined };
  return await withinDeadline(context, work).then(
    () => undefined,
    (error) => error,
  );
}

test("an outage after the first write of a call says that a part is stored", async () => {
  const error = await errorOf(async ({ beginWrite }) => {
    beginWrite();
    noteCommitted();
    throw away;
  });
  assert.ok(error instanceof Problem);
  assert.deepEqual([error.code, error.reason], ["unavailable", "PARTLY_STORED"]);
  assert.match(error.message, /only the first part of this request was stored/);
});

test("an outage before the first write, or without one, keeps its own error", async () => {
  assert.equal(await errorOf(() => Promise.reject(away)), away);
  const leased = async () => {
    noteCommitted();
    throw away;
  };
  assert.equal(await errorOf(leased), away, "a call that reads may store a lease");
  assert.equal(await errorOf(() => Promise.reject(new OutcomeUnknown(away))), away);
});

test("the writes of one call do not count for another", async () => {
  await errorOf(async () => noteCommitted());
  const error = await errorOf(async ({ beginWrite }) => {
    beginWrite();
    throw away;
  });
  assert.equal(error, away);
});

test("a deadline that has passed by the clock cancels a call whose timer has not fired", () => {
  const { signal } = new AbortController();
  for (const passed of [new CallCancellation(performance.now()), cancellationOf(signal, performance.now())])
    assert.equal(passed.reason()?.code, "deadline_exceeded");
  const inAnHour = performance.now() + 3_600_000;
  for (const ahead of [new CallCancellation(inAnHour), cancellationOf(signal, inAnHour)])
    assert.equal(ahead.reason(), undefined);
});

/** A call whose handler announces a write and waits for a connection before it sends the write. */
function startWriter() {
  const cancellation = new CallCancellation();
  const connection = Promise.withResolvers<void>();
  const commit = Promise.withResolvers<string>();
  let sent = false;
  const call = {
    caller: {} as never,
    requestId: "",
    cancellation,
    timeLeftMs: () => undefined,
    header: () => undefined,
  };
  const answer = withinDeadline(call, async ({ beginWrite }) => {
    beginWrite();
    await connection.promise;
    passWriteCheck();
    sent = true;
    return await commit.promise;
  });
  answer.catch(() => {});
  return { cancellation, connection, commit, answer, sent: () => sent };
}

test("a deadline that passes between the announcement of a write and its statement ends the call, and nothing is sent", async () => {
  const writer = startWriter();
  writer.cancellation.end("deadline passed");
  await assert.rejects(writer.answer, { code: "deadline_exceeded" });
  writer.connection.resolve();
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(writer.sent(), false);
});

test("a deadline that passes after the statement was sent does not hide its result", async () => {
  const writer = startWriter();
  writer.connection.resolve();
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(writer.sent(), true);
  writer.cancellation.end("deadline passed");
  writer.commit.resolve("stored");
  assert.equal(await writer.answer, "stored");
});
