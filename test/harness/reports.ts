/** Helpers for tests of reports: reporters with keys in the scripted DNS, reports in both formats, and mail that carries them. */
import { createPublicKey, generateKeyPairSync, type KeyObject, randomBytes } from "node:crypto";
import { gzipSync } from "node:zlib";
import { signDkim } from "../../src/mail/dkim.ts";
import type { ScriptedDns } from "./dns.ts";
import { deliverInbound, enableReceiving, type InboundTestbed, zone } from "./inbound.ts";
import { senderDomain } from "./testbed.ts";

const dayMs = 86_400_000;
const keys = generateKeyPairSync("rsa", { modulusLength: 2048 });

/** Publishes what a receiver of mail publishes that signs its reports. */
export function addReporter(dns: ScriptedDns, domain: string): void {
  const publicKey = createPublicKey(keys.privateKey).export({ type: "spki", format: "der" }).toString("base64");
  dns.set(`_dmarc.${domain}`, "TXT", "v=DMARC1; p=reject");
  dns.set(`r1._domainkey.${domain}`, "TXT", `v=DKIM1; k=rsa; p=${publicKey}`);
}

export type ReportedRow = {
  ip: string;
  count?: number;
  dkim?: "pass" | "fail";
  spf?: "pass" | "fail";
  disposition?: string;
  headerFrom?: string;
  signedBy?: string;
};

export type XmlOptions = { domain?: string; id?: string; daysAgo?: number; organization?: string; rows: ReportedRow[] };

/** A DMARC report of RFC 9990 about one day. */
export function dmarcXml({
  domain = senderDomain,
  id = "1",
  daysAgo = 1,
  organization = "Reporter",
  rows,
}: XmlOptions): string {
  const begin = dayStart(daysAgo) / 1000;
  const records = rows.map(
    ({ ip, count = 1, dkim = "pass", spf = "fail", disposition = "none", headerFrom = domain, signedBy = domain }) => `
  <record>
    <row><source_ip>${ip}</source_ip><count>${count}</count>
      <policy_evaluated><disposition>${disposition}</disposition><dkim>${dkim}</dkim><spf>${spf}</spf></policy_evaluated></row>
    <identifiers><header_from>${headerFrom}</header_from></identifiers>
    <auth_results><dkim><domain>${signedBy}</domain><selector>s</selector><result>${dkim}</result></dkim>
      <spf><domain>bounce.${signedBy}</domain><result>pass</result></spf></auth_results>
  </record>`,
  );
  return `<?xml version="1.0" encoding="UTF-8"?>
<feedback xmlns="urn:ietf:params:xml:ns:dmarc-2.0">
  <report_metadata><org_name>${organization}</org_name><email>r@reporter.test</email><report_id>${id}</report_id>
    <date_range><begin>${begin}</begin><end>${begin + 86_399}</end></date_range></report_metadata>
  <policy_published><domain>${domain}</domain><p>none</p></policy_published>${records.join("")}
</feedback>
`;
}

export type TlsOptions = { domain?: string; id?: string; daysAgo?: number; succeeded?: number; failed?: number };

/** A TLS report of RFC 8460 about one day. */
export function tlsJson({
  domain = senderDomain,
  id = "1",
  daysAgo = 1,
  succeeded = 10,
  failed = 2,
}: TlsOptions): string {
  const start = dayStart(daysAgo);
  return JSON.stringify({
    "organization-name": "Sender Inc.",
    "date-range": {
      "start-datetime": new Date(start).toISOString(),
      "end-datetime": new Date(start + dayMs - 1000).toISOString(),
    },
    "report-id": id,
    policies: [
      {
        policy: { "policy-type": "sts", "policy-domain": domain },
        summary: { "total-successful-session-count": succeeded, "total-failure-session-count": failed },
        "failure-details": [
          {
            "result-type": "certificate-expired",
            "sending-mta-ip": "192.0.2.9",
            "receiving-mx-hostname": `inbound.${zone}`,
            "failed-session-count": failed,
          },
        ],
      },
    ],
  });
}

/** The start of a day before today, in UTC. */
export function dayStart(daysAgo: number): number {
  return Math.floor(Date.now() / dayMs - daysAgo) * dayMs;
}

export type MailOptions = { from?: string; to: string; content: Buffer; type?: string; key?: KeyObject | null };

/** A message with the report as an attachment, signed by the domain in From unless `key` is null. */
export async function reportMail({
  from = "reports@reporter.test",
  to,
  content,
  type,
  key = keys.privateKey,
}: MailOptions): Promise<Buffer> {
  const message = Buffer.from(
    [
      `From: Reports <${from}>`,
      `To: ${to}`,
      "Subject: Report Domain: sender.test Submitter: reporter.test",
      `Date: ${new Date().toUTCString().replace("GMT", "+0000")}`,
      `Message-ID: <${Math.random()}@reporter.test>`,
      "MIME-Version: 1.0",
      "Content-Type: multipart/mixed; boundary=b",
      "",
      "--b",
      "Content-Type: text/plain",
      "",
      "This is an aggregate report.",
      "--b",
      `Content-Type: ${type ?? "application/gzip"}`,
      "Content-Transfer-Encoding: base64",
      "",
      content.toString("base64").replace(/.{76}/g, "$&\r\n"),
      "--b--",
      "",
    ].join("\r\n"),
  );
  if (key === null) return message;
  const domain = from.split("@")[1]!;
  const field = await signDkim(message, { domain, selector: "r1", signedAt: new Date() }, key);
  return Buffer.concat([Buffer.from(field), message]);
}

/** Delivers a report by SMTP as the reporter does. Rejects with the error reply. */
export async function deliverReport(
  testbed: InboundTestbed,
  report: { text: string; to: string; from?: string; key?: null; packed?: Buffer },
): Promise<string> {
  const { text, to, from = "reports@reporter.test", key } = report;
  const raw = await reportMail({ from, to, content: report.packed ?? gzipSync(text), key });
  return await deliverInbound(testbed, { from, to, raw });
}

/** The report address of a domain that has proved control. Testbeds register domains without a token of the real form. */
export async function reportAddressOf(testbed: InboundTestbed, domain = senderDomain): Promise<string> {
  await enableReceiving(testbed, domain);
  const token = randomBytes(20)
    .toString("hex")
    .replace(/[^a-f]/g, "b")
    .slice(0, 20);
  await testbed.database.sql`
    update domains set signing_slots = '{1}', token = ${token} where domain = ${domain} and deleted_at is null`;
  return `${token}@reports.${zone}`;
}

/** The id of a domain on the wire. */
export async function domainIdOf(testbed: InboundTestbed, domain = senderDomain): Promise<string> {
  const [row] = await testbed.database.sql<{ id: string }[]>`
    select id from domains where domain = ${domain} and deleted_at is null`;
  return `dom_${row!.id}`;
}
