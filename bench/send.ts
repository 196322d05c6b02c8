/** How many emails per second are accepted durably, and how many are delivered with RSA-2048 DKIM: node bench/send.ts [--emails 3000] [--json] */
import { parseArgs } from "node:util";
import { until } from "../test/harness/wait.ts";
import { signingLimit } from "./lib/limits.ts";
import { runLoad } from "./lib/load.ts";
import { callHeaders, residentMiB, sendBody, setStage } from "./lib/stage.ts";

const { values } = parseArgs({ options: { emails: { type: "string", default: "3000" }, json: { type: "boolean" } } });
const emails = Number(values.emails);
const say = (text: string) => process.stderr.write(`${text}\n`);

say("measuring what both cores can sign …");
const signing = await signingLimit(3000);
const stage = await setStage();
stage.mailDomain("there.test");

say("accepting …");
const acceptor = await stage.start({ POSTHORN_ROLES: "api" });
const load = {
  path: "/v1.EmailService/SendEmail",
  headers: callHeaders,
  body: (i: number) => sendBody(`user${i}@there.test`),
  connections: 64,
};
await runLoad({ ...load, url: acceptor.url, count: 500 });
const accepted = await runLoad({ ...load, url: acceptor.url, count: emails });
if (accepted.failures.length > 0) throw new Error(`not accepted: ${accepted.failures[0]}`);
const acceptMemory = await residentMiB(acceptor.pid);
await acceptor.remove();
await stage.sql`truncate emails, recipients, email_contents, events`;
await stage.sql`update event_counters set last = 0, oldest = 1`;

say("delivering …");
const node = await stage.start();
let peak = 0;
const watch = setInterval(async () => (peak = Math.max(peak, await residentMiB(node.pid).catch(() => 0))), 200);
const settled = async () => Number((await stage.sql<{ last: string }[]>`select last from event_counters`)[0]!.last);
const began = performance.now();
await runLoad({ ...load, url: node.url, count: emails });
await until("every email to be settled", async () => (await settled()) >= emails, { withinMs: 120_000, everyMs: 20 });
const delivered = emails / ((performance.now() - began) / 1000);
clearInterval(watch);
const [outcome] =
  await stage.sql`select count(*)::int as n, count(*) filter (where type = 'email.delivered')::int as delivered from events`;
if (outcome!.delivered !== emails) throw new Error(`${outcome!.delivered} of ${emails} were delivered`);
const metrics = await (await fetch(`${node.url}/metrics`)).text();
const pause = Number(/posthorn_nodejs_eventloop_lag_max_seconds (\S+)/.exec(metrics)?.[1] ?? 0) * 1000;
await node.remove();
await stage.clear();

const report = {
  emails,
  signingPerSecond: Math.round(signing),
  acceptedPerSecond: Math.round(accepted.perSecond),
  deliveredPerSecond: Math.round(delivered),
  deliveredOfSigning: Number((delivered / signing).toFixed(2)),
  acceptResidentMiB: Math.round(acceptMemory),
  deliverResidentMiB: Math.round(peak),
  longestEventLoopPauseMs: Math.round(pause),
};
process.stdout.write(
  values.json
    ? `${JSON.stringify(report)}\n`
    : `${Object.entries(report)
        .map(([name, value]) => `${name.padEnd(26)} ${value}`)
        .join("\n")}\n`,
);
