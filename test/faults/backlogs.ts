/** Much that waits: a million rows for later, a hundred thousand to a dead receiver, a workspace that floods. Fresh mail of others must not notice. */
import { fillQueue } from "../../bench/lib/backlog.ts";
import { makeUuid } from "../../src/store/ids.ts";
import { createWorkspace } from "../../src/store/workspaces.ts";
import type { Load } from "../harness/ledger.ts";
import { accepted } from "../harness/sending.ts";
import { type Findings, type Say, underLoad } from "../harness/under-load.ts";
import { addSendingDomain, mailDomain, senderDomain, type World } from "../harness/world.ts";
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
    name: "1,000,000 rows wait for later",
    ...{ rows: 1_000_000, destinations: { name: "many.test", count: 1000 }, dueInSeconds: 7200, content: false },
  },
  {
    name: "100,000 rows to one dead receiver",
    ...{ rows: 100_000, destinations: { name: "dead.test", count: 1 }, dueInSeconds: 0, content: false },
  },
  {
    name: "one workspace floods (20,000 due)",
    ...{ rows: 20_000, destinations: { name: "flood.test", count: 1 }, dueInSeconds: 0, content: true },
  },
];

const freshEmails = 100;

export const queued: Fault[] = backlogs.map((backlog) => ({
  name: backlog.name,
  promise: "fresh mail of others is as fast as on an empty queue (p99 within 2×)",
  times: 1,
  inject: (_times, say) => besideBacklog(backlog, say),
}));

async function besideBacklog(backlog: Backlog, say: Say): Promise<Findings> {
  let note = "";
  const found = await underLoad({ load: { senders: 1, pauseMs: 200 } }, async ({ world, load, strike, atRest }) => {
    const { sql } = world.database;
    const theirs = makeUuid(Date.now());
    await createWorkspace(sql, { id: theirs, name: "Theirs" });
    await addSendingDomain(sql, theirs, senderDomain);
    mailDomain(world.dns, "flood.test");
    // Nobody listens there.
    mailDomain(world.dns, "dead.test", "127.0.0.3");
    await fresh(world, load, "warm", 30);
    const before = await fresh(world, load, "before", freshEmails);
    await strike(async () => {
      say(`filling ${backlog.rows.toLocaleString("en")} rows`);
      const { destinations, dueInSeconds, content } = backlog;
      await fillQueue(sql, { workspaceId: theirs, count: backlog.rows, destinations, dueInSeconds, content });
      if (backlog.rows > 100_000) await sql`analyze recipients`;
    });
    const after = await fresh(world, load, "after", freshEmails);
    note = `fresh mail p50 ${show(before.p50)} → ${show(after.p50)} ms, p99 ${show(before.p99)} → ${show(after.p99)} ms`;
    say(note);
    atRest(() => (after.p99 > 2 * before.p99 + graceMs ? [note] : []));
  });
  return { ...found, note };
}

/** Below this a difference is the machine's, not the queue's. */
const graceMs = 50;
const show = (ms: number) => Math.round(ms).toLocaleString("en");

/** Emails one after the other, each waited for: from the request to the answer that the receiver has it. */
async function fresh(world: World, load: Load, name: string, count: number): Promise<{ p50: number; p99: number }> {
  const times: number[] = [];
  for (let i = 0; i < count; i++) {
    const to = [`${name}${i}@other.test`];
    const askedAtMs = performance.now();
    load.ledger.set(to[0]!, { id: await accepted(world, { to, async: false }), to, askedAtMs });
    times.push(performance.now() - askedAtMs);
  }
  times.sort((a, b) => a - b);
  return { p50: times[Math.floor(count * 0.5)]!, p99: times[Math.floor(count * 0.99)]! };
}
