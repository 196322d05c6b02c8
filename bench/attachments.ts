/** How fast large attachments go through, from the request to the receiver, signed: beside their bare transfer by SMTP. node bench/attachments.ts [--json] */
import { randomBytes } from "node:crypto";
import { base64LinesSize, writeBase64Lines } from "../src/mail/mime/base64.ts";
import { openSession } from "../src/smtp/client.ts";
import { deliverAll } from "./lib/deliver.ts";
import { type Bench, runAlone } from "./lib/report.ts";
import { letter, type Stage, setStage } from "./lib/stage.ts";

const emails = 40;
const sizeMiB = 5;
const atOnce = 4;

export const benchAttachments: Bench = async (say) => {
  const stage = await setStage();
  stage.mailDomain("there.test");
  const content = randomBytes(sizeMiB * 1024 * 1024).toString("base64");
  const attachments = [{ filename: "report.pdf", contentType: "application/pdf", base64Content: content }];
  const body = JSON.stringify({ ...letter, to: ["user@there.test"], async: true, attachments });
  say(`delivering ${emails} emails with ${sizeMiB} MiB each …`);
  const node = await stage.start();
  const delivered = await deliverAll(stage, node, { count: emails, connections: atOnce, body: () => body });
  await node.remove();
  say("the same attachments by SMTP alone …");
  const bare = await bareTransfers(stage, content);
  await stage.clear();
  return [
    {
      ...{ what: `attachments of ${sizeMiB} MiB, delivered`, value: delivered.perSecond * sizeMiB, unit: "MiB/s" },
      beside: { what: "SMTP transfer of them alone", value: bare * sizeMiB },
    },
    { what: "attachments: resident memory, peak", value: delivered.peakMiB, unit: "MiB" },
    { what: "attachments: longest pause of the event loop", value: delivered.pauseMs, unit: "ms" },
  ];
};

/** Messages per second over as many sessions of our client as requests were made at once. */
async function bareTransfers({ sinkPort }: Stage, base64: string): Promise<number> {
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
      while (next++ < emails) {
        const mail = { from: "a@sender.test", recipients: ["b@there.test"], data };
        const { recipients } = await opened.session.transact(mail);
        if (recipients[0]?.result.kind !== "accepted") throw new Error(JSON.stringify(recipients));
      }
      await opened.session.quit();
    }),
  );
  return emails / ((performance.now() - began) / 1000);
}

if (import.meta.main) await runAlone(benchAttachments);
