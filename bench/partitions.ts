/**
 * What a year of weekly partitions costs an email: CPU time of the database's sessions from the request to the settlement, compared with a new
 * store of the same size. npm run bench -- partitions; --scale 0.3 for fewer stored emails.
 */
import type { RunningProgram } from "../test/harness/program.ts";
import { startSessionCost } from "./lib/cost.ts";
import { deliverAll } from "./lib/deliver.ts";
import { benchWorkspace, type Environment, sendBody, startEnvironment } from "./lib/environment.ts";
import { fillHistory } from "./lib/history.ts";
import { percentiles } from "./lib/latency.ts";
import type { Bench, Progress, Row } from "./lib/report.ts";
import { scale } from "./lib/scale.ts";

const storedEmails = Math.round(100_000 * scale);
const emailsPerRound = Math.max(500, Math.round(1500 * Math.min(1, scale)));
const rounds = scale < 1 ? 5 : 8;
/** Rounds before the measurement. Each of ten connections plans a statement six times before it keeps a plan, also one that runs once a second. */
const warmUps = 4;
const shownStatements = 8;

/** A smaller store and fewer rounds are too noisy for it. */
const target = scale >= 1 ? { most: 0.1 } : {};

type Side = { environment: Environment; node: RunningProgram; weeks: number; msPerEmail: number[] };

export const benchPartitions: Bench = async (progress) => {
  // The one of the first environment has its own server, on which the second one is, too.
  const settings = ["shared_preload_libraries=pg_stat_statements", "pg_stat_statements.track_planning=on"];
  const young = await prepare(await startEnvironment({ settings }), 1, progress);
  const old = await prepare(await startEnvironment({ server: young.environment.server }), 52, progress);
  const sides = [young, old];
  for (let round = 1; round <= warmUps; round++) {
    progress(`${emailsPerRound} emails with each store, to keep plans (${round} of ${warmUps}) …`);
    for (const { environment, node } of sides) await deliver(environment, node, -round);
  }
  for (const { environment } of sides) await environment.sql`select pg_stat_statements_reset()`;
  for (let round = 1; round <= rounds; round++) {
    progress(`round ${round} of ${rounds}: ${emailsPerRound} emails with each store …`);
    // Each store is first in every second round, so that a change of the machine's load does not decide.
    for (const side of round % 2 === 0 ? sides : [...sides].reverse()) {
      const costSince = await startSessionCost(side.environment);
      await deliver(side.environment, side.node, round);
      side.msPerEmail.push((await costSince()) / emailsPerRound);
    }
  }
  const rows = await compare(young, old);
  for (const { node } of sides) await node.remove();
  await old.environment.stop();
  await young.environment.stop();
  return rows;
};

async function prepare(environment: Environment, weeks: number, progress: Progress): Promise<Side> {
  environment.mailDomain("there.test");
  // The first start creates the workspace. While it is filled, no program counts or indexes.
  await (await environment.start()).remove();
  progress(`${storedEmails.toLocaleString("en")} emails in ${weeks} weeks …`);
  await fillHistory(
    environment.sql,
    { ...(await benchWorkspace(environment.sql)), emails: storedEmails, weeks },
    () => {},
  );
  await environment.sql`create extension if not exists pg_stat_statements`;
  return { environment, node: await environment.start({ POSTHORN_HISTORY_DAYS: "400" }), weeks, msPerEmail: [] };
}

async function deliver(environment: Environment, node: RunningProgram, round: number): Promise<void> {
  await deliverAll(environment, node, { count: emailsPerRound, body: (i) => sendBody(`user${round}-${i}@there.test`) });
}

async function compare(young: Side, old: Side): Promise<Row[]> {
  const [before, after] = [young, old].map(({ msPerEmail }) => percentiles(msPerEmail).p50) as [number, number];
  const partitions = async ({ environment }: Side) =>
    (
      await environment.sql<
        { n: number }[]
      >`select count(*)::int as n from pg_inherits where inhparent = 'emails'::regclass`
    )[0]!.n;
  const [few, many] = [await partitions(young), await partitions(old)];
  const rows: Row[] = [
    {
      what: `CPU time of PostgreSQL for an email, ${many} weekly partitions`,
      value: after,
      unit: "ms",
      baseline: { what: `${few} partitions`, value: before },
    },
    { what: `the same, more than with ${few} partitions`, value: after - before, unit: "ms", ...target },
  ];
  for (const { query, few: less, many: more } of await statements(young, old))
    rows.push({
      what: `per email, time of: ${query}`,
      value: more,
      unit: "ms",
      baseline: { what: `${few} partitions`, value: less },
    });
  return rows;
}

/** The statements whose planning and execution take the most time more. */
async function statements(young: Side, old: Side): Promise<{ query: string; few: number; many: number }[]> {
  const [few, many] = [await timesOf(young), await timesOf(old)];
  return [...many]
    .map(([query, ms]) => ({ query, few: few.get(query) ?? 0, many: ms }))
    .sort((a, b) => b.many - b.few - (a.many - a.few))
    .slice(0, shownStatements);
}

/** By the beginning of the text, in which each name of a partition is replaced by that of its parent. */
async function timesOf({ environment }: Side): Promise<Map<string, number>> {
  const rows = await environment.sql<{ query: string; ms: number }[]>`
    select left(regexp_replace(regexp_replace(query, '_p\\d{8}', '', 'g'), '\\s+', ' ', 'g'), 200) as query, sum(total_exec_time + total_plan_time) as ms
    from pg_stat_statements where dbid = (select oid from pg_database where datname = current_database()) group by 1`;
  return new Map(rows.map(({ query, ms }) => [query, ms / (rounds * emailsPerRound)]));
}
