/** Processor time per email of one, two and four processes of one program (POSTHORN_PROCESSES), accepting and delivering. npm run bench -- processes */
import { startCost } from "./lib/cost.ts";
import { deliverAll } from "./lib/deliver.ts";
import { callHeaders, type Environment, sendBody, startEnvironment } from "./lib/environment.ts";
import { runLoad } from "./lib/load.ts";
import type { Bench, Row } from "./lib/report.ts";
import { scale } from "./lib/scale.ts";

const acceptedEmails = Math.ceil(4000 * scale);
const deliveredEmails = Math.ceil(4000 * scale);
/** For each process: its first emails cost more, because V8 has not compiled the program yet, and its connections plan each statement six times. */
const warmUp = Math.ceil(3000 * scale);
const counts = [1, 2, 4] as const;
/** Half of them for each of two processes: fewer callers leave both waiting for commits. */
const connections = 128;

type Figures = { perSecond: number; programMs: number; databaseMs: number };
const body = (i: number) => sendBody(`user${i}@there.test`);

export const benchProcesses: Bench = async (progress) => {
  const environment = await startEnvironment();
  environment.mailDomain("there.test");
  const rows: Row[] = [];
  const first: { accept?: Figures; deliver?: Figures } = {};
  for (const processes of counts) {
    progress(`${processes} processes: accepting ${acceptedEmails} emails …`);
    const accept = await accepting(environment, processes);
    progress(`${processes} processes: delivering ${deliveredEmails} emails …`);
    const deliver = await delivering(environment, processes);
    first.accept ??= accept;
    first.deliver ??= deliver;
    rows.push(
      ...rowsOf(`accepted by ${processes} processes`, accept, first.accept),
      ...rowsOf(`delivered by ${processes} processes`, deliver, first.deliver),
    );
  }
  await environment.stop();
  return rows;
};

const settings = (processes: number) => ({ POSTHORN_PROCESSES: String(processes) });

async function accepting(environment: Environment, processes: number): Promise<Figures> {
  const node = await environment.start({ ...settings(processes), POSTHORN_ROLES: "api" });
  const load = { url: node.url, path: "/v1.EmailService/SendEmail", headers: callHeaders, connections, body };
  await runLoad({ ...load, count: warmUp * processes });
  const costSince = await startCost(environment, node.pid);
  const { perSecond, failures } = await runLoad({ ...load, count: acceptedEmails });
  const { programMs, databaseMs } = await costSince();
  if (failures.length > 0) throw new Error(`not accepted: ${failures[0]}`);
  await node.remove();
  const { sql } = environment;
  await sql`truncate emails, recipients, email_contents, events`;
  await sql`update event_counters set last = 0, oldest = 1`;
  return { perSecond, programMs: programMs / acceptedEmails, databaseMs: databaseMs / acceptedEmails };
}

async function delivering(environment: Environment, processes: number): Promise<Figures> {
  const node = await environment.start(settings(processes));
  await deliverAll(environment, node, { count: warmUp * processes, body });
  const { perSecond, cost } = await deliverAll(environment, node, { count: deliveredEmails, body });
  await node.remove();
  return {
    perSecond,
    programMs: cost.programMs / deliveredEmails,
    databaseMs: cost.databaseMs / deliveredEmails,
  };
}

function rowsOf(what: string, figures: Figures, one: Figures): Row[] {
  const row = (unit: string, of: keyof Figures, about: string): Row => ({
    what: `${what}${about}`,
    value: figures[of],
    unit,
    baseline: { what: "one process, in the same run", value: one[of] },
  });
  return [
    row("/s", "perSecond", ""),
    row("ms", "programMs", ": CPU time of the program per email"),
    row("ms", "databaseMs", ": CPU time of PostgreSQL per email"),
  ];
}
