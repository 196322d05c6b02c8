/** What a full store costs: 3,000,000 emails and 10,000,000 events, each call beside its time on an empty store, and old weeks dropped while
 * mail is sent. node bench/growth.ts [--json]; BENCH_SCALE=0.1 for a tenth of the rows. */
import type { Sql } from "../src/store/db.ts";
import { leaseDue, makeLease, releaseLease } from "../src/store/lease.ts";
import { dropOldPartitions } from "../src/store/retention.ts";
import { registerWorker } from "../src/store/workers.ts";
import type { RunningProgram } from "../test/harness/program.ts";
import { readStream } from "../test/harness/streams.ts";
import { senderDomain } from "../test/harness/world.ts";
import { sendFresh, timesOf } from "./lib/fresh.ts";
import { fillHistory, weeks } from "./lib/history.ts";
import { type Bench, type Row, runAlone, type Say } from "./lib/report.ts";
import { benchKey, sendBody, setStage } from "./lib/stage.ts";

const scale = Number(process.env.BENCH_SCALE ?? 1);
const emails = 3_000_000 * scale;
const events = 10_000_000 * scale;
const calls = 60;
const claimed = 50;

export const benchGrowth: Bench = async (say) => {
  const stage = await setStage();
  const { sql } = stage;
  for (const name of ["there.test", "fresh.test"]) stage.mailDomain(name);
  const acceptor = await stage.start({ POSTHORN_ROLES: "api" });
  const [first] = await sql<{ value: string }[]>`select value from settings where name = 'first_workspace'`;
  const workspaceId = first!.value;
  const [domain] = await sql<{ id: string }[]>`select id from domains where domain = ${senderDomain}`;

  // Not nothing: a page is to have rows on it.
  say("a nearly empty store …");
  await fillHistory(sql, { workspaceId, domainId: domain!.id, emails: 3000, events: 10_000 }, () => {});
  const empty = await measure({ node: acceptor, sql, workspaceId, events: 10_000 }, say);
  await sql`truncate emails, recipients, email_contents, events, stats, stats_marks`;
  const began = performance.now();
  await fillHistory(sql, { workspaceId, domainId: domain!.id, emails, events }, say);
  say(`filled in ${Math.round((performance.now() - began) / 1000)} s`);
  const full = await measure({ node: acceptor, sql, workspaceId, events }, say);
  await acceptor.remove();
  await sql`truncate email_contents`;
  await sql`update recipients set status = 'delivered', settled_at = now() where status = 'queued'`;
  await sql`update emails set open = 0, accepted = 1, status = 'sent' where open > 0`;

  const [size] = await sql<{ gib: number }[]>`select pg_database_size(current_database()) / 1024.0 ^ 3 as gib`;
  const rows: Row[] = [{ what: "the store's size on disk", value: Number(size!.gib), unit: "GiB" }];
  for (const [what, ms] of full)
    rows.push({
      ...{ what: `${what}, ${emails.toLocaleString("en")} emails`, value: ms, unit: "ms" },
      beside: { what: "a young store of 3,000", value: empty.get(what)! },
    });
  rows.push(...(await dropUnderLoad(await stage.start(), sql, say)));
  await stage.clear();
  return rows;
};

type Subject = { node: RunningProgram; sql: Sql; workspaceId: string; events: number };

/** Medians in ms, by what was done. */
async function measure({ node, sql, workspaceId, events }: Subject, say: Say): Promise<Map<string, number>> {
  const median = new Map<string, number>();
  const time = async (what: string, work: (i: number) => Promise<unknown>) => {
    say(`${what} …`);
    const took: number[] = [];
    for (let i = -5; i < calls; i++) {
      const began = performance.now();
      await work(i);
      if (i >= 0) took.push(performance.now() - began);
    }
    median.set(what, timesOf(took).p50);
  };
  const ask = (method: string, request: object) => async () => {
    const { status, body } = await node.call(method, request, { key: benchKey });
    if (status !== 200) throw new Error(`${method}: ${JSON.stringify(body)}`);
    return body;
  };
  await time("accept an email", (i) => ask("EmailService/SendEmail", JSON.parse(sendBody(`user${i}@there.test`)))());
  const workerId = await registerWorker(sql, { host: "bench", pid: process.pid, roles: ["delivery"], version: "0" });
  await time(`claim ${claimed} recipients and give them back`, async (i) => {
    const rows = await leaseDue(sql, makeLease(workerId, i + 10), [
      { destination: "there.test", workspaceId, quota: claimed },
    ]);
    if (rows.length < claimed) throw new Error(`${rows.length} rows were claimed`);
    await releaseLease(sql, rows);
  });
  const list = (request: object) => ask("EmailService/ListEmails", { pageSize: 50, ...request });
  const before = new Date(Date.now() - 60 * 86_400_000).toISOString();
  await time("list 50 emails, newest first", list({}));
  await time("list 50 emails, of two months ago", list({ createdBefore: before }));
  await time("list emails to one address", list({ recipient: "u1234@d234.test" }));
  await time("list 50 emails that failed", list({ status: "EMAIL_STATUS_FAILED" }));
  await time("list emails by metadata", list({ metadataKey: "order", metadataValue: "2340" }));
  await time("list 100 events, from the middle of the log", () =>
    ask("EmailService/ListEvents", { cursor: String(Math.floor(events / 2)), pageSize: 100 })(),
  );
  await time("stream the last 1,000 events", async () => {
    const request = { cursor: String(events - 1000), follow: false };
    const { events: read } = await readStream(node.url, { key: benchKey, request });
    if (read.length !== 1000) throw new Error(`${read.length} events were read`);
  });
  const from = new Date(Math.floor(Date.now() / 86_400_000 - 84) * 86_400_000).toISOString();
  await time("the overview's figures of twelve weeks", ask("StatsService/GetStats", { from }));
  return median;
}

/** Half of the weeks go while fresh mail is sent: nobody may notice. */
async function dropUnderLoad(node: RunningProgram, sql: Sql, say: Say): Promise<Row[]> {
  await sendFresh(node, 100);
  say("fresh mail …");
  const quiet = await sendFresh(node);
  say(`fresh mail while ${weeks / 2} weeks are dropped …`);
  const running = sendFresh(node);
  const dropped = await dropOldPartitions(sql, { contentDays: 30, historyDays: (weeks / 2) * 7 });
  const busy = await running;
  await node.remove();
  return [
    { what: "partitions dropped while mail was sent", value: dropped.length, unit: "" },
    {
      ...{ what: "fresh mail, p99, while they were dropped", value: busy.p99, unit: "ms" },
      beside: { what: "before", value: quiet.p99 },
    },
    {
      ...{ what: "fresh mail, the longest, while they were dropped", value: busy.longest, unit: "ms" },
      beside: { what: "before", value: quiet.longest },
    },
  ];
}

if (import.meta.main) await runAlone(benchGrowth);
