/** A report that rspamd from Debian writes and mails: from the mail that it checks to our figures. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { needs } from "../harness/foreign.ts";
import { type InboundTestbed, startInboundTestbed, zone } from "../harness/inbound.ts";
import { domainIdOf, reportAddressOf } from "../harness/reports.ts";
import { type Rspamd, startRspamd } from "../harness/rspamd.ts";
import { until } from "../harness/wait.ts";

const missing = needs("rspamd", "rspamadm", "redis-server");

let testbed: InboundTestbed;
let rspamd: Rspamd;
let address: string;
before(async () => {
  if (missing) return;
  testbed = await startInboundTestbed();
  address = await reportAddressOf(testbed);
  const { dns } = testbed;
  dns.set("sender.test", "TXT", "v=spf1 ip4:192.0.2.10 -all");
  dns.set("_dmarc.sender.test", "TXT", `v=DMARC1; p=none; rua=mailto:${address}`);
  dns.set("reporter.test", "TXT", "v=spf1 ip4:127.0.0.1 -all");
  dns.set("_dmarc.reporter.test", "TXT", "v=DMARC1; p=reject");
  rspamd = await startRspamd({ dnsPort: dns.port, smtpPort: testbed.smtpPort, domain: "reporter.test" });
});
after(async () => {
  if (missing) return;
  await rspamd.stop();
  await testbed.stop();
});

test("rspamd asks for the authorization, mails its report, and the figures show both sources", {
  skip: missing,
}, async () => {
  const message =
    "From: news@sender.test\r\nTo: someone@there.test\r\nSubject: Hello\r\nMessage-ID: <1@sender.test>\r\n\r\nHello\r\n";
  for (const [ip, times] of [
    ["192.0.2.10", 3],
    ["192.0.2.66", 2],
  ] as const)
    for (let i = 0; i < times; i++) await rspamd.scan({ ip, from: "news@sender.test", message });
  const record = { "_dmarc.sender.test": `v=DMARC1; p=none; rua=mailto:${address}` };
  const log = await rspamd.report({
    ...record,
    [`sender.test._report._dmarc.reports.${zone}`]: "v=DMARC1;",
  });
  assert.match(log, /successfully sent a report for sender\.test/);

  const domainId = await domainIdOf(testbed);
  const sources = await until("the report is counted", async () => {
    const { body } = await testbed.call("ReportService/ListDmarcSources", { domainId });
    const data = body.data as { ip: string; reporters: string[]; counts: { messages: number; spfAligned: number } }[];
    return data.length > 0 ? data : undefined;
  });
  assert.deepEqual(
    sources.map(({ ip, counts, reporters }) => [ip, counts.messages, counts.spfAligned, reporters]),
    [
      ["192.0.2.10", 3, 3, ["reporter.test"]],
      ["192.0.2.66", 2, 0, ["reporter.test"]],
    ],
  );
  const { body } = await testbed.call("ReportService/ListReports", { domainId });
  const [report] = body.data as { organization: string; total: number; failed: number }[];
  assert.deepEqual([report!.organization, report!.total, report!.failed], ["Rspamd of the test", 5, 2]);
});
