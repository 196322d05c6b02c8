/** Throughput of large attachments from the request to the receiver, signed, compared with a bare SMTP transfer.
 * npm run bench -- attachments */
import { randomBytes } from "node:crypto";
import { base64LinesSize, writeBase64Lines } from "../src/mail/mime/base64.ts";
import { openSession } from "../src/smtp/client/session.ts";
import { deliverAll } from "./lib/deliver.ts";
import { type Environment, sampleEmail, startEnvironment } from "./lib/environment.ts";
import type { Bench } from "./lib/report.ts";
import { steady } from "./lib/steady.ts";

const emails = 30;
/** Costs more, because V8 has not compiled the program yet. */
const warmUp = 20;
const sizeMiB = 5;
const atOnce = 4;

export const benchAttachments: Bench = async (progress) => {
  const environment = await startEnvironment();
  environment.mailDomain("there.test");
  const content = randomBytes(sizeMiB * 1024 * 1024).toString("base64");
  const attachments = [{ filename: "report.pdf", contentType: "application/pdf", base64Content: content }];
  const body = Buffer.from(JSON.stringify({ ...sampleEmail, to: ["user@there.test"], async: true, attachments }));
  const node = await environment.start();
  const mail = { connections: atOnce, body: () => body };
  progress("warming up …");
  await deliverAll(environment, node, { count: warmUp, ...mail });
  await bareTransfers(environment, content, warmUp);
  progress(`delivering ${emails} emails with ${sizeMiB} MiB each, and the same attachments by bare SMTP …`);
  const rows = await steady(progress, async () => {
    const { perSecond, peakMiB, pauseMs, cost, shares } = await deliverAll(environment, node, {
      count: emails,
      ...mail,
    });
    const bare = await bareTransfers(environment, content, emails);
    const each = (of: number) => of / emails;
    return [
      {
        what: `attachments of ${sizeMiB} MiB, delivered`,
        value: perSecond * sizeMiB,
        unit: "MiB/s",
        baseline: { what: "bare SMTP transfer", value: bare * sizeMiB },
        shares,
      },
      { what: "attachments: resident memory, peak", value: peakMiB, unit: "MiB" },
      { what: "attachments: CPU time of the program, each", value: each(cost.programMs), unit: "ms" },
      { what: "attachments: CPU time of PostgreSQL, each", value: each(cost.databaseMs), unit: "ms" },
      { what: "attachments: WAL, each", value: each(cost.walBytes) / 2 ** 20, unit: "MiB" },
      { what: "attachments: longest pause of the event loop", value: pauseMs, unit: "ms" },
    ];
  });
  await node.remove();
  await environment.stop();
  return rows;
};

/** Messages per second over `atOnce` sessions of our SMTP client. */
async function bareTransfers({ sinkPort }: Environment, base64: string, count: number): Promise<number> {
  const data = Buffer.alloc(base64LinesSize(base64.length) + 16);
  const at = data.write("Subject: x\r\n\r\n", "latin1");
  writeBase64Lines(base64, data, at);
  data.write("\r\n", data.length - 2, "latin1");
  let next = 0;
  const began = performance.now();
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      const site = { host: "localhost", address: "127.0.0.1", port: sinkPort, heloName: "bench.test" };
      const opened = await openSession({ ...site, tls: "none" });
      if ("failure" in opened) throw new Error(JSON.stringify(opened.failure));
      while (next++ < count) {
        const mail = { from: "a@sender.test", recipients: ["b@there.test"], data };
        const { recipients } = await opened.session.transact(mail);
        if (recipients[0]?.result.kind !== "accepted") throw new Error(JSON.stringify(recipients));
      }
      await opened.session.quit();
    }),
  );
  return count / ((performance.now() - began) / 1000);
}
