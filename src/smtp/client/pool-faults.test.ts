import assert from "node:assert/strict";
import test from "node:test";
import { startSink } from "../../../test/harness/sink.ts";
import type { Action, Step } from "../../../test/harness/sink-script.ts";
import { createPool } from "./pool.ts";
import type { TransactionResult } from "./session.ts";

const actions: readonly Action[] = [
  "close",
  "reset",
  "silence",
  "451 4.3.0 Not now",
  "550 5.1.1 No such user",
  { reply: "421 4.7.0 Closing", after: "close" },
  { reply: "250 ok", after: "close" },
  { reply: "250 ok", after: "reset" },
  { raw: "250-endless\r\n".repeat(100) },
  { raw: "what?\r\n" },
  { reply: "354 go" },
];

/** A seeded generator of numbers in [0, 1). */
function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return state / 4_294_967_296;
  };
}

for (const seed of [1, 2, 3, 4]) {
  test(`random faults, seed ${seed}: no acceptance by the sink is lost, and none is reported for unsent mail`, async (t) => {
    const random = seededRandom(seed);
    const script = (step: Step): Action | undefined => {
      if (step.verb === "quit" || random() > 0.08) return undefined;
      // Inside a message the sink only drops the connection: a reply there and another at the dot would be two replies to one DATA.
      const possible = step.verb === "bytes" ? actions.slice(0, 2) : actions;
      return possible[Math.floor(random() * possible.length)];
    };
    const sink = await startSink({ script });
    t.after(() => sink.close());
    const waits = { bannerMs: 150, ehloMs: 150, mailMs: 150, rcptMs: 150, dataMs: 150, dotMs: 150, quitMs: 50 };
    const pool = createPool({ perDestination: 8, idleMs: 20, maxTransactions: 9, timeouts: waits });
    const target = {
      host: "mx.example.test",
      address: "127.0.0.1",
      port: sink.port,
      heloName: "posthorn.example",
      tls: "none",
    } as const;
    const send = (i: number) =>
      pool.transact({
        target,
        message: {
          from: "s@example.com",
          recipients: [`a${i}@example.test`, `b${i}@example.test`],
          data: Buffer.from(`Subject: ${i}\r\n\r\n${"x".repeat(Math.floor(random() * 3000))}\r\n`),
        },
      });
    const results: TransactionResult[] = await Promise.all(Array.from({ length: 300 }, (_, i) => send(i)));
    await pool.stop(0);

    for (const { address, result } of results.flatMap((each) => each.recipients)) {
      const copies = sink.deliveries.filter(({ complete, recipients }) => complete && recipients.includes(address));
      const accepted = copies.filter(({ reply }) => reply.startsWith("2"));
      if (result.kind === "accepted")
        assert.ok(copies.length > 0, `${address} is reported as accepted and was never sent`);
      const inDoubt = "phase" in result && result.phase === "after-dot";
      if (accepted.length > 0)
        assert.ok(result.kind === "accepted" || inDoubt, `the sink accepted ${address}: ${JSON.stringify(result)}`);
      assert.ok(copies.length <= 1, `${address} was sent ${copies.length} times by one call`);
    }
    assert.deepEqual(pool.stats(), { open: 0, idle: 0, waiting: 0 });
    await sink.until(({ connections }) => connections.open === 0);
  });
}
