import assert from "node:assert/strict";
import { createPublicKey, generateKeyPairSync } from "node:crypto";
import { after, before, test } from "node:test";
import { signDkim } from "../../src/mail/dkim.ts";
import { deliverInbound, eventsOfType, type InboundTestbed, startInboundTestbed } from "../harness/inbound.ts";

const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const publicKey = createPublicKey(privateKey).export({ type: "spki", format: "der" }).toString("base64");

let testbed: InboundTestbed;
before(async () => {
  testbed = await startInboundTestbed();
  const { dns } = testbed;
  dns.set("there.test", "TXT", "v=spf1 ip4:127.0.0.1 -all");
  dns.set("strict.test", "TXT", "v=spf1 ip4:192.0.2.1 -all");
  for (const domain of ["there.test", "strict.test"]) dns.set(`_dmarc.${domain}`, "TXT", "v=DMARC1; p=reject");
  dns.set("s1._domainkey.there.test", "TXT", `v=DKIM1; k=rsa; p=${publicKey}`);
  dns.set("broken.test", "TXT", "v=spf1 include:nowhere.broken.test -all");
  dns.behave("silent.test", "servfail");
  dns.behave("_dmarc.silent.test", "servfail");
});
after(async () => await testbed.stop());

const messageOf = (from: string, subject: string) =>
  Buffer.from(
    `From: Ann <${from}>\r\nTo: us@sender.test\r\nSubject: ${subject}\r\nDate: Mon, 02 Nov 2026 10:00:00 +0000\r\nMessage-ID: <${subject}@x.test>\r\n\r\nHello\r\n`,
  );

async function verdictsOf(subject: string, sender: string, raw: Buffer): Promise<Record<string, string>> {
  await deliverInbound(testbed, { from: sender, to: "us@sender.test", raw });
  const events = await testbed.untilEvents(subject, (all) =>
    eventsOfType(all, "email.received").some((one) => one.subject === subject),
  );
  return eventsOfType(events, "email.received").find((one) => one.subject === subject)!.verdicts as Record<
    string,
    string
  >;
}

test("mail from an authorized server with a valid signature passes SPF, DKIM and DMARC", async () => {
  const raw = messageOf("ann@there.test", "signed");
  const field = await signDkim(raw, { domain: "there.test", selector: "s1", signedAt: new Date() }, privateKey);
  const signed = Buffer.concat([Buffer.from(field), raw]);
  assert.deepEqual(await verdictsOf("signed", "ann@there.test", signed), {
    spf: "VERDICT_PASS",
    spfDomain: "there.test",
    dkim: "VERDICT_PASS",
    dkimDomain: "there.test",
    dmarc: "VERDICT_PASS",
  });
});

test("an invalid signature fails DKIM, and SPF alone still satisfies DMARC", async () => {
  const raw = messageOf("ann@there.test", "altered");
  const field = await signDkim(raw, { domain: "there.test", selector: "s1", signedAt: new Date() }, privateKey);
  const altered = Buffer.from(
    Buffer.concat([Buffer.from(field), raw])
      .toString()
      .replace("Hello", "Hallo"),
  );
  const verdicts = await verdictsOf("altered", "ann@there.test", altered);
  assert.notEqual(verdicts.dkim, "VERDICT_PASS");
  assert.equal(verdicts.dkimDomain, "");
  assert.equal(verdicts.dmarc, "VERDICT_PASS");
});

test("a forged sender fails SPF and DMARC", async () => {
  const verdicts = await verdictsOf("forged", "boss@strict.test", messageOf("boss@strict.test", "forged"));
  assert.equal(verdicts.spf, "VERDICT_FAIL");
  assert.equal(verdicts.dkim, "VERDICT_NONE");
  assert.equal(verdicts.dmarc, "VERDICT_FAIL");
});

test("a valid envelope sender does not help a forged From", async () => {
  const verdicts = await verdictsOf("two names", "ann@there.test", messageOf("boss@strict.test", "two names"));
  assert.equal(verdicts.spf, "VERDICT_PASS");
  assert.equal(verdicts.dmarc, "VERDICT_FAIL");
});

test("a domain without records gives NONE, one with a broken SPF record gives PERMERROR", async () => {
  const silent = await verdictsOf("no records", "a@plain.test", messageOf("a@plain.test", "no records"));
  assert.deepEqual([silent.spf, silent.dkim, silent.dmarc], ["VERDICT_NONE", "VERDICT_NONE", "VERDICT_NONE"]);
  const broken = await verdictsOf("broken records", "a@broken.test", messageOf("a@broken.test", "broken records"));
  assert.equal(broken.spf, "VERDICT_PERMERROR");
});

test("mail is accepted when DNS fails, with the verdict TEMPERROR", async () => {
  const verdicts = await verdictsOf("no answer", "a@silent.test", messageOf("a@silent.test", "no answer"));
  assert.equal(verdicts.spf, "VERDICT_TEMPERROR");
});
