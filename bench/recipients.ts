/** Delivered recipients per second with 1, 5 and 50 recipients per email, all at one site: each recipient has an SMTP transaction of its
 * own, and the email is composed and signed once. npm run bench -- recipients */
import { deliverAll } from "./lib/deliver.ts";
import { sendBody, startEnvironment } from "./lib/environment.ts";
import { signingLimit } from "./lib/limits.ts";
import type { Bench, Row } from "./lib/report.ts";
import { scale } from "./lib/scale.ts";
import { steady } from "./lib/steady.ts";

const recipientsInAll = 4000 * scale;
const perEmail = [1, 5, 50];
const warmUp = 500;

export const benchRecipients: Bench = async (progress) => {
  const environment = await startEnvironment();
  environment.mailDomain("there.test");
  const node = await environment.start();
  progress("warming up …");
  await deliverAll(environment, node, { count: warmUp, body: (i) => bodyFor(i, 1) });
  progress(`delivering to ${perEmail.join(", ")} recipients per email, and signatures on all cores …`);
  const rows = await steady(progress, async () => {
    const signing = { what: "signatures on all cores", value: await signingLimit() };
    const measurements: Row[] = [];
    for (const recipients of perEmail) {
      const count = Math.max(1, Math.round(recipientsInAll / recipients));
      const body = (i: number) => bodyFor(i, recipients);
      const { perSecond, cost, shares } = await deliverAll(environment, node, { count, recipients, body });
      const what = `${recipients} recipients per email`;
      const each = (of: number) => of / (count * recipients);
      measurements.push(
        { what: `${what}: delivered recipients`, value: perSecond, unit: "/s", baseline: signing, shares },
        { what: `${what}: CPU time of the program, each`, value: each(cost.programMs), unit: "ms" },
        { what: `${what}: CPU time of PostgreSQL, each`, value: each(cost.databaseMs), unit: "ms" },
      );
    }
    return measurements;
  });
  await node.remove();
  await environment.stop();
  return rows;
};

function bodyFor(i: number, recipients: number): string {
  return sendBody(Array.from({ length: recipients }, (_, n) => `user${i}-${n}@there.test`).join('","'));
}
