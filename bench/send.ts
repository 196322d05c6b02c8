/** How many emails per second are accepted durably, and how many are delivered with RSA-2048 DKIM: node bench/send.ts [--json] */
import { until } from "../test/harness/wait.ts";
import { emptyCalls } from "./lib/empty-calls.ts";
import { signingLimit } from "./lib/limits.ts";
import { runLoad } from "./lib/load.ts";
import { type Bench, runAlone } from "./lib/report.ts";
import { callHeaders, longestPauseMs, residentMiB, sendBody, setStage } from "./lib/stage.ts";

const acceptedEmails = 6000;
const deliveredEmails = 4000;

export const benchSend: Bench = async (say) => {
  say("what both cores can sign …");
  const signing = await signingLimit(4000);
  say("connect-node's empty call …");
  const connect = await emptyCalls("connect");
  const stage = await setStage();
  stage.mailDomain("there.test");
  const load = {
    ...{ path: "/v1.EmailService/SendEmail", headers: callHeaders, connections: 64 },
    body: (i: number) => sendBody(`user${i}@there.test`),
  };

  say(`accepting ${acceptedEmails} emails …`);
  const acceptor = await stage.start({ POSTHORN_ROLES: "api" });
  await runLoad({ ...load, url: acceptor.url, count: 2000 });
  const accepted = await runLoad({ ...load, url: acceptor.url, count: acceptedEmails });
  if (accepted.failures.length > 0) throw new Error(`not accepted: ${accepted.failures[0]}`);
  const acceptMemory = await residentMiB(acceptor.pid);
  await acceptor.remove();
  await stage.sql`truncate emails, recipients, email_contents, events`;
  await stage.sql`update event_counters set last = 0, oldest = 1`;

  say(`delivering ${deliveredEmails} emails …`);
  const node = await stage.start();
  let peak = 0;
  const watch = setInterval(async () => (peak = Math.max(peak, await residentMiB(node.pid).catch(() => 0))), 200);
  const settled = async () => Number((await stage.sql<{ last: string }[]>`select last from event_counters`)[0]!.last);
  const began = performance.now();
  await runLoad({ ...load, url: node.url, count: deliveredEmails });
  await until("every email to be settled", async () => (await settled()) >= deliveredEmails, {
    ...{ withinMs: 240_000, everyMs: 20 },
  });
  const delivered = deliveredEmails / ((performance.now() - began) / 1000);
  clearInterval(watch);
  const [outcome] = await stage.sql<{ delivered: number }[]>`
    select count(*) filter (where type = 'email.delivered')::int as delivered from events`;
  if (outcome!.delivered !== deliveredEmails)
    throw new Error(`${outcome!.delivered} of ${deliveredEmails} were delivered`);
  const pause = await longestPauseMs(node.url);
  await node.remove();
  await stage.clear();
  return [
    {
      ...{ what: "accepted (3 kB, durable)", value: accepted.perSecond, unit: "/s" },
      beside: { what: "connect-node's empty call", value: connect },
    },
    {
      ...{ what: "delivered with RSA-2048 DKIM", value: delivered, unit: "/s" },
      beside: { what: "signatures on both cores", value: signing },
    },
    { what: "resident memory, accepting", value: acceptMemory, unit: "MiB" },
    { what: "resident memory, delivering, peak", value: peak, unit: "MiB" },
    { what: "longest pause of the event loop, delivering", value: pause, unit: "ms" },
  ];
};

if (import.meta.main) await runAlone(benchSend);
