/** Throughput with RSA-2048 DKIM to 1,000 destinations, each with its own MX and its own connections. npm run bench -- destinations */
import { deliverAll, warmUpEmails } from "./lib/deliver.ts";
import { sendBody, startEnvironment } from "./lib/environment.ts";
import { signingLimit } from "./lib/limits.ts";
import type { Bench } from "./lib/report.ts";
import { quick } from "./lib/scale.ts";
import { steady } from "./lib/steady.ts";

const domains = quick ? 300 : 1000;
const emails = 3 * domains;

export const benchDestinations: Bench = async (progress) => {
  const environment = await startEnvironment();
  environment.mailDomain("there.test");
  const node = await environment.start();
  progress("warming up …");
  await deliverAll(environment, node, { count: warmUpEmails, body: (i) => sendBody(`user${i}@there.test`) });
  progress(`delivering ${emails} emails to ${domains} new domains, and signatures on all cores …`);
  const rows = await steady(progress, async (run) => {
    // In each run they are domains that were never seen before.
    for (let i = 0; i < domains; i++) environment.mailDomain(`d${i}.run${run}.test`);
    const signing = await signingLimit();
    const body = (i: number) => sendBody(`user${i}@d${i % domains}.run${run}.test`);
    const { perSecond, peakMiB, pauseMs, shares } = await deliverAll(environment, node, { count: emails, body });
    const name = `${domains.toLocaleString("en")} destinations`;
    return [
      {
        what: `delivered to ${name}, never seen before`,
        value: perSecond,
        unit: "/s",
        baseline: { what: "signatures on all cores", value: signing },
        least: 0.65,
        shares,
      },
      { what: `${name}: resident memory, peak`, value: peakMiB, unit: "MiB" },
      { what: `${name}: longest pause of the event loop`, value: pauseMs, unit: "ms" },
    ];
  });
  await node.remove();
  await environment.stop();
  return rows;
};
