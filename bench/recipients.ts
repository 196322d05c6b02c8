/** Delivered recipients per second with 1, 5 and 50 recipients per email, all at one site: each recipient has an SMTP transaction of its
 * own, and the email is composed and signed once. npm run bench -- recipients */
import { deliverAll } from "./lib/deliver.ts";
import { sendBody, startEnvironment } from "./lib/environment.ts";
import { signingLimit } from "./lib/limits.ts";
import type { Bench, Row } from "./lib/report.ts";
import { scale } from "./lib/scale.ts";

const recipientsInAll = 4000 * scale;
const perEmail = [1, 5, 50];
const warmUp = 500;

export const benchRecipients: Bench = async (progress) => {
  progress("signatures on all cores …");
  const before = await signingLimit();
  const environment = await startEnvironment();
  environment.mailDomain("there.test");
  const node = await environment.start();
  await deliverAll(environment, node, { count: warmUp, body: (i) => bodyFor(i, 1) });
  const measured: { recipients: number; perSecond: number; programMs: number; databaseMs: number }[] = [];
  for (const recipients of perEmail) {
    const count = Math.round(recipientsInAll / recipients);
    progress(`delivering ${count} emails to ${recipients} recipients each …`);
    const { perSecond, cost } = await deliverAll(environment, node, {
      count,
      recipients,
      body: (i) => bodyFor(i, recipients),
    });
    const each = count * recipients;
    measured.push({
      recipients,
      perSecond,
      programMs: cost.programMs / each,
      databaseMs: cost.databaseMs / each,
    });
  }
  await node.remove();
  await environment.stop();
  const signing = Math.max(before, await signingLimit());
  return measured.flatMap(({ recipients, perSecond, programMs, databaseMs }): Row[] => {
    const what = `${recipients} recipients per email`;
    return [
      {
        what: `${what}: delivered recipients`,
        value: perSecond,
        unit: "/s",
        baseline: { what: "signatures on all cores", value: signing },
      },
      { what: `${what}: CPU time of the program, each`, value: programMs, unit: "ms" },
      { what: `${what}: CPU time of PostgreSQL, each`, value: databaseMs, unit: "ms" },
    ];
  });
};

function bodyFor(i: number, recipients: number): string {
  return sendBody(Array.from({ length: recipients }, (_, n) => `user${i}-${n}@there.test`).join('","'));
}
