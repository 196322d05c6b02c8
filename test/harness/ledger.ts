/** A client under load that keeps a ledger of every id it was given, and the reckoning: ledger, sink and event log must agree, whatever died. */
import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { patienceMs, until } from "./wait.ts";
import type { WireEvent, World } from "./world.ts";

/** Acknowledged emails by the idempotency key they were sent with. */
export type Ledger = Map<string, { id: string; to: string[]; askedAtMs: number }>;

export type Load = {
  ledger: Ledger;
  /** Calls that wait for an answer at this moment. */
  unanswered(): number;
  /** Answers of `unavailable` so far. */
  refusals(): number;
  /** Answers that no client should see, and calls that got none in time. */
  wrong: string[];
  /** Resolves when this many more emails have been acknowledged. */
  untilAcknowledged(more: number): Promise<void>;
  /** Resolves when some emails that were asked for from now on have reached their receiver; with the milliseconds that it took. */
  untilDelivering(): Promise<number>;
  /** No new emails; those that were never answered are asked about again under their key until they are. */
  stop(): Promise<void>;
  /** For a test that has failed: nobody waits for an answer any more. */
  giveUp(): void;
};

export type LoadOptions = {
  name: string;
  senders: number;
  pauseMs: number;
  /** The recipients of the nth email of a sender; one or two mailboxes, each named after the key, where nothing else is said. */
  to?: (key: string, n: number) => string[];
  body?: string;
  /** Nodes that stand still answer nobody: their callers come again elsewhere, and that is right. */
  maySilence?: boolean;
};

/** So many fresh emails at their receiver mean that the service works again. */
const enoughFresh = 5;
/** A call that has no answer by then hangs, also on a busy machine. */
const answerWithinMs = patienceMs / 2;

/** Emails to addresses that are each used once, so that every copy at the sink can be told apart. */
export function startLoad(world: World, options: LoadOptions): Load {
  const ledger: Ledger = new Map();
  const wrong: string[] = [];
  let stopping = false;
  let waiting = 0;
  let refusals = 0;
  const life = new AbortController();
  const oneOrTwo = (key: string, n: number) =>
    n % 3 === 0 ? [`${key}@there.test`, `${key}@other.test`] : [`${key}@there.test`];

  /** As a careful client does: whatever goes wrong, the same request again under the same key. */
  async function sendUntilAnswered(key: string, to: readonly string[]): Promise<string> {
    const body = options.body ?? `Hello ${key}`;
    return await until(
      `an answer to ${key}`,
      async () => {
        if (life.signal.aborted) return "";
        const timer = AbortSignal.timeout(answerWithinMs);
        waiting++;
        const answer = await world
          .call(
            "EmailService/SendEmail",
            { from: "news@sender.test", to, subject: key, body, async: true },
            { headers: { "idempotency-key": key }, signal: AbortSignal.any([life.signal, timer]) },
          )
          .finally(() => waiting--)
          .catch((error) => {
            if (timer.aborted && !options.maySilence) wrong.push(`no answer to ${key} within ${answerWithinMs} ms`);
            throw error;
          });
        if (answer.status === 200) return answer.body.id as string;
        // While a database or a node is away, nothing else may be said than that.
        refusals++;
        if (answer.body.code !== "unavailable") wrong.push(`${key}: ${JSON.stringify(answer.body)}`);
        return undefined;
      },
      { everyMs: 200 },
    );
  }

  const work = Array.from({ length: options.senders }, async (_, sender) => {
    for (let n = 0; !stopping; n++) {
      const key = `${options.name}-${sender}-${n}`;
      const to = (options.to ?? oneOrTwo)(key, n);
      const askedAtMs = performance.now();
      ledger.set(key, { id: await sendUntilAnswered(key, to), to, askedAtMs });
      await delay(options.pauseMs);
    }
  });
  // Told by `stop`; a failure before that must not end the process.
  for (const one of work) one.catch(() => {});

  return {
    ...{ ledger, wrong, unanswered: () => waiting, refusals: () => refusals },
    async untilAcknowledged(more) {
      const wanted = ledger.size + more;
      await until(`${more} more acknowledged emails`, () => ledger.size >= wanted);
    },
    async untilDelivering() {
      const since = performance.now();
      const known = world.sink.deliveries.length;
      const isFresh = () => {
        const taken = new Set<string>();
        for (const one of world.sink.deliveries.slice(known))
          if (one.complete && one.reply.startsWith("2")) for (const address of one.recipients) taken.add(address);
        const fresh = [...ledger.values()].filter(({ askedAtMs, to }) => askedAtMs > since && taken.has(to[0]!));
        return fresh.length >= enoughFresh;
      };
      await until("fresh emails at their receiver", isFresh);
      return performance.now() - since;
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

/** Emails that are on their way at this moment: accepted and not settled, or asked for and not answered. */
export async function inFlight(world: World, load: Load): Promise<number> {
  const [row] = await world.database.sql<{ n: number }[]>`
    select count(distinct email_id)::int as n from recipients where status in ('queued', 'delayed') and workspace_id = ${world.workspaceId}`;
  return row!.n + load.unanswered();
}

/** Waits until every recipient of the ledger has its final outcome, with nothing left in the queue. */
export async function untilSettled(world: World): Promise<void> {
  const { sql } = world.database;
  await until(
    "an empty queue",
    async () =>
      (
        await sql`select 1 from recipients where status in ('queued', 'delayed') and workspace_id = ${world.workspaceId} limit 1`
      ).length === 0,
    { everyMs: 100 },
  );
}

export type Reckoning = {
  emails: number;
  recipients: number;
  events: number;
  /** Whole messages at the sink. */
  copies: number;
  /** Recipients that got more than one, and those of them that were told so. */
  duplicates: number;
  flagged: number;
  /** Recipients of acknowledged emails without an outcome, or told as delivered while nobody got them. */
  lost: number;
  /** Places where the log is not 1, 2, 3 … n. */
  gaps: number;
  /** Every broken promise in words; those above among them. */
  wrong: string[];
};

/** What an address is to come to; delivered, where nothing else is said. */
export type Expected = (address: string) => "email.delivered" | "email.bounced";

/** The promises: nothing acknowledged is lost, one final outcome each, a second copy only where doubt was told, numbers 1..n. */
export async function audit(
  world: World,
  ledger: Ledger,
  expected: Expected = () => "email.delivered",
): Promise<Reckoning> {
  const wrong: string[] = [];
  const events = await world.events();
  const gaps = events.filter(({ cursor }, i) => cursor !== String(i + 1)).length;
  if (gaps > 0) wrong.push(`the log has a gap, a repeat or another order at ${gaps} places`);
  if (new Set(events.map(({ event }) => event.id)).size !== events.length) wrong.push("an event came twice");

  const finals = finalsByAddress(events);
  const copies = copiesByAddress(world);
  const count = { recipients: 0, duplicates: 0, flagged: 0, lost: 0 };
  for (const { id, to } of ledger.values()) {
    for (const address of to) {
      count.recipients++;
      const [final, ...more] = finals.get(address) ?? [];
      if (!final) {
        count.lost++;
        wrong.push(`${address} has no final outcome`);
        continue;
      }
      if (more.length > 0) wrong.push(`${address} has more than one final outcome`);
      if (final.emailId !== id) wrong.push(`${address} belongs to another email`);
      if (final.type !== expected(address)) wrong.push(`${address} came to ${final.type}`);
      const { whole, taken } = copies.get(address) ?? { whole: 0, taken: 0 };
      if (final.type === "email.delivered" && taken === 0) {
        count.lost++;
        wrong.push(`${address} was told as delivered, but the sink never took it`);
      }
      if (whole <= 1) continue;
      count.duplicates++;
      if (final.possibleDuplicate) count.flagged++;
      else wrong.push(`${address} got ${whole} copies and nobody was told`);
    }
  }
  if (finals.size !== count.recipients) wrong.push("there are outcomes of an email that nobody has");
  wrong.push(...(await wrongRows(world, ledger)));
  const whole = [...copies.values()].reduce((sum, one) => sum + one.whole, 0);
  return { emails: ledger.size, events: events.length, copies: whole, ...count, gaps, wrong };
}

/** The same, for a test: no promise is broken. */
export async function reckon(world: World, ledger: Ledger, expected?: Expected): Promise<Reckoning> {
  const found = await audit(world, ledger, expected);
  assert.deepEqual(found.wrong, []);
  return found;
}

type Final = { type: string; emailId: string; possibleDuplicate: boolean };

function finalsByAddress(events: readonly WireEvent[]): Map<string, Final[]> {
  const finals = new Map<string, Final[]>();
  for (const { event } of events) {
    if (!event.type.startsWith("email.") || event.type === "email.delayed" || event.type === "email.received") continue;
    const payload = event[event.type.replace("email.", "")] as { recipients?: string[]; possibleDuplicate?: boolean };
    for (const address of payload.recipients ?? []) {
      const { type, emailId } = event;
      const final = { type, emailId, possibleDuplicate: payload.possibleDuplicate === true };
      finals.set(address, [...(finals.get(address) ?? []), final]);
    }
  }
  return finals;
}

async function wrongRows(world: World, ledger: Ledger): Promise<string[]> {
  const { sql } = world.database;
  const wrong: string[] = [];
  const { workspaceId } = world;
  const [stored] = await sql<{ n: number }[]>`
    select count(*)::int as n from emails where workspace_id = ${workspaceId}`;
  if (stored!.n !== ledger.size) wrong.push(`${stored!.n} emails are stored for ${ledger.size} keys`);
  const rows = await sql<{ id: string }[]>`
    select e.id from emails e join (
      select workspace_id, email_id, count(*) filter (where status in ('delivered', 'sent')) as accepted,
        count(*) filter (where status in ('queued', 'delayed')) as open, count(*) as total
      from recipients where workspace_id = ${workspaceId} group by workspace_id, email_id) r
      on r.workspace_id = e.workspace_id and r.email_id = e.id
    where e.open <> r.open or e.accepted <> r.accepted or e.total <> r.total
      or e.status <> case when r.open > 0 then 'queued' when r.accepted > 0 then 'sent' else 'failed' end`;
  if (rows.length > 0) wrong.push(`counters and status of ${rows.length} emails do not agree with their outcomes`);
  return wrong;
}

/** Messages that came whole and were not refused, and those of them that the sink said 250 to. */
export function copiesByAddress(world: World): Map<string, { whole: number; taken: number }> {
  const copies = new Map<string, { whole: number; taken: number }>();
  for (const { complete, reply, recipients } of world.sink.deliveries) {
    if (!complete || /^[45]/.test(reply)) continue;
    for (const address of recipients) {
      const seen = copies.get(address) ?? { whole: 0, taken: 0 };
      seen.whole++;
      if (reply.startsWith("2")) seen.taken++;
      copies.set(address, seen);
    }
  }
  return copies;
}
