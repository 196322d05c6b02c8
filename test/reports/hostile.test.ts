/** Hostile reports of an authenticated sender: each is refused with a reason, nothing is counted, and other mail goes on. */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { gzipSync } from "node:zlib";
import { deliverInbound, eventsOfType, type InboundTestbed, startInboundTestbed } from "../harness/inbound.ts";
import { addReporter, deliverReport, dmarcXml, domainIdOf, reportAddressOf, reportMail } from "../harness/reports.ts";

let testbed: InboundTestbed;
let address: string;
before(async () => {
  testbed = await startInboundTestbed();
  addReporter(testbed.dns, "reporter.test");
  address = await reportAddressOf(testbed);
});
after(async () => await testbed.stop());

async function rows(): Promise<number> {
  const [row] = await testbed.database.sql<{ n: number }[]>`
    select (select count(*) from reports)::int + (select count(*) from dmarc_counts)::int as n`;
  return row!.n;
}

/** The corpus is about a fixed domain and day, so a report that is read would be refused for that. */
for (const file of globSync("test/corpus/reports/hostile/*"))
  test(`refuses ${file}`, async () => {
    const raw = await reportMail({ to: address, content: gzipSync(readFileSync(file)) });
    await assert.rejects(deliverInbound(testbed, { from: "reports@reporter.test", to: address, raw }), /554 5\.6\.0/);
    assert.equal(await rows(), 0);
  });

test("reports that take seconds to read block neither the event loop nor other mail", async () => {
  // Numbers keep the ratio of the packed size below its limit.
  const elements = Array.from({ length: 400_000 }, (_, i) => `<a>${(i * 7919) % 1_000_003}</a>`).join("");
  const packed = gzipSync(`<feedback>${elements}</feedback>`, { level: 1 });
  const reports = Promise.allSettled(
    Array.from({ length: 2 }, () => deliverReport(testbed, { text: "", packed, to: address })),
  );
  for (let i = 0; i < 5; i++) {
    const subject = `between ${i}`;
    await deliverInbound(testbed, {
      to: "us@sender.test",
      raw: `From: ann@there.test\nSubject: ${subject}\nMessage-ID: <${i}@there.test>\n\nHello\n`,
    });
  }
  const events = eventsOfType(await testbed.events(), "email.received");
  assert.equal(events.length, 5, "mail was received while the reports were read");
  for (const result of await reports) {
    assert.equal(result.status, "rejected");
    // On a busy machine the time for reading or for authenticating the sender ends first.
    const refusal = /names no domain|too much time|too busy|cannot be authenticated now/;
    assert.match(String((result as PromiseRejectedResult).reason), refusal);
  }
  assert.equal(await rows(), 0);
});

test("25,000 invented addresses in one report are counted, but stored only up to the limit", async () => {
  const addresses = Array.from({ length: 25_000 }, (_, i) => ({
    ip: `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`,
    dkim: "fail" as const,
  }));
  const text = dmarcXml({ id: "invented", rows: addresses });
  assert.match(await deliverReport(testbed, { text, to: address }), /^250/);
  const [stored] = await testbed.database.sql<{ rows: number; messages: number }[]>`
    select count(*)::int as rows, sum(messages)::int as messages from dmarc_counts`;
  assert.deepEqual(stored, { rows: 1001, messages: 25_000 });
  const events = (await testbed.events()).filter(({ event }) => event.type === "domain.report");
  assert.equal(events.length, 1);
  const domainId = await domainIdOf(testbed);
  const { body } = await testbed.call("ReportService/ListDmarcSources", { domainId, pageSize: 1 });
  const [other] = body.data as { ip: string; counts: { messages: number } }[];
  assert.deepEqual([other!.ip, other!.counts.messages], ["", 24_000]);
});
