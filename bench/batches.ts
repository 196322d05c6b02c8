/** Emails per second that are accepted durably in batches of 100, compared with an email per call. npm run bench -- batches */
import type { RunningProgram } from "../test/harness/program.ts";
import { type Cost, startCost } from "./lib/cost.ts";
import { warmUpCalls } from "./lib/empty-calls.ts";
import { callHeaders, type Environment, sampleEmail, sendBody, startEnvironment } from "./lib/environment.ts";
import { runLoad } from "./lib/load.ts";
import type { Bench, Row } from "./lib/report.ts";
import { quick, scale } from "./lib/scale.ts";
import { measured } from "./lib/shares.ts";
import { steady } from "./lib/steady.ts";

const perBatch = 100;
const emails = Math.ceil(((quick ? 6000 : 12_000) * scale) / perBatch) * perBatch;
const warmUpBatches = quick ? 60 : 120;

type Kind = { path: string; connections: number; body(i: number): string; emails: number };

const single: Kind = {
  path: "/v1.EmailService/SendEmail",
  connections: 64,
  body: (i) => sendBody(`user${i}@there.test`),
  emails: 1,
};
const batch: Kind = { path: "/v1.EmailService/SendEmailBatch", connections: 4, body: batchBody, emails: perBatch };

export const benchBatches: Bench = async (progress) => {
  const environment = await startEnvironment();
  const node = await environment.start({ POSTHORN_ROLES: "api" });
  progress("warming up …");
  await send(node, single, warmUpCalls);
  await send(node, batch, warmUpBatches * perBatch);
  progress(`${emails} emails, each in a call of its own, and in batches of ${perBatch} …`);
  const rows = await steady(progress, async () => {
    const each = await accept(environment, node, single);
    const together = await accept(environment, node, batch);
    const perEmail = (name: "programMs" | "databaseMs"): Pick<Row, "value" | "unit" | "baseline"> => ({
      value: together.cost[name] / emails,
      unit: "ms",
      baseline: { what: "an email per call", value: each.cost[name] / emails },
    });
    return [
      {
        what: `accepted in batches of ${perBatch} (3 kB each, durable)`,
        value: together.perSecond,
        unit: "/s",
        baseline: { what: "an email per call", value: each.perSecond },
        least: 3,
        shares: together.shares,
      },
      { what: "an email of a batch: CPU time of the program", ...perEmail("programMs") },
      { what: "an email of a batch: CPU time of PostgreSQL", ...perEmail("databaseMs") },
    ];
  });
  await node.remove();
  await environment.stop();
  return rows;
};

async function accept(environment: Environment, node: RunningProgram, kind: Kind) {
  const costSince = await startCost(environment, node.pid);
  const { result: perSecond, shares } = await measured({ environment, node }, () => send(node, kind, emails));
  const cost: Cost = await costSince();
  return { perSecond, shares, cost };
}

/** Emails per second. */
async function send({ url }: RunningProgram, { emails: ofCall, ...kind }: Kind, count: number): Promise<number> {
  const load = { url, headers: callHeaders, ...kind, count: Math.ceil(count / ofCall) };
  const { seconds, failures } = await runLoad(load);
  if (failures.length > 0) throw new Error(`not accepted: ${failures[0]}`);
  return count / seconds;
}

const [beforeTo, afterTo] = JSON.stringify({ ...sampleEmail, to: [":TO:"] }).split(":TO:") as [string, string];

function batchBody(i: number): string {
  const email = (k: number) => `${beforeTo}user${i * perBatch + k}@there.test${afterTo}`;
  return `{"emails":[${Array.from({ length: perBatch }, (_, k) => email(k)).join(",")}]}`;
}
