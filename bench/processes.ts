/** Processor time per email of one, two and four processes of one program (POSTHORN_PROCESSES), accepting and delivering. npm run bench -- processes */
import { startCost } from "./lib/cost.ts";
import { deliverAll } from "./lib/deliver.ts";
import { callHeaders, type Environment, sendBody, startEnvironment } from "./lib/environment.ts";
import { runLoad } from "./lib/load.ts";
import type { Bench, Progress, Row } from "./lib/report.ts";
import { scale } from "./lib/scale.ts";
import { measured, type Shares } from "./lib/shares.ts";
import { steady } from "./lib/steady.ts";

const acceptedEmails = Math.ceil(4000 * scale);
const deliveredEmails = Math.ceil(4000 * scale);
/** For each process: its first emails cost more, because V8 has not compiled the program yet, and its connections plan each statement six times. */
const warmUp = Math.ceil(3000 * scale);
/** A small run measures only two of them, because each starts two programs. */
const counts = scale < 0.3 ? [1, 2] : [1, 2, 4];
/** Half of them for each of two processes: fewer callers leave both waiting for commits. */
const connections = 128;

type Figures = { perSecond: number; programMs: number; databaseMs: number; shares: Shares | undefined };
const body = (i: number) => sendBody(`user${i}@there.test`);

export const benchProcesses: Bench = async (progress) => {
  const environment = await startEnvironment();
  environment.mailDomain("there.test");
  const rows: Row[] = [];
  for (const processes of counts) {
    progress(`${processes} processes: accepting ${acceptedEmails} emails …`);
    rows.push(...(await accepting(environment, processes, progress)));
    progress(`${processes} processes: delivering ${deliveredEmails} emails …`);
    rows.push(...(await delivering(environment, processes, progress)));
  }
  await environment.stop();
  // The first rows are those of one process.
  const perCount = rows.length / counts.length;
  return rows.map((row, i) => ({
    ...row,
    baseline: { what: "one process, in the same run", value: rows[i % perCount]!.value },
  }));
};

const settings = (processes: number) => ({ POSTHORN_PROCESSES: String(processes) });

async function accepting(environment: Environment, processes: number, progress: Progress): Promise<Row[]> {
  const node = await environment.start({ ...settings(processes), POSTHORN_ROLES: "api" });
  const load = { url: node.url, path: "/v1.EmailService/SendEmail", headers: callHeaders, connections, body };
  await runLoad({ ...load, count: warmUp * processes });
  const rows = await steady(progress, async () => {
    const costSince = await startCost(environment, node.pid);
    const { result, shares } = await measured({ environment, node }, () => runLoad({ ...load, count: acceptedEmails }));
    const { programMs, databaseMs } = await costSince();
    if (result.failures.length > 0) throw new Error(`not accepted: ${result.failures[0]}`);
    const each = { programMs: programMs / acceptedEmails, databaseMs: databaseMs / acceptedEmails };
    return rowsOf(`accepted by ${processes} processes`, { perSecond: result.perSecond, ...each, shares });
  });
  await node.remove();
  const { sql } = environment;
  await sql`truncate emails, recipients, email_contents, events`;
  await sql`update event_counters set last = 0, oldest = 1`;
  return rows;
}

async function delivering(environment: Environment, processes: number, progress: Progress): Promise<Row[]> {
  const node = await environment.start(settings(processes));
  await deliverAll(environment, node, { count: warmUp * processes, body });
  const rows = await steady(progress, async () => {
    const { perSecond, cost, shares } = await deliverAll(environment, node, { count: deliveredEmails, body });
    const programMs = cost.programMs / deliveredEmails;
    const databaseMs = cost.databaseMs / deliveredEmails;
    return rowsOf(`delivered by ${processes} processes`, { perSecond, programMs, databaseMs, shares });
  });
  await node.remove();
  return rows;
}

function rowsOf(what: string, { perSecond, programMs, databaseMs, shares }: Figures): Row[] {
  return [
    { what, value: perSecond, unit: "/s", shares },
    { what: `${what}: CPU time of the program per email`, value: programMs, unit: "ms" },
    { what: `${what}: CPU time of PostgreSQL per email`, value: databaseMs, unit: "ms" },
  ];
}
