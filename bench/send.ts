/** Emails per second that are accepted durably, and that are delivered with RSA-2048 DKIM. npm run bench -- send */
import { availableParallelism } from "node:os";
import { makeRsaKey } from "../src/mail/rsa-key.ts";
import { deliverAll } from "./lib/deliver.ts";
import { emptyCalls, warmUpCalls } from "./lib/empty-calls.ts";
import { callHeaders, residentMiB, sendBody, startEnvironment } from "./lib/environment.ts";
import { rawInserts } from "./lib/inserts.ts";
import { signingLimit } from "./lib/limits.ts";
import { runLoad } from "./lib/load.ts";
import { postfixWithDkim } from "./lib/postfix-dkim.ts";
import type { Bench, Row } from "./lib/report.ts";

const acceptedEmails = 6000;
const deliveredEmails = 4000;
/** Emails before the measurement: the first emails of a process are slower. */
const warmUpDelivering = 500;

export const benchSend: Bench = async (progress) => {
  progress("signatures on all cores …");
  const signingBefore = await signingLimit();
  progress("connect-node's empty call, and plain node:http …");
  const connect = await emptyCalls("connect");
  const plain = await emptyCalls("plain");
  const environment = await startEnvironment();
  const { sql } = environment;
  environment.mailDomain("there.test");
  const body = (i: number) => sendBody(`user${i}@there.test`);

  progress(`accepting ${acceptedEmails} emails …`);
  const acceptor = await environment.start({ POSTHORN_ROLES: "api" });
  const load = { url: acceptor.url, path: "/v1.EmailService/SendEmail", headers: callHeaders, connections: 64, body };
  await runLoad({ ...load, count: warmUpCalls });
  const accepted = await runLoad({ ...load, count: acceptedEmails });
  if (accepted.failures.length > 0) throw new Error(`not accepted: ${accepted.failures[0]}`);
  const acceptMemory = await residentMiB(acceptor.pid);
  await acceptor.remove();
  progress("the same rows by bare inserts …");
  const inserts = await rawInserts(sql);
  await sql`truncate emails, recipients, email_contents, events`;
  await sql`update event_counters set last = 0, oldest = 1`;

  progress(`delivering ${deliveredEmails} emails …`);
  const node = await environment.start();
  await deliverAll(environment, node, { count: warmUpDelivering, body });
  const delivered = await deliverAll(environment, node, { count: deliveredEmails, body });
  await node.remove();
  progress("signatures on all cores, again …");
  const signing = Math.max(signingBefore, await signingLimit());
  const signingOurs = await signingLimit(await makeRsaKey(3));
  const peer = await postfixWithDkim(environment, progress);
  await environment.stop();

  const accept = { what: "accepted (3 kB, durable)", value: accepted.perSecond, unit: "/s" };
  const deliver = { what: "delivered with RSA-2048 DKIM", value: delivered.perSecond, unit: "/s" };
  const signatures = { what: "signatures on all cores", value: signing };
  const { cost } = delivered;
  const signatureMs = {
    what: "a signature with our kind of key",
    value: (availableParallelism() * 1000) / signingOurs,
  };
  const rows: Row[] = [
    { ...accept, baseline: { what: "connect-node's empty call", value: connect } },
    { ...accept, baseline: { what: "plain node:http, protobuf-es JSON", value: plain } },
    { ...accept, baseline: { what: "bare inserts of the same rows", value: inserts } },
    { ...deliver, baseline: signatures },
    { ...deliver, baseline: { what: "signatures on all cores with our kind of key", value: signingOurs } },
    {
      what: "delivering an email: CPU time of the program",
      value: cost.programMs / deliveredEmails,
      unit: "ms",
      baseline: signatureMs,
    },
    {
      what: "delivering an email: CPU time of PostgreSQL",
      value: cost.databaseMs / deliveredEmails,
      unit: "ms",
      baseline: signatureMs,
    },
    { what: "delivering an email: write-ahead log", value: cost.walBytes / deliveredEmails / 1024, unit: "KiB" },
    { what: "delivering an email: kept in tables", value: cost.storedBytes / deliveredEmails / 1024, unit: "KiB" },
    { what: "resident memory, accepting", value: acceptMemory, unit: "MiB" },
    { what: "resident memory, delivering, peak", value: delivered.peakMiB, unit: "MiB" },
    { what: "longest pause of the event loop, delivering", value: delivered.pauseMs, unit: "ms" },
  ];
  if (peer !== undefined)
    rows.push(
      { ...deliver, baseline: { what: "Postfix with OpenDKIM, the same emails", value: peer } },
      { what: "Postfix with OpenDKIM: delivered", value: peer, unit: "/s", baseline: signatures },
    );
  return rows;
};
