/** Emails per second that are accepted durably, and that are delivered with RSA-2048 DKIM. npm run bench -- send */
import { availableParallelism } from "node:os";
import { makeRsaKey } from "../src/mail/rsa-key.ts";
import { deliverAll, warmUpEmails } from "./lib/deliver.ts";
import { startEmptyServer, warmUpCalls } from "./lib/empty-calls.ts";
import { callHeaders, type Environment, residentMiB, sendBody, startEnvironment } from "./lib/environment.ts";
import { rawInserts } from "./lib/inserts.ts";
import { signingLimit } from "./lib/limits.ts";
import { runLoad } from "./lib/load.ts";
import { startPostfixWithDkim, withoutPostfixDkim } from "./lib/postfix-dkim.ts";
import type { Bench, Progress, Row } from "./lib/report.ts";
import { quick } from "./lib/scale.ts";
import { measured } from "./lib/shares.ts";
import { steady } from "./lib/steady.ts";

const acceptedEmails = quick ? 3000 : 6000;
const deliveredEmails = quick ? 1200 : 2500;

const body = (i: number) => sendBody(`user${i}@there.test`);

export const benchSend: Bench = async (progress) => {
  const environment = await startEnvironment();
  environment.mailDomain("there.test");
  const accepted = await accepting(environment, progress);
  await environment.sql`truncate emails, recipients, email_contents, events`;
  await environment.sql`update event_counters set last = 0, oldest = 1`;
  const delivered = await delivering(environment, progress);
  await environment.stop();
  return [...accepted, ...delivered];
};

async function accepting(environment: Environment, progress: Progress): Promise<Row[]> {
  progress("warming up: accepting, connect-node's empty call, and plain node:http …");
  // Left out of a quick run, like the bare inserts: it takes seconds and has no target.
  const connect = quick ? undefined : await startEmptyServer("connect");
  const plain = await startEmptyServer("plain");
  const node = await environment.start({ POSTHORN_ROLES: "api" });
  const load = { url: node.url, path: "/v1.EmailService/SendEmail", headers: callHeaders, connections: 64, body };
  await runLoad({ ...load, count: warmUpCalls });
  progress(`accepting ${acceptedEmails} emails, and the empty calls …`);
  const rows = await steady(progress, async () => {
    const connectCalls = await connect?.measure();
    const plainCalls = await plain.measure();
    const { result, shares } = await measured({ environment, node }, () => runLoad({ ...load, count: acceptedEmails }));
    if (result.failures.length > 0) throw new Error(`not accepted: ${result.failures[0]}`);
    const accept = { what: "accepted (3 kB, durable)", value: result.perSecond, unit: "/s", shares };
    return [
      { ...accept, baseline: { what: "plain node:http, protobuf-es JSON", value: plainCalls.perSecond }, least: 0.65 },
      ...(connectCalls
        ? [{ ...accept, baseline: { what: "connect-node's empty call", value: connectCalls.perSecond } }]
        : []),
      { what: "resident memory, accepting", value: await residentMiB(node.pid), unit: "MiB" },
    ];
  });
  await node.remove();
  connect?.stop();
  plain.stop();
  if (quick) return rows;
  progress("the same rows by bare inserts …");
  const inserts = await rawInserts(environment.sql, acceptedEmails);
  const { what, value, unit } = rows[0]!;
  return [...rows, { what, value, unit, baseline: { what: "bare inserts of the same rows", value: inserts } }];
}

async function delivering(environment: Environment, progress: Progress): Promise<Row[]> {
  progress("warming up: delivering, and Postfix with OpenDKIM …");
  const [node, peer] = await Promise.all([
    environment.start(),
    withoutPostfixDkim ? undefined : startPostfixWithDkim(environment),
  ]);
  await deliverAll(environment, node, { count: warmUpEmails, body });
  const ourKey = await makeRsaKey(3);
  progress(`delivering ${deliveredEmails} emails, signatures on all cores, and the same emails with Postfix …`);
  const rows = await steady(progress, async () => {
    const signing = await signingLimit();
    const signingOurs = await signingLimit({ key: ourKey });
    const delivered = await deliverAll(environment, node, { count: deliveredEmails, body });
    const others = await peer?.measure();
    const { cost, shares } = delivered;
    const each = (of: number) => of / deliveredEmails;
    const deliver = { what: "delivered with RSA-2048 DKIM", value: delivered.perSecond, unit: "/s", shares };
    const signatures = { what: "signatures on all cores", value: signing };
    const signatureMs = {
      what: "a signature with our kind of key",
      value: (availableParallelism() * 1000) / signingOurs,
    };
    const withPeer: Row[] = others
      ? [
          {
            ...deliver,
            baseline: { what: "Postfix with OpenDKIM, the same emails", value: others.perSecond },
            least: 2.6,
          },
          {
            what: "Postfix with OpenDKIM: delivered",
            value: others.perSecond,
            unit: "/s",
            baseline: signatures,
            shares: others.shares,
          },
        ]
      : [{ ...deliver, notCompared: `Postfix with OpenDKIM: ${withoutPostfixDkim}`, least: 2.6 }];
    const perEmail = "delivering an email:";
    return [
      { ...deliver, baseline: signatures, least: 0.8 },
      { ...deliver, baseline: { what: "signatures on all cores with our kind of key", value: signingOurs } },
      ...withPeer,
      { what: `${perEmail} CPU time of the program`, value: each(cost.programMs), unit: "ms", baseline: signatureMs },
      { what: `${perEmail} CPU time of PostgreSQL`, value: each(cost.databaseMs), unit: "ms", baseline: signatureMs },
      { what: `${perEmail} write-ahead log`, value: each(cost.walBytes) / 1024, unit: "KiB" },
      { what: `${perEmail} kept in tables`, value: each(cost.storedBytes) / 1024, unit: "KiB" },
      { what: "resident memory, delivering, peak", value: delivered.peakMiB, unit: "MiB" },
      { what: "longest pause of the event loop, delivering", value: delivered.pauseMs, unit: "ms" },
    ];
  });
  await node.remove();
  await peer?.stop();
  return rows;
}
