/** How many emails per second go out with RSA-2048 DKIM when they go to 1,000 places: each domain has its own MX and its own connections.
 * node bench/destinations.ts [--json] */
import { deliverAll } from "./lib/deliver.ts";
import { signingLimit } from "./lib/limits.ts";
import { type Bench, runAlone } from "./lib/report.ts";
import { sendBody, setStage } from "./lib/stage.ts";

const domains = 1000;
const emails = 4000;

export const benchDestinations: Bench = async (say) => {
  say("what all cores can sign …");
  const before = await signingLimit();
  const stage = await setStage();
  for (let i = 0; i < domains; i++) stage.mailDomain(`d${i}.test`);
  say(`delivering ${emails} emails to ${domains} domains that were never seen before …`);
  const node = await stage.start();
  const delivered = await deliverAll(stage, node, {
    count: emails,
    body: (i) => sendBody(`user${i}@d${i % domains}.test`),
  });
  await node.remove();
  await stage.clear();
  const signing = Math.max(before, await signingLimit());
  return [
    {
      ...{ what: "delivered to 1,000 destinations", value: delivered.perSecond, unit: "/s" },
      beside: { what: "signatures on all cores", value: signing },
    },
    { what: "1,000 destinations: resident memory, peak", value: delivered.peakMiB, unit: "MiB" },
    { what: "1,000 destinations: longest pause of the event loop", value: delivered.pauseMs, unit: "ms" },
  ];
};

if (import.meta.main) await runAlone(benchDestinations);
