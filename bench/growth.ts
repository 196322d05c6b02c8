/**
 * The cost of calls on a store of 3,000,000 emails and 10,000,000 events, compared with a nearly empty store, and of dropping old weeks
 * while mail is sent. npm run bench -- growth; BENCH_SCALE=0.1 for a tenth of the rows.
 */
import { leaseDue, releaseLease } from "../src/delivery/store/lease.ts";
import type { Sql } from "../src/postgres/pool.ts";
import { dropOldPartitions } from "../src/postgres/retention.ts";
import { makeLease, registerWorker } from "../src/postgres/workers.ts";
import type { RunningProgram } from "../test/harness/program.ts";
import { readStream } from "../test/harness/streams.ts";
import { senderDomain } from "../test/harness/testbed.ts";
import { benchKey, sendBody, startEnvironment } from "./lib/environment.ts";
import { fillHistory, weeks } from "./lib/history.ts";
import { measureLatency, percentiles } from "./lib/latency.ts";
import type { Bench, Progress, Row } from "./lib/report.ts";

const scale = Number(process.env.BENCH_SCALE ?? 1);
const emails = 3_000_000 * scale;
const events = 10_000_000 * scale;
const calls = 60;
const leasedRows = 50;

export const benchGrowth: Bench = async (progress) => {
  const environment = await startEnvironment();
  const { sql } = environment;
  for (const name of ["there.test", "new.test"]) environment.mailDomain(name);
  const acceptor = await environment.start({ POSTHORN_ROLES: "api" });
  const [first] = await sql<{ value: string }[]>`select value from settings where name = 'first_workspace'`;
  const workspaceId = first!.value;
  const [domain] = await sql<{ id: string }[]>`select id from domains where domain = ${senderDomain}`;

  // Not empty: a page of a list must have rows.
  progress("a nearly empty store …");
  await fillHistory(sql, { workspaceId, domainId: domain!.id, emails: 3000, events: 10_000 }, () => {});
  const empty = await measure({ node: acceptor, sql, workspaceId, events: 10_000 }, progress);
  await sql`truncate emails, recipients, email_contents, events, stats, stats_marks`;
  const began = performance.now();
  await fillHistory(sql, { workspaceId, domainId: domain!.id, emails, events }, progress);
  progress(`filled in ${Math.round((performance.now() - began) / 1000)} s`);
  const full = await measure({ node: acceptor, sql, workspaceId, events }, progress);
  await acceptor.remove();
  await sql`truncate email_contents`;
  await sql`update recipients set status = 'delivered', settled_at = now() where status = 'queued'`;
  await sql`update emails set open = 0, accepted = 1, status = 'sent' where open > 0`;

  const [size] = await sql<{ gib: number }[]>`select pg_database_size(current_database()) / 1024.0 ^ 3 as gib`;
  const rows: Row[] = [{ what: "the store's size on disk", value: Number(size!.gib), unit: "GiB" }];
  for (const [what, ms] of full)
    rows.push({
      what: `${what}, ${emails.toLocaleString("en")} emails`,
      value: ms,
      unit: "ms",
      baseline: { what: "a store of 3,000 emails", value: empty.get(what)! },
    });
  rows.push(...(await dropUnderLoad(await environment.start(), sql, progress)));
  await environment.stop();
  return rows;
};

type Target = { node: RunningProgram; sql: Sql; workspaceId: string; events: number };

/** Median times in ms, by call. */
async function measure({ node, sql, workspaceId, events }: Target, progress: Progress): Promise<Map<string, number>> {
  const median = new Map<string, number>();
  const time = async (what: string, work: (i: number) => Promise<unknown>) => {
    progress(`${what} …`);
    const took: number[] = [];
    for (let i = -5; i < calls; i++) {
      const began = performance.now();
      await work(i);
      if (i >= 0) took.push(performance.now() - began);
    }
    median.set(what, percentiles(took).p50);
  };
  const call = (method: string, request: object) => async () => {
    const { status, body } = await node.call(method, request, { key: benchKey });
    if (status !== 200) throw new Error(`${method}: ${JSON.stringify(body)}`);
    return body;
  };
  await time("accept an email", (i) => call("EmailService/SendEmail", JSON.parse(sendBody(`user${i}@there.test`)))());
  const workerId = await registerWorker(sql, { host: "bench", pid: process.pid, roles: ["delivery"], version: "0" });
  await time(`lease ${leasedRows} recipients and release them`, async (i) => {
    const rows = await leaseDue(sql, makeLease(workerId, i + 10), [
      { destination: "there.test", workspaceId, quota: leasedRows },
    ]);
    if (rows.length < leasedRows) throw new Error(`only ${rows.length} rows were leased`);
    await releaseLease(sql, rows);
  });
  const list = (request: object) => call("EmailService/ListEmails", { pageSize: 50, ...request });
  const before = new Date(Date.now() - 60 * 86_400_000).toISOString();
  await time("list 50 emails, newest first", list({}));
  await time("list 50 emails from two months ago", list({ createdBefore: before }));
  await time("list emails to one address", list({ recipient: "u1234@d234.test" }));
  await time("list 50 emails that failed", list({ status: "EMAIL_STATUS_FAILED" }));
  await time("list emails by metadata", list({ metadataKey: "order", metadataValue: "2340" }));
  await time("list 100 events, from the middle of the log", () =>
    call("EmailService/ListEvents", { cursor: String(Math.floor(events / 2)), pageSize: 100 })(),
  );
  await time("stream the last 1,000 events", async () => {
    const request = { cursor: String(events - 1000), follow: false };
    const { events: read } = await readStream(node.url, { key: benchKey, request });
    if (read.length !== 1000) throw new Error(`${read.length} events were read`);
  });
  const from = new Date(Math.floor(Date.now() / 86_400_000 - 84) * 86_400_000).toISOString();
  await time("statistics of twelve weeks for the overview", call("StatsService/GetStats", { from }));
  return median;
}

/** Drops half of the weeks while new mail is sent, and compares the latency of that mail. */
async function dropUnderLoad(node: RunningProgram, sql: Sql, progress: Progress): Promise<Row[]> {
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
