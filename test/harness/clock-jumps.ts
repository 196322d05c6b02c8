/** Lets the clock of the program or of the database jump while mail is sent, and judges what must not change. test/faults/clock.ts and
 * test/app/clock.test.ts use it. */
import { setTimeout as delay } from "node:timers/promises";
import { forgetReadJournals } from "../../src/delivery/store/doubts.ts";
import { forgetStsPolicies } from "../../src/delivery/store/mta-sts.ts";
import { forgetSites } from "../../src/delivery/store/sites.ts";
import { forgetDeletedDomains } from "../../src/domains/store/dkim-keys.ts";
import { forgetSeen } from "../../src/inbound/store/inbound.ts";
import { deleteExpired } from "../../src/people/store.ts";
import type { Sql } from "../../src/postgres/pool.ts";
import { dropExpiredKeys, dropOldPartitions, oldestEmailsAt } from "../../src/postgres/retention.ts";
import { deadAfterSeconds, forgetDeadWorkers } from "../../src/postgres/workers.ts";
import { forgetStats } from "../../src/stats/store/stats.ts";
import type { LoadOptions } from "./ledger.ts";
import type { RunningProgram } from "./program.ts";
import { accepted } from "./sending.ts";
import type { Script } from "./sink-script.ts";
import { mailDomain } from "./testbed.ts";
import type { FaultRun, Progress } from "./under-load.ts";
import { until } from "./wait.ts";
import type { WebhookTestbed } from "./webhook-testbed.ts";

/** Moves one clock to so many days from the real time. */
export type MoveClock = (days: number) => Promise<void>;

/** Offsets in days, one after the other. Each order begins and ends with the right time. */
export const allOrders = [
  [3, 6, 9, 0],
  [30, -30, 0],
  [-30, 30, 0],
  [400, 0],
  [-3, 400, -30, 0],
  [400, 3, -30, 6, 0],
] as const;

/** One order for npm test: ahead, behind, and back. */
export const shortOrders = [[400, -30, 0]] as const;

/** Mail to this domain is paused during the jumps. It must not expire untried. */
const heldDomain = "held.test";
const heldEmails = 5;
/** A lease is free again when its worker has been silent for this long. */
const leaseMs = deadAfterSeconds * 1000;

/** Every fifth email is deferred once, so that retries are due during jumps. */
export const deferring: Script = ({ verb, recipient, seen }) =>
  verb === "RCPT" && recipient.startsWith("grey") && seen === 1 ? "451 4.7.1 try again" : undefined;

export const jumpLoad: Partial<LoadOptions> = {
  to: (key, n) => (n % 5 === 0 ? [`grey-${key}@there.test`] : [`${key}@there.test`]),
};

export type JumpResult = { waitedMs: number; unavailable: number };

export async function jumpUnderLoad(
  run: FaultRun<WebhookTestbed>,
  jumps: { orders: readonly (readonly number[])[]; move: MoveClock; progress?: Progress },
): Promise<JumpResult> {
  const { testbed, load, injectFault, whenSettled } = run;
  const { sql } = testbed.database;
  const result: JumpResult = { waitedMs: 0, unavailable: 0 };
  const nodes: RunningProgram[] = [testbed.program];
  const before = await storedNames(sql);
  const webhook = await testbed.createWebhook();
  const [start] = await sql<{ last: string }[]>`
    select last from event_counters where workspace_id = ${testbed.workspaceId}`;
  await holdMail(run);
  const calls = startCalls(testbed);
  run.cleanUp(calls.stop);
  for (const order of jumps.orders) {
    for (const days of order) {
      await injectFault(() => jumps.move(days));
      await untilBeat(sql);
      await doHousekeeping(sql);
      // A node that starts while a clock is ahead.
      if (days === 400 && nodes.length === 1) nodes.push(await testbed.startNode());
    }
    result.waitedMs = Math.max(result.waitedMs, await untilOpenSettled(run));
    jumps.progress?.(`${order.map((days) => (days > 0 ? `+${days}` : days)).join(", ")} days`);
  }
  await testbed.call("QueueService/ResumeDestination", { destination: heldDomain });
  await calls.stop();
  result.unavailable = load.refusals() + calls.unavailable();
  whenSettled(() => calls.wrong);
  whenSettled(() =>
    result.waitedMs > leaseMs ? [`mail waited ${Math.round(result.waitedMs)} ms after a return`] : [],
  );
  whenSettled(() => missedEvents(testbed, webhook.id, Number(start!.last)));
  whenSettled(() => deletedRows(run, before));
  whenSettled(() => nodes.flatMap(loggedErrors));
  return result;
}

/** Accepts mail that waits, untried, until every jump is over. */
async function holdMail({ testbed, load }: FaultRun<WebhookTestbed>): Promise<void> {
  mailDomain(testbed.dns, heldDomain);
  await testbed.call("QueueService/PauseDestination", { destination: heldDomain });
  for (let i = 0; i < heldEmails; i++) {
    const to = [`held-${i}@${heldDomain}`];
    load.ledger.set(to[0]!, { id: await accepted(testbed, { to, async: true }), to, sentAtMs: performance.now() });
  }
}

/** Waits until a heartbeat has seen the new time. */
async function untilBeat(sql: Sql): Promise<void> {
  const seen = await lastBeat(sql);
  await until("a heartbeat", async () => (await lastBeat(sql)) !== seen);
}

async function lastBeat(sql: Sql): Promise<string> {
  const [row] = await sql<{ at: string }[]>`select max(beat_at)::text as at from workers`;
  return row!.at;
}

/** What every node deletes at its start and then every ten minutes, or every hour. */
async function doHousekeeping(sql: Sql): Promise<void> {
  const retention = { contentDays: 30, historyDays: 90 };
  await forgetDeadWorkers(sql);
  await dropExpiredKeys(sql);
  await forgetSeen(sql);
  await forgetSites(sql);
  await forgetReadJournals(sql);
  await forgetStsPolicies(sql);
  await deleteExpired(sql);
  await forgetDeletedDomains(sql);
  await forgetStats(sql, await oldestEmailsAt(sql));
  await dropOldPartitions(sql, retention);
}

/** How long it takes until the mail is settled that is open now, except held mail. */
async function untilOpenSettled({ testbed }: FaultRun<WebhookTestbed>): Promise<number> {
  const { sql } = testbed.database;
  const began = performance.now();
  const open = await sql<{ id: string }[]>`
    select distinct email_id as id from recipients
    where workspace_id = ${testbed.workspaceId} and status in ('queued', 'delayed') and destination <> ${heldDomain}`;
  const ids = open.map(({ id }) => id);
  await until("open mail to be settled", async () => {
    const left = await sql`select 1 from recipients
      where email_id = any(${ids}::uuid[]) and status in ('queued', 'delayed') limit 1`;
    return left.length === 0;
  });
  return performance.now() - began;
}

const polledCalls: [method: string, request: object][] = [
  ["DomainService/ListDomains", {}],
  ["EmailService/ListEmails", { pageSize: 5 }],
  ["EmailService/ListEvents", { pageSize: 5 }],
  ["QueueService/ListDestinations", {}],
  ["WebhookService/ListWebhooks", {}],
  ["KeyService/ListKeys", {}],
  ["StatsService/GetStats", {}],
];

/** Makes calls of all services during the jumps. Every answer but success and `unavailable` is wrong. */
function startCalls(testbed: WebhookTestbed) {
  const wrong: string[] = [];
  let unavailable = 0;
  let stopping = false;
  const work = (async () => {
    for (let i = 0; !stopping; i++) {
      const [method, request] = polledCalls[i % polledCalls.length]!;
      const { status, body } = await testbed.call(method, request);
      if (body.code === "unavailable") unavailable++;
      else if (status !== 200) wrong.push(`${method}: ${JSON.stringify(body)}`);
      await delay(100);
    }
  })().catch((error: Error) => void wrong.push(`a call failed: ${error.message}`));
  return {
    wrong,
    unavailable: () => unavailable,
    async stop() {
      stopping = true;
      await work;
    },
  };
}

/** Events since the webhook exists that its endpoint did not get exactly once. */
async function missedEvents(testbed: WebhookTestbed, webhookId: string, start: number): Promise<string[]> {
  const expected = (await testbed.events()).filter(({ cursor }) => Number(cursor) > start);
  const posts = () => {
    const count = new Map<string, number>();
    for (const { event } of testbed.receiver.requests) count.set(event.id, (count.get(event.id) ?? 0) + 1);
    return count;
  };
  const missing = () => expected.filter(({ event }) => !posts().has(event.id)).length;
  await until("every event at the endpoint", () => missing() === 0).catch(() => {});
  const failed = await testbed.deliveries(webhookId, { status: "WEBHOOK_DELIVERY_STATUS_FAILED" });
  const twice = [...posts().values()].filter((count) => count > 1).length;
  return [
    ...(missing() > 0 ? [`${missing()} events did not reach the webhook`] : []),
    ...(twice > 0 ? [`${twice} events reached the webhook more than once`] : []),
    ...(failed.length > 0 ? [`${failed.length} webhook deliveries failed`] : []),
  ];
}

/** Names of partitions, domains and DKIM keys, none of which may disappear. */
async function storedNames(sql: Sql): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`
    select relname::text as name from pg_class where relispartition and relkind = 'r'
    union all select domain from domains union all select label from dkim_keys`;
  return rows.map(({ name }) => name);
}

async function deletedRows({ testbed, load }: FaultRun<WebhookTestbed>, before: string[]): Promise<string[]> {
  const { sql } = testbed.database;
  const now = new Set(await storedNames(sql));
  const [row] = await sql<{ keys: number; events: number; last: number; oldest: number }[]>`
    select (select count(*)::int from idempotency where workspace_id = c.workspace_id) as keys,
      (select count(*)::int from events where workspace_id = c.workspace_id) as events, last::int, oldest::int
    from event_counters c where workspace_id = ${testbed.workspaceId}`;
  // Held mail was sent without a key.
  const keys = load.ledger.size - heldEmails;
  return [
    ...before.filter((name) => !now.has(name)).map((name) => `${name} was deleted`),
    ...(row!.keys < keys ? [`${keys - row!.keys} of ${keys} idempotency keys were deleted`] : []),
    ...(row!.events !== row!.last || row!.oldest !== 1 ? [`events were deleted: ${JSON.stringify(row)}`] : []),
  ];
}

/** Internal errors in the log of a node. Problems of the database are none: timers of PostgreSQL, which limit statements and waits for
 * locks, go by its clock and may end early. Callers then get `unavailable`. */
function loggedErrors(node: RunningProgram): string[] {
  const lines = node.output().split("\n");
  return lines
    .filter((line) => /"level":"(error|fatal)"/.test(line) && !/"database":"(time-out|unreachable)"/.test(line))
    .map((line) => line.slice(0, 500));
}
