/** Failovers and restores that lose the end of the event log, while mail is sent and streams and a webhook follow the log. */
import { setTimeout as delay } from "node:timers/promises";
import { startFailoverServer } from "../harness/failover.ts";
import { type Reader, startReader } from "../harness/stream-readers.ts";
import type { Testbed } from "../harness/testbed.ts";
import type { Findings, Progress } from "../harness/under-load.ts";
import { until } from "../harness/wait.ts";
import { startWebhookTestbed, type WebhookTestbed } from "../harness/webhook-testbed.ts";
import type { Fault } from "./fault.ts";

export const cuts: Fault[] = [
  {
    name: "cut: the primary dies, and the standby lacks its last transactions",
    promise:
      "every reader of lost events gets out_of_range with the last shared cursor; readers and webhooks miss no event of the new log; second copies are flagged",
    times: 5,
    inject: loseEnd,
  },
];

const readers = 4;
/** How many emails the primary takes that the standby does not get. */
const lostEmails = 40;

type Ledger = { acknowledged: number; wrong: string[]; stop(): Promise<void> };

async function loseEnd(times: number, progress: Progress): Promise<Findings> {
  const postgres = await startFailoverServer();
  const testbed = await startWebhookTestbed({ server: postgres.server });
  try {
    await testbed.createWebhook();
    const target = { url: () => testbed.program.url, key: testbed.program.key };
    const following = Array.from({ length: readers }, () => startReader(target, { messages: 500 }));
    const ledger = startSending(testbed);
    let lostEvents = 0;
    let recoveryMs = 0;
    for (let i = 1; i <= times; i++) {
      await moreEvents(testbed, lostEmails);
      await postgres.replicate();
      const shared = await moreEvents(testbed, 0);
      const lost = await moreEvents(testbed, lostEmails);
      await until("a reader at the lost end", () => following.some(({ seen }) => seen.length >= lost));
      await postgres.failOver();
      const beganMs = performance.now();
      await moreEvents(testbed, 1);
      recoveryMs = Math.max(recoveryMs, performance.now() - beganMs);
      lostEvents += lost - shared;
      progress(`${i} of ${times}`);
    }
    // More events than were lost: their numbers have all been used before.
    await moreEvents(testbed, 2 * lostEmails);
    await ledger.stop();
    const broken = [...ledger.wrong, ...(await compare(testbed, following, times))];
    const copies = await countCopies(testbed);
    if (copies.duplicated > copies.inDoubt)
      broken.push(`${copies.duplicated - copies.inDoubt} second copies are not flagged`);
    return {
      injected: times,
      inFlight: lostEvents,
      emails: ledger.acknowledged,
      lost: 0,
      ...copies,
      gaps: 0,
      recoveryMs,
      broken,
      note: `in flight counts the events that the failovers lost; the readers got ${following.map((one) => one.resets()).join(", ")} resets`,
    };
  } finally {
    await testbed.stop();
    await postgres.stop();
  }
}

/** One email after another, until it is stopped. Answers while no primary is there are not counted. */
function startSending(testbed: Testbed): Ledger {
  let running = true;
  const ledger: Ledger = { acknowledged: 0, wrong: [], stop };
  const sending = (async () => {
    for (let n = 1; running; n++, await delay(10)) {
      const { status, body } = await testbed.send({ async: true, to: [`r${n}@there.test`] });
      if (status === 200) ledger.acknowledged++;
      else if (body.code !== "unavailable") ledger.wrong.push(JSON.stringify(body));
    }
  })();
  async function stop(): Promise<void> {
    running = false;
    await sending;
  }
  return ledger;
}

/** Waits until the log has this many more events, and returns the number of its newest. */
async function moreEvents(testbed: Testbed, count: number): Promise<number> {
  let first: number | undefined;
  return await until("events", async () => {
    const { status, body } = await testbed.call("EmailService/ListEvents", { cursor: "latest" });
    if (status !== 200) return undefined;
    const last = Number.parseInt(body.nextCursor as string, 10);
    first ??= last;
    return last >= first + count ? last : undefined;
  });
}

async function compare(testbed: WebhookTestbed, following: readonly Reader[], times: number): Promise<string[]> {
  const log = await settledLog(testbed);
  const broken: string[] = [];
  for (const [i, reader] of following.entries()) {
    await until("the reader at the end of the log", () => reader.seen.length >= log.length).catch(() => {});
    await reader.stop();
    const wrongAt = log.findIndex(
      ({ number, id }, at) => reader.seen[at]?.number !== number || reader.seen[at]?.id !== id,
    );
    if (wrongAt >= 0 || reader.seen.length !== log.length)
      broken.push(`reader ${i} differs from the log at event ${wrongAt + 1}`);
    broken.push(...reader.wrong);
  }
  if (following.every((reader) => reader.resets() < times)) broken.push("no reader got an error for every cut");
  const posted = () => new Set(testbed.receiver.requests.map(({ headers }) => headers["webhook-id"]));
  await until("the webhook at the end of the log", () => log.every(({ id }) => posted().has(id))).catch(() => {});
  const missing = log.filter(({ id }) => !posted().has(id)).length;
  if (missing > 0) broken.push(`the webhook did not get ${missing} of ${log.length} events`);
  return broken;
}

/** Second copies of mail whose first result was lost. Mail that the database has forgotten is not in its log. */
async function countCopies(testbed: Testbed) {
  const count = { duplicated: 0, inDoubt: 0, suspected: 0 };
  for (const { event } of await testbed.events()) {
    const delivered = event.delivered as { recipients: string[]; possibleDuplicate: boolean } | undefined;
    if (!delivered) continue;
    if (delivered.possibleDuplicate) count.suspected++;
    if (testbed.sink.received(delivered.recipients[0]!).length < 2) continue;
    count.duplicated++;
    if (delivered.possibleDuplicate) count.inDoubt++;
  }
  return count;
}

/** The log once all mail is delivered. */
async function settledLog(testbed: Testbed) {
  await until("all mail to be delivered", async () => {
    const [row] = await testbed.database.sql<
      { open: number }[]
    >`select count(*)::int as open from emails where open > 0`;
    return row!.open === 0;
  });
  return (await testbed.events()).map(({ cursor, event }) => ({ number: cursor, id: event.id }));
}
