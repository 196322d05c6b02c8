/** A client under load that keeps a ledger of every id it was given, and the reckoning: ledger, sink and event log must agree, whatever died. */
import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { until } from "./wait.ts";
import type { World } from "./world.ts";

/** Acknowledged emails by the idempotency key they were sent with. */
export type Ledger = Map<string, { id: string; to: string[] }>;

export type Load = {
  ledger: Ledger;
  /** Resolves when this many more emails have been acknowledged. */
  untilAcknowledged(more: number): Promise<void>;
  /** No new emails; those that were never answered are asked about again under their key until they are. */
  stop(): Promise<void>;
  /** For a test that has failed: nobody waits for an answer any more. */
  giveUp(): void;
};

/** Emails to one or two recipients, each address used once, so that every copy at the sink can be told apart. */
export function startLoad(world: World, options: { name: string; senders: number; pauseMs: number }): Load {
  const ledger: Ledger = new Map();
  let stopping = false;
  const life = new AbortController();
  const work = Array.from({ length: options.senders }, async (_, sender) => {
    for (let n = 0; !stopping; n++) {
      const key = `${options.name}-${sender}-${n}`;
      const to = n % 3 === 0 ? [`${key}@there.test`, `${key}@other.test`] : [`${key}@there.test`];
      ledger.set(key, { id: await sendUntilAnswered(world, { key, to, signal: life.signal }), to });
      await delay(options.pauseMs);
    }
  });
  return {
    ledger,
    async untilAcknowledged(more) {
      const wanted = ledger.size + more;
      await until(`${more} more acknowledged emails`, () => ledger.size >= wanted, { withinMs: 60_000 });
    },
    async stop() {
      stopping = true;
      await Promise.all(work);
    },
    giveUp() {
      stopping = true;
      life.abort();
    },
  };
}

/** As a careful client does: whatever goes wrong, the same request again under the same key. */
async function sendUntilAnswered(
  world: World,
  { key, to, signal }: { key: string; to: readonly string[]; signal: AbortSignal },
): Promise<string> {
  return await until(
    `an answer to ${key}`,
    async () => {
      if (signal.aborted) return "";
      const answer = await world.call(
        "EmailService/SendEmail",
        { from: "news@sender.test", to, subject: key, body: `Hello ${key}`, async: true },
        { headers: { "idempotency-key": key }, signal: AbortSignal.any([signal, AbortSignal.timeout(15_000)]) },
      );
      if (answer.status === 200) return answer.body.id as string;
      // While a database or a node is away, nothing else may be said than that.
      assert.equal(answer.body.code, "unavailable", JSON.stringify(answer.body));
      return undefined;
    },
    { withinMs: 60_000, everyMs: 50 },
  );
}

/** Waits until every recipient of the ledger has its final outcome, with nothing left in the queue. */
export async function untilSettled(world: World, withinMs = 60_000): Promise<void> {
  const { sql } = world.database;
  await until(
    "an empty queue",
    async () => (await sql`select 1 from recipients where status in ('queued', 'delayed') limit 1`).length === 0,
    { withinMs },
  );
}

export type Reckoning = { emails: number; recipients: number; events: number; copies: number; duplicates: number };

/** The promises: nothing acknowledged is lost, one final outcome each, a second copy only where doubt was told, numbers 1..n. */
export async function reckon(world: World, ledger: Ledger): Promise<Reckoning> {
  const events = await world.events();
  assert.deepEqual(
    events.map(({ cursor }) => cursor),
    events.map((_, i) => String(i + 1)),
    "the log has no gap, no repeat, no reordering",
  );
  assert.equal(new Set(events.map(({ event }) => event.id)).size, events.length, "no event twice");

  const finals = new Map<string, { type: string; emailId: string; possibleDuplicate: boolean }[]>();
  for (const { event } of events) {
    if (event.type === "email.delayed") continue;
    const payload = event[event.type.replace("email.", "")] as { recipients: string[]; possibleDuplicate?: boolean };
    for (const address of payload.recipients) {
      const { type, emailId } = event;
      const final = { type, emailId, possibleDuplicate: payload.possibleDuplicate === true };
      finals.set(address, [...(finals.get(address) ?? []), final]);
    }
  }
  const copies = copiesByAddress(world);
  let duplicates = 0;
  let recipients = 0;
  for (const { id, to } of ledger.values()) {
    for (const address of to) {
      recipients++;
      const [final, ...more] = finals.get(address) ?? [];
      assert.ok(final, `${address} has no final outcome`);
      assert.deepEqual(more, [], `${address} has more than one final outcome`);
      assert.deepEqual([final.type, final.emailId], ["email.delivered", id], address);
      const { whole, taken } = copies.get(address) ?? { whole: 0, taken: 0 };
      assert.ok(taken >= 1, `${address} was told as delivered, but the sink never took it`);
      if (whole > 1) {
        duplicates++;
        assert.ok(final.possibleDuplicate, `${address} got ${whole} copies and nobody was told`);
      }
    }
  }
  assert.equal(finals.size, recipients, "no outcome of an email that nobody has");
  const [stored] = await world.database.sql<{ n: number }[]>`select count(*)::int as n from emails`;
  assert.equal(stored!.n, ledger.size, "one key, one email");
  const wrong = await world.database.sql`select id, status, open, accepted, total from emails
    where status <> 'sent' or open <> 0 or accepted <> total`;
  assert.deepEqual([...wrong], [], "counters and status agree with the outcomes");
  const whole = [...copies.values()].reduce((sum, one) => sum + one.whole, 0);
  return { emails: ledger.size, recipients, events: events.length, copies: whole, duplicates };
}

/** Messages that came whole, and those of them that the sink said 250 to. */
function copiesByAddress(world: World): Map<string, { whole: number; taken: number }> {
  const copies = new Map<string, { whole: number; taken: number }>();
  for (const { complete, reply, recipients } of world.sink.deliveries) {
    if (!complete) continue;
    for (const address of recipients) {
      const seen = copies.get(address) ?? { whole: 0, taken: 0 };
      seen.whole++;
      if (reply.startsWith("2")) seen.taken++;
      copies.set(address, seen);
    }
  }
  return copies;
}
