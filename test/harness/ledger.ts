/** A load generator that records the id of every acknowledged email in a ledger, and an audit that compares the ledger with
 * the sink and the event log after faults. */
import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import type { Testbed, WireEvent } from "./testbed.ts";
import { patienceMs, until } from "./wait.ts";

/** Acknowledged emails by the idempotency key they were sent with. */
export type Ledger = Map<string, { id: string; to: string[]; sentAtMs: number }>;

export type Load = {
  ledger: Ledger;
  /** The number of calls that are waiting for a response. */
  unanswered(): number;
  /** The number of `unavailable` responses so far. */
  refusals(): number;
  /** Responses that no client should get, and calls without a response in time. */
  wrong: string[];
  /** Resolves when this many more emails have been acknowledged. */
  untilAcknowledged(more: number): Promise<void>;
  /** Waits until some emails sent after this call have reached the receiver. Resolves with the milliseconds that it took. */
  untilDelivering(): Promise<number>;
  /** Sends no new emails. Retries unanswered calls with their idempotency keys until they are answered. */
  stop(): Promise<void>;
  /** Cancels all calls, for a test that has failed. */
  giveUp(): void;
};

/** Sends one email. The same key is the same email. Rejects without an answer. */
export type Send = (email: { key: string; to: readonly string[]; signal: AbortSignal }) => Promise<SendAnswer>;
export type SendAnswer = { id: string } | { refusal: string; isTemporary: boolean };

export type LoadOptions = {
  name: string;
  senders: number;
  pauseMs: number;
  /** The recipients of a sender's nth email. Default: one or two mailboxes named after the key. */
  to?: (key: string, n: number) => string[];
  body?: string;
  /** How an email is sent. Default: SendEmail with the key as its idempotency key. */
  send?: Send;
  /** Calls may time out, because frozen nodes do not respond; the client retries them at another node. */
  maySilence?: boolean;
};

/** When this many new emails have reached the receiver, the service has recovered. */
const newEmailsToRecover = 5;
/** A call without a response by then counts as hanging, even on a busy machine. */
const answerWithinMs = patienceMs / 2;

/** Starts sending. Each address is used once, so that every copy at the sink can be attributed to one email. */
export function startLoad(testbed: Testbed, options: LoadOptions): Load {
  const ledger: Ledger = new Map();
  const wrong: string[] = [];
  let stopping = false;
  let waiting = 0;
  let refusals = 0;
  const cancellation = new AbortController();
  const oneOrTwo = (key: string, n: number) =>
    n % 3 === 0 ? [`${key}@there.test`, `${key}@other.test`] : [`${key}@there.test`];

  /** Retries the same request with the same idempotency key after every error, as a careful client does. */
  async function sendUntilAnswered(key: string, to: readonly string[]): Promise<string> {
    const send = options.send ?? callSendEmail(testbed, options.body);
    return await until(
      `an answer to ${key}`,
      async () => {
        if (cancellation.signal.aborted) return "";
        const timer = AbortSignal.timeout(answerWithinMs);
        waiting++;
        const answer = await send({ key, to, signal: AbortSignal.any([cancellation.signal, timer]) })
          .finally(() => waiting--)
          .catch((error) => {
            if (timer.aborted && !options.maySilence) wrong.push(`no answer to ${key} within ${answerWithinMs} ms`);
            throw error;
          });
        if ("id" in answer) return answer.id;
        refusals++;
        if (!answer.isTemporary) wrong.push(`${key}: ${answer.refusal}`);
        return undefined;
      },
      { everyMs: 200 },
    );
  }

  const work = Array.from({ length: options.senders }, async (_, sender) => {
    for (let n = 0; !stopping; n++) {
      const key = `${options.name}-${sender}-${n}`;
      const to = (options.to ?? oneOrTwo)(key, n);
      const sentAtMs = performance.now();
      ledger.set(key, { id: await sendUntilAnswered(key, to), to, sentAtMs });
      await delay(options.pauseMs);
    }
  });
  // `stop` reports failures; an earlier unhandled rejection must not end the process.
  for (const one of work) one.catch(() => {});

  return {
    ledger,
    wrong,
    unanswered: () => waiting,
    refusals: () => refusals,
    async untilAcknowledged(more) {
      const target = ledger.size + more;
      await until(`${more} more acknowledged emails`, () => ledger.size >= target);
    },
    async untilDelivering() {
      const since = performance.now();
      const known = testbed.sink.deliveries.length;
      const hasRecovered = () => {
        const taken = new Set<string>();
        for (const one of testbed.sink.deliveries.slice(known))
          if (one.complete && one.reply.startsWith("2")) for (const address of one.recipients) taken.add(address);
        const delivered = [...ledger.values()].filter(({ sentAtMs, to }) => sentAtMs > since && taken.has(to[0]!));
        return delivered.length >= newEmailsToRecover;
      };
      await until("new emails to reach the receiver", hasRecovered);
      return performance.now() - since;
    },
    async stop() {
      stopping = true;
      await Promise.all(work);
    },
    giveUp() {
      stopping = true;
      cancellation.abort();
    },
  };
}

function callSendEmail(testbed: Testbed, body: string | undefined): Send {
  return async ({ key, to, signal }) => {
    const answer = await testbed.call(
      "EmailService/SendEmail",
      { from: "news@sender.test", to, subject: key, body: body ?? `Hello ${key}`, async: true },
      { headers: { "idempotency-key": key }, signal },
    );
    if (answer.status === 200) return { id: answer.body.id as string };
    // While the database or a node is down, `unavailable` is the only allowed error.
    return { refusal: JSON.stringify(answer.body), isTemporary: answer.body.code === "unavailable" };
  };
}

/** The number of emails in flight: accepted and not settled, or sent and not answered. */
export async function inFlight(testbed: Testbed, load: Load): Promise<number> {
  const [row] = await testbed.database.sql<{ n: number }[]>`
    select count(distinct email_id)::int as n from recipients where status in ('queued', 'delayed') and workspace_id = ${testbed.workspaceId}`;
  return row!.n + load.unanswered();
}

/** Waits until every recipient of the ledger has its final outcome, with nothing left in the queue. */
export async function untilSettled(testbed: Testbed): Promise<void> {
  const { sql } = testbed.database;
  await until(
    "an empty queue",
    async () =>
      (
        await sql`select 1 from recipients where status in ('queued', 'delayed') and workspace_id = ${testbed.workspaceId} limit 1`
      ).length === 0,
    { everyMs: 100 },
  );
}

export type Audit = {
  emails: number;
  recipients: number;
  events: number;
  /** Complete messages at the sink. */
  copies: number;
  /** Recipients that got more than one copy, and those among them whose event has `possibleDuplicate`. */
  duplicates: number;
  flagged: number;
  /** All recipients whose event has `possibleDuplicate`. */
  suspected: number;
  /** Recipients of acknowledged emails without an outcome, or with a delivered event but no accepted copy at the sink. */
  lost: number;
  /** Positions at which the cursors of the log are not 1, 2, 3 … n. */
  gaps: number;
  /** One sentence for each violated guarantee, including those counted above. */
  wrong: string[];
};

/** The expected final event of an address; delivered by default. */
export type Expected = (address: string) => "email.delivered" | "email.bounced";

/** Checks the guarantees: no acknowledged email is lost, each recipient has one final outcome, a second copy is flagged as a
 * possible duplicate, and cursors have no gaps. */
export async function audit(
  testbed: Testbed,
  ledger: Ledger,
  expected: Expected = () => "email.delivered",
): Promise<Audit> {
  const wrong: string[] = [];
  const events = await testbed.events();
  // After a cut of the log, a cursor is the number with the name of the cut: 89-88kqzvtw.
  const gaps = events.filter(({ cursor }, i) => cursor.split("-")[0] !== String(i + 1)).length;
  if (gaps > 0) wrong.push(`the cursors of the log have gaps, repeats or a wrong order at ${gaps} positions`);
  if (new Set(events.map(({ event }) => event.id)).size !== events.length) wrong.push("an event is in the log twice");

  const finals = finalsByAddress(events);
  const copies = copiesByAddress(testbed);
  const count = { recipients: 0, duplicates: 0, flagged: 0, suspected: 0, lost: 0 };
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
      if (final.type !== expected(address)) wrong.push(`${address} has the outcome ${final.type}`);
      const { whole, taken } = copies.get(address) ?? { whole: 0, taken: 0 };
      if (final.type === "email.delivered" && taken === 0) {
        count.lost++;
        wrong.push(`${address} has a delivered event, but the sink never accepted a copy`);
      }
      if (final.possibleDuplicate) count.suspected++;
      if (whole <= 1) continue;
      count.duplicates++;
      if (final.possibleDuplicate) count.flagged++;
      else wrong.push(`${address} got ${whole} copies without a possibleDuplicate flag`);
    }
  }
  if (finals.size !== count.recipients) wrong.push("there are outcomes for recipients that are not in the ledger");
  wrong.push(...(await wrongRows(testbed, ledger)));
  const whole = [...copies.values()].reduce((sum, one) => sum + one.whole, 0);
  return { emails: ledger.size, events: events.length, copies: whole, ...count, gaps, wrong };
}

/** Runs the audit and asserts that it finds nothing wrong. */
export async function assertAudit(testbed: Testbed, ledger: Ledger, expected?: Expected): Promise<Audit> {
  const found = await audit(testbed, ledger, expected);
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

async function wrongRows(testbed: Testbed, ledger: Ledger): Promise<string[]> {
  const { sql } = testbed.database;
  const wrong: string[] = [];
  const { workspaceId } = testbed;
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
  if (rows.length > 0) wrong.push(`counters or status of ${rows.length} emails do not match their recipients`);
  return wrong;
}

/** By address: `whole` counts complete messages that the sink did not reject, `taken` those that it answered with 250. */
export function copiesByAddress(testbed: Testbed): Map<string, { whole: number; taken: number }> {
  const copies = new Map<string, { whole: number; taken: number }>();
  for (const { complete, reply, recipients } of testbed.sink.deliveries) {
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
