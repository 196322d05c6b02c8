/** Throughput with RSA-2048 DKIM to 1,000 destinations, each with its own MX and its own connections. npm run bench -- destinations */
import { deliverAll } from "./lib/deliver.ts";
import { sendBody, startEnvironment } from "./lib/environment.ts";
import { signingLimit } from "./lib/limits.ts";
import type { Bench } from "./lib/report.ts";

const domains = 1000;
const emails = 4000;

export const benchDestinations: Bench = async (progress) => {
  progress("signatures on all cores …");
  const before = await signingLimit();
  const environment = await startEnvironment();
  for (let i = 0; i < domains; i++) environment.mailDomain(`d${i}.test`);
  progress(`delivering ${emails} emails to ${domains} new domains …`);
  const node = await environment.start();
  const delivered = await deliverAll(environment, node, {
    count: emails,
    body: (i) => sendBody(`user${i}@d${i % domains}.test`),
  });
  await node.remove();
  await environment.stop();
  const signing = Math.max(before, await signingLimit());
  return [
    {
      what: "delivered to 1,000 destinations",
      value: delivered.perSecond,
      unit: "/s",
      baseline: { what: "signatures on all cores", value: signing },
    },
    { what: "1,000 destinations: resident memory, peak", value: delivered.peakMiB, unit: "MiB" },
    { what: "1,000 destinations: longest pause of the event loop", value: delivered.pauseMs, unit: "ms" },
  ];
};
