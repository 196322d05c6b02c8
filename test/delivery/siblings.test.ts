/** Emails whose recipients are at many destinations. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, test } from "node:test";
import { accepted, untilFinished } from "../harness/sending.ts";
import { mailDomain, startTestbed, type Testbed } from "../harness/testbed.ts";

let testbed: Testbed;
before(async () => {
  testbed = await startTestbed();
});
after(async () => await testbed.stop());

test("concurrent emails to many destinations each: every destination gets the same complete message at the first attempt", async () => {
  const domains = Array.from({ length: 8 }, (_, i) => `destination-${i}.test`);
  for (const domain of domains) mailDomain(testbed.dns, domain);
  const base64Content = randomBytes(30_000).toString("base64");
  const attachments = [{ filename: "a.bin", contentType: "application/octet-stream", base64Content }];
  const ids = await Promise.all(
    Array.from({ length: 15 }, (_, i) =>
      accepted(testbed, { to: domains.map((domain) => `r${i}@${domain}`), attachments, async: true }),
    ),
  );
  for (const [i, id] of ids.entries()) {
    const { status, recipients } = await untilFinished(testbed, id);
    assert.equal(status, "EMAIL_STATUS_SENT");
    assert.deepEqual([...new Set(recipients.map(({ attempts }) => attempts))], [1]);
    const copies = domains.map((domain) => testbed.sink.received(`r${i}@${domain}`));
    assert.ok(copies.every((deliveries) => deliveries.length === 1));
    const signed = copies.map(([copy]) => copy!.raw.toString("latin1").replace(/^X-Posthorn-Copy: .*\r\n/, ""));
    for (const text of signed) assert.equal(text, signed[0]);
    assert.match(signed[0]!, /^DKIM-Signature: /);
  }
});
