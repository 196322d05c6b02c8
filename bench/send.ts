/** How many emails per second are accepted durably, and how many are delivered with RSA-2048 DKIM: node bench/send.ts [--json] */
import { availableParallelism } from "node:os";
import { makeRsaKey } from "../src/mail/rsa-key.ts";
import { deliverAll } from "./lib/deliver.ts";
import { emptyCalls, warmUpCalls } from "./lib/empty-calls.ts";
import { rawInserts } from "./lib/inserts.ts";
import { signingLimit } from "./lib/limits.ts";
import { runLoad } from "./lib/load.ts";
import { postfixWithDkim } from "./lib/postfix-dkim.ts";
import { type Bench, type Row, runAlone } from "./lib/report.ts";
import { callHeaders, residentMiB, sendBody, setStage } from "./lib/stage.ts";

const acceptedEmails = 6000;
const deliveredEmails = 4000;
/** Before anything is measured: the first emails of a process are slower than all that follow. */
const warmUpDelivering = 500;

export const benchSend: Bench = async (say) => {
  say("what all cores can sign …");
  const signingBefore = await signingLimit();
  say("connect-node's empty call, and plain node:http …");
  const connect = await emptyCalls("connect");
  const plain = await emptyCalls("plain");
  const stage = await setStage();
  const { sql } = stage;
  stage.mailDomain("there.test");
  const body = (i: number) => sendBody(`user${i}@there.test`);

  say(`accepting ${acceptedEmails} emails …`);
  const acceptor = await stage.start({ POSTHORN_ROLES: "api" });
  const load = { url: acceptor.url, path: "/v1.EmailService/SendEmail", headers: callHeaders, connections: 64, body };
  await runLoad({ ...load, count: warmUpCalls });
  const accepted = await runLoad({ ...load, count: acceptedEmails });
  if (accepted.failures.length > 0) throw new Error(`not accepted: ${accepted.failures[0]}`);
  const acceptMemory = await residentMiB(acceptor.pid);
  await acceptor.remove();
  say("the same rows by bare inserts …");
  const inserts = await rawInserts(sql);
  await sql`truncate emails, recipients, email_contents, events`;
  await sql`update event_counters set last = 0, oldest = 1`;

  say(`delivering ${deliveredEmails} emails …`);
  const node = await stage.start();
  await deliverAll(stage, node, { count: warmUpDelivering, body });
  const delivered = await deliverAll(stage, node, { count: deliveredEmails, body });
  await node.remove();
  say("what all cores can sign, once more …");
  const signing = Math.max(signingBefore, await signingLimit());
  const signingOurs = await signingLimit(await makeRsaKey());
  const peer = await postfixWithDkim(stage, say);
  await stage.clear();

  const accept = { what: "accepted (3 kB, durable)", value: accepted.perSecond, unit: "/s" };
  const deliver = { what: "delivered with RSA-2048 DKIM", value: delivered.perSecond, unit: "/s" };
  const signatures = { what: "signatures on all cores", value: signing };
  const { cost } = delivered;
  const signatureMs = { what: "a signature with a key as ours", value: (availableParallelism() * 1000) / signingOurs };
  const rows: Row[] = [
    { ...accept, beside: { what: "connect-node's empty call", value: connect } },
    { ...accept, beside: { what: "plain node:http, protobuf-es JSON", value: plain } },
    { ...accept, beside: { what: "inserts of the same rows, nothing else", value: inserts } },
    { ...deliver, beside: signatures },
    { ...deliver, beside: { what: "signatures on all cores with keys as ours", value: signingOurs } },
    {
      ...{ what: "delivering an email: processor, the program", value: cost.programMs / deliveredEmails, unit: "ms" },
      beside: signatureMs,
    },
    {
      ...{ what: "delivering an email: processor, PostgreSQL", value: cost.databaseMs / deliveredEmails, unit: "ms" },
      beside: signatureMs,
    },
    { what: "delivering an email: write-ahead log", value: cost.walBytes / deliveredEmails / 1024, unit: "KiB" },
    { what: "delivering an email: kept in tables", value: cost.storedBytes / deliveredEmails / 1024, unit: "KiB" },
    { what: "resident memory, accepting", value: acceptMemory, unit: "MiB" },
    { what: "resident memory, delivering, peak", value: delivered.peakMiB, unit: "MiB" },
    { what: "longest pause of the event loop, delivering", value: delivered.pauseMs, unit: "ms" },
  ];
  if (peer !== undefined)
    rows.push(
      { ...deliver, beside: { what: "Postfix with OpenDKIM, the same letters", value: peer } },
      { what: "Postfix with OpenDKIM: delivered", value: peer, unit: "/s", beside: signatures },
    );
  return rows;
};

if (import.meta.main) await runAlone(benchSend);
