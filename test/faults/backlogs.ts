/** Faults with a long queue: a million scheduled rows, a hundred thousand rows to a dead receiver, a flooding workspace. The
 * latency of other workspaces' new mail must not change. */
import { fillQueue } from "../../bench/lib/backlog.ts";
import { makeUuid } from "../../src/postgres/ids.ts";
import { createWorkspace } from "../../src/workspaces/store.ts";
import type { Load } from "../harness/ledger.ts";
import { accepted } from "../harness/sending.ts";
import { addSendingDomain, mailDomain, senderDomain, type Testbed } from "../harness/testbed.ts";
import { type Findings, type Progress, underLoad } from "../harness/under-load.ts";
import type { Fault } from "./fault.ts";

type Backlog = {
  name: string;
  rows: number;
  destinations: { name: string; count: number };
  dueInSeconds: number;
  content: boolean;
};

const backlogs: Backlog[] = [
  {
    name: "1,000,000 rows scheduled for later",
    rows: 1_000_000,
    destinations: { name: "many.test", count: 1000 },
    dueInSeconds: 7200,
    content: false,
  },
  {
    name: "100,000 rows to one dead receiver",
    rows: 100_000,
    destinations: { name: "dead.test", count: 1 },
    dueInSeconds: 0,
    content: false,
  },
  {
    name: "one workspace floods (20,000 due)",
    rows: 20_000,
    destinations: { name: "flood.test", count: 1 },
    dueInSeconds: 0,
    content: true,
  },
];

const measuredEmails = 100;

export const queued: Fault[] = backlogs.map((backlog) => ({
  name: backlog.name,
  promise: "new mail of other workspaces is as fast as with an empty queue (p99 within 2×)",
  times: 1,
  inject: (_times, progress) => measureWithBacklog(backlog, progress),
}));

async function measureWithBacklog(backlog: Backlog, progress: Progress): Promise<Findings> {
  let note = "";
  const found = await underLoad(
    { load: { senders: 1, pauseMs: 200 } },
    async ({ testbed, load, injectFault, whenSettled }) => {
      const { sql } = testbed.database;
      const floodingId = makeUuid(Date.now());
      await createWorkspace(sql, { id: floodingId, name: "Flooding" });
      await addSendingDomain(sql, floodingId, senderDomain);
      mailDomain(testbed.dns, "flood.test");
      // No server listens at this address.
      mailDomain(testbed.dns, "dead.test", "127.0.0.3");
      await measureSends(testbed, load, "warm", 30);
      const before = await measureSends(testbed, load, "before", measuredEmails);
      await injectFault(async () => {
        progress(`filling ${backlog.rows.toLocaleString("en")} rows`);
        const { destinations, dueInSeconds, content } = backlog;
        await fillQueue(sql, { workspaceId: floodingId, count: backlog.rows, destinations, dueInSeconds, content });
        if (backlog.rows > 100_000) await sql`analyze recipients`;
      });
      const after = await measureSends(testbed, load, "after", measuredEmails);
      note = `new mail p50 ${show(before.p50)} → ${show(after.p50)} ms, p99 ${show(before.p99)} → ${show(after.p99)} ms`;
      progress(note);
      whenSettled(() => (after.p99 > 2 * before.p99 + graceMs ? [note] : []));
    },
  );
  return { ...found, note };
}

/** Smaller differences are noise of the machine. */
const graceMs = 50;
const show = (ms: number) => Math.round(ms).toLocaleString("en");

/** Sends emails one at a time and measures each from the request to the response that the receiver has accepted it. */
async function measureSends(
  testbed: Testbed,
  load: Load,
  name: string,
  count: number,
): Promise<{ p50: number; p99: number }> {
  const times: number[] = [];
  for (let i = 0; i < count; i++) {
    const to = [`${name}${i}@other.test`];
    const sentAtMs = performance.now();
    load.ledger.set(to[0]!, { id: await accepted(testbed, { to, async: false }), to, sentAtMs });
    times.push(performance.now() - sentAtMs);
  }
  times.sort((a, b) => a - b);
  return { p50: times[Math.floor(count * 0.5)]!, p99: times[Math.floor(count * 0.99)]! };
}
