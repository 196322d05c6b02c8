/**
 * The time of statements and calls on a store of months, compared with a young store on the same server, measured in turn; and what dropping
 * old weeks costs the mail that is sent meanwhile. npm run bench -- growth --scale 3: 10 million emails, 30 million events.
 * With --keep DIR, the stores stay in DIR for the next run with the same scale, and no weeks are dropped.
 */
import { existsSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, resolve } from "node:path";
import { createOpenWeeks } from "../src/delivery/open-weeks.ts";
import { settle } from "../src/delivery/store/settle.ts";
import { storeBatch } from "../src/emails/store/batches.ts";
import { appendEvent } from "../src/events/store.ts";
import { silentLog } from "../src/ops/log.ts";
import { makeUuid } from "../src/postgres/ids.ts";
import type { Sql } from "../src/postgres/pool.ts";
import { dropOldPartitions } from "../src/postgres/retention.ts";
import { createWake, type Wake } from "../src/postgres/wake.ts";
import { inWeek, weekOf } from "../src/postgres/weeks.ts";
import { makeLease, registerWorker } from "../src/postgres/workers.ts";
import { startTestServer } from "../test/harness/database.ts";
import { newEmail, settlement } from "../test/harness/mail.ts";
import type { RunningProgram } from "../test/harness/program.ts";
import { openStream, readStream } from "../test/harness/streams.ts";
import { benchKey, benchWorkspace, type Environment, sendBody, startEnvironment } from "./lib/environment.ts";
import { addresses, eventsPerEmail, fillHistory } from "./lib/history.ts";
import { fillOnce, isFilled, openKeptDatabase, startKeptServer } from "./lib/kept.ts";
import { measureLatency } from "./lib/latency.ts";
import { medians, type Pair } from "./lib/paired.ts";
import type { Bench, Progress, Row } from "./lib/report.ts";
import { option, scale } from "./lib/scale.ts";

const grownEmails = Math.round((10_000_000 / 3) * scale);
/** A week of a small service. The count of its emails reaches the limits of CountEmails, so that both stores count as many. */
const youngEmails = Math.min(60_000, Math.round(grownEmails / 2));
const weeks = 12;
const openEmails = 3000;
const calls = 60;
const settledRows = 50;
/** The most that a grown store may take, as a share of the young one. */
const most = 1.3;
/** While it is filled: tables and indexes, the write-ahead log between two checkpoints, and sorts. Measured with --scale 0.02: 3.6 GiB of tables. */
const gibPerMillion = 4.5;
const gibAlways = 3;
const minutesPerMillion = 4;
const dayMs = 86_400_000;
const keep = option("keep");

type Store = {
  environment: Environment;
  sql: Sql;
  node: RunningProgram;
  wake: Wake;
  workspaceId: string;
  keyId: string;
  emails: number;
  /** The days that the store goes back. */
  days: number;
  openWeeks: ReturnType<typeof createOpenWeeks>;
  workerId: number;
};

export const benchGrowth: Bench = async (progress) => {
  if (!keep || !existsSync(keep)) await checkDisk(keep ? dirname(resolve(keep)) : tmpdir(), progress);
  const server = keep ? await startKeptServer(keep) : await startTestServer();
  const open = (name: string) => (keep ? { server, openDatabase: () => openKeptDatabase(server, name) } : { server });
  const first = await startEnvironment(open("young"));
  const second = await startEnvironment(open("grown"));
  const young = await prepare(first, { emails: youngEmails, weeks: 1 }, progress);
  const grown = await prepare(second, { emails: grownEmails, weeks }, progress);
  const [size] = await grown.sql<{ gib: number }[]>`
    select pg_database_size(current_database()) / 1024.0 ^ 3 as gib`;
  const rows: Row[] = [{ what: "the grown store's size on disk", value: Number(size!.gib), unit: "GiB" }];
  const time = async (what: string, work: (store: Store, turn: number) => Promise<unknown>) => {
    progress(`${what} …`);
    const ms = await medians({ young, grown }, calls, work);
    rows.push(compared(what, ms));
  };
  await timeLists(time);
  await timeStreams(time, { young, grown });
  await timeMail(time, rows, { young, grown });
  for (const { wake, node } of [young, grown]) {
    await wake.stop();
    await node.remove();
  }
  if (!keep) rows.push(...(await dropUnderLoad(grown, progress)));
  await second.stop();
  await first.stop();
  await server.stop();
  return rows;
};

type Time = (what: string, work: (store: Store, turn: number) => Promise<unknown>) => Promise<void>;

function compared(what: string, { young, grown }: Pair<number>): Row {
  const baseline = { what: `a store of ${youngEmails.toLocaleString("en")} emails`, value: young };
  return { what: `${what}, ${grownEmails.toLocaleString("en")} emails`, value: grown, unit: "ms", baseline, most };
}

async function checkDisk(folder: string, progress: Progress): Promise<void> {
  const needed = gibAlways + (grownEmails / 1e6) * gibPerMillion;
  const { bavail, bsize } = await statfs(folder);
  const free = (bavail * bsize) / 1024 ** 3;
  if (free < needed)
    throw new Error(
      `${grownEmails.toLocaleString("en")} emails need ${Math.ceil(needed)} GiB in ${folder}, which has ${Math.floor(free)} GiB free. ` +
        "Free some space, set TMPDIR to another disk, or use a smaller --scale.",
    );
  const minutes = Math.ceil(4 + (grownEmails / 1e6) * minutesPerMillion);
  progress(
    `${grownEmails.toLocaleString("en")} emails, ${(grownEmails * eventsPerEmail).toLocaleString("en")} events: ` +
      `takes about ${minutes} minutes on two cores, and up to ${Math.ceil(needed)} of ${Math.floor(free)} GiB`,
  );
}

async function prepare(
  environment: Environment,
  size: { emails: number; weeks: number },
  progress: Progress,
): Promise<Store> {
  const { sql } = environment;
  for (const name of ["there.test", "new.test"]) environment.mailDomain(name);
  // The first start creates the workspace. While it is filled, no program counts or indexes.
  if (!(await isFilled(sql))) await (await environment.start()).remove();
  // Of an earlier run (--keep), which had no program that moves them to the index of words.
  await sql`truncate email_arrivals`;
  const workspace = await benchWorkspace(sql);
  const began = performance.now();
  const history = { ...size, statsWeeks: weeks, open: openEmails };
  await fillOnce(sql, history, async () => await fillHistory(sql, { ...workspace, ...history }, progress));
  progress(`filled in ${Math.round((performance.now() - began) / 1000)} s`);
  return {
    environment,
    sql,
    node: await environment.start({ POSTHORN_ROLES: "api" }),
    wake: createWake({ sql, log: silentLog() }),
    ...workspace,
    emails: size.emails,
    days: size.weeks * 7,
    openWeeks: createOpenWeeks(sql),
    workerId: await registerBench(sql),
  };
}

async function registerBench(sql: Sql): Promise<number> {
  // Without a schema version it would count as a program of version 1, for which backfills start again.
  const [newest] = await sql<{ version: number }[]>`select max(version) as version from schema_versions`;
  const worker = { host: "bench", pid: process.pid, roles: ["delivery"], version: "0" };
  return await registerWorker(sql, { ...worker, schemaVersion: newest!.version });
}

async function call(store: Store, method: string, request: object): Promise<Record<string, unknown>> {
  const { status, body } = await store.node.call(method, request, { key: benchKey });
  if (status !== 200) throw new Error(`${method}: ${JSON.stringify(body)}`);
  return body;
}

const outcomes = [
  "delivered",
  "sent",
  "bounced",
  "complained",
  "failed",
  "suppressed",
  "canceled",
  "delayed",
  "queued",
];

async function timeLists(time: Time): Promise<void> {
  const list = async (what: string, enough: number, filter: (store: Store) => object) =>
    await time(what, async (store) => {
      const { data } = await call(store, "EmailService/ListEmails", { pageSize: 50, ...filter(store) });
      const { length } = data as unknown[];
      if (length < enough) throw new Error(`${what}: ${length} emails were found`);
    });
  await list("list 50 emails, newest first", 50, () => ({}));
  await list("list 50 emails from the middle of the store", 50, (store) => ({
    createdBefore: middleOf(store).toISOString(),
  }));
  await list("list emails to one address", 20, ({ emails }) => ({
    recipient: `u${addresses(emails) - 40}@d${(addresses(emails) - 40) % 1000}.test`,
  }));
  // Sent emails have no list of their own: of the newest 1,000, a page has those that there are.
  for (const outcome of outcomes)
    await list(`list 50 emails, ${outcome}`, outcome === "sent" ? 0 : 50, () => ({
      outcomes: [`EMAIL_OUTCOME_${outcome.toUpperCase()}`],
    }));
  await list("list 50 emails that failed", 50, () => ({ status: "EMAIL_STATUS_FAILED" }));
  await list("list emails by metadata", 2, ({ emails }) => ({
    metadataKey: "order",
    metadataValue: String(addresses(emails) - 3),
  }));
  await list("list 50 emails of a key", 50, ({ keyId }) => ({ keyId: `key_${keyId}` }));
  await list("list 50 emails at a site", 50, () => ({ site: "mx3.test" }));
  await list("list 50 emails at a site that bounced", 1, () => ({
    site: "mx3.test",
    outcomes: ["EMAIL_OUTCOME_BOUNCED"],
  }));
  await list("list open emails to a domain", 20, () => ({ destination: "q7.test", open: true }));
  await list("search, a frequent word", 50, () => ({ search: "riga" }));
  await list("search, a word of one email", 1, ({ emails }) => ({ search: `order ${Math.floor(emails / 2)}` }));
  await list("search, six characters of an address", 20, () => ({ search: `u${addresses(youngEmails) - 40}@` }));
  // The index has the first six of them, which ten times as many addresses share in a store with longer numbers.
  await list("search, seven characters or more of an address", 20, ({ emails }) => ({
    search: `u${addresses(emails) - 40}@`,
  }));
  const count = async (what: string, filter: object) =>
    await time(what, async (store) => await call(store, "EmailService/CountEmails", { filter }));
  await count("count all emails by outcome", {});
  await count("count the emails of a search", { search: "riga" });
  await time("read one email from the middle of the store", async (store) => {
    const { data } = await lastBefore(store);
    const began = performance.now();
    await call(store, "EmailService/GetEmail", { id: data[0]!.id });
    return performance.now() - began;
  });
  for (const [what, days] of [
    ["a week", 7],
    ["twelve weeks", 84],
  ] as const) {
    const from = new Date(Math.floor(Date.now() / dayMs - days) * dayMs).toISOString();
    await time(
      `statistics of ${what} for the overview`,
      async (store) => await call(store, "StatsService/GetStats", { from }),
    );
    const groupBy = "STATS_DIMENSION_KEY";
    await time(
      `statistics of ${what} by key`,
      async (store) => await call(store, "StatsService/GetStats", { from, groupBy }),
    );
  }
}

function middleOf({ days }: Store): Date {
  return new Date(Date.now() - (days / 2) * dayMs);
}

async function lastBefore(store: Store) {
  const request = { pageSize: 50, createdBefore: middleOf(store).toISOString() };
  return (await call(store, "EmailService/ListEmails", request)) as { data: { id: string }[] };
}

async function timeStreams(time: Time, stores: Pair<Store>): Promise<void> {
  await time("list 100 events from the middle of the log", async (store) => {
    const cursor = String(Math.floor((store.emails * eventsPerEmail) / 2));
    const { data } = await call(store, "EmailService/ListEvents", { cursor, pageSize: 100 });
    if ((data as unknown[]).length !== 100) throw new Error("not 100 events");
  });
  await time("list the events of one email", async (store) => {
    const { data } = await lastBefore(store);
    const began = performance.now();
    const found = await call(store, "EmailService/ListEvents", { emailId: data[0]!.id });
    if ((found.data as unknown[]).length < eventsPerEmail) throw new Error("an email has too few events");
    return performance.now() - began;
  });
  await time("catch up with the last 1,000 events of the stream", async (store) => {
    const last = await lastEvent(store);
    const { events } = await readStream(store.node.url, {
      key: benchKey,
      request: { cursor: String(last - 1000), follow: false },
    });
    if (events.length !== 1000) throw new Error(`${events.length} events were read`);
  });
  await timeTail(time, stores);
}

async function lastEvent({ sql, workspaceId }: Store): Promise<number> {
  const [row] = await sql<{ last: string }[]>`select last from event_counters where workspace_id = ${workspaceId}`;
  return Number(row!.last);
}

/** From the commit of an event to the reader of a live stream. */
async function timeTail(time: Time, { young, grown }: Pair<Store>): Promise<void> {
  const seen = new Map<Store, PromiseWithResolvers<number>>();
  const open = (store: Store) =>
    openStream(store.node.url, {
      key: benchKey,
      request: { cursor: "latest" },
      onMessage: ({ event }) => event && seen.get(store)?.resolve(performance.now()),
    });
  const streams = [await open(young), await open(grown)];
  for (const stream of streams) await stream.until("the first message", ({ messages }) => messages.length > 0);
  await time("an event from its commit to a stream", async (store) => {
    const next = Promise.withResolvers<number>();
    seen.set(store, next);
    const { sql, workspaceId } = store;
    const payload = { domain: "example.test" };
    await appendEvent(sql, { id: makeUuid(Date.now()), workspaceId, type: "domain.updated", payload });
    const committed = performance.now();
    store.wake.notify("events");
    return (await next.promise) - committed;
  });
  for (const stream of streams) stream.leave();
}

/** What each email costs: accepting it, leasing it for an attempt and settling the attempt. */
async function timeMail(time: Time, rows: Row[], stores: Pair<Store>): Promise<void> {
  await time("accept an email", async (store, turn) => {
    await call(store, "EmailService/SendEmail", JSON.parse(sendBody(`user${turn}@there.test`)));
  });
  const settling = new Map<Store, number[]>([stores.young, stores.grown].map((store) => [store, []]));
  await time(`lease ${settledRows} recipients`, async (store, turn) => {
    const { leaseMs, settleMs } = await leaseAndSettle(store, turn);
    if (turn >= 0) settling.get(store)!.push(settleMs);
    return leaseMs;
  });
  const median = (store: Store) => settling.get(store)!.sort((a, b) => a - b)[calls >> 1]!;
  rows.push(compared(`settle ${settledRows} recipients`, { young: median(stores.young), grown: median(stores.grown) }));
}

async function leaseAndSettle({ sql, workspaceId, openWeeks, workerId }: Store, turn: number) {
  const destination = "lease.test";
  const emails = Array.from({ length: settledRows }, (_, i) => newEmail(workspaceId, [`u${i}@${destination}`]));
  await storeBatch(sql, { workspaceId, emails, answer: [], idempotency: undefined });
  await openWeeks.findLanes(10_000, undefined);
  const leasing = performance.now();
  const leased = await openWeeks.lease(
    makeLease(workerId, turn + 100),
    [{ destination, workspaceId, quota: settledRows }],
    [],
  );
  const settlingAt = performance.now();
  if (leased.length !== settledRows) throw new Error(`${leased.length} recipients were leased`);
  const items = leased.map((row) => settlement(row, "delivered"));
  const settled = await inWeek(sql, weekOf(items[0]!.emailId), (_, tables) => settle(sql, items, tables));
  if (settled.includes(false)) throw new Error("a recipient was not settled");
  return { leaseMs: settlingAt - leasing, settleMs: performance.now() - settlingAt };
}

/** Drops half of the weeks while new mail is sent, and compares the latency of that mail. */
async function dropUnderLoad({ environment, sql }: Store, progress: Progress): Promise<Row[]> {
  const node = await environment.start();
  await measureLatency(node, 100);
  progress("new mail …");
  const quiet = await measureLatency(node);
  progress(`new mail while ${weeks / 2} weeks are dropped …`);
  const running = measureLatency(node);
  const dropped = await dropOldPartitions(sql, { contentDays: 30, historyDays: (weeks / 2) * 7 });
  const busy = await running;
  await node.remove();
  return [
    { what: "partitions dropped while mail was sent", value: dropped.length, unit: "" },
    {
      what: "new mail, p99, while they were dropped",
      value: busy.p99,
      unit: "ms",
      baseline: { what: "before", value: quiet.p99 },
    },
    {
      what: "new mail, slowest, while they were dropped",
      value: busy.longest,
      unit: "ms",
      baseline: { what: "before", value: quiet.longest },
    },
  ];
}
