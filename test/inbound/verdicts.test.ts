import assert from "node:assert/strict";
import { createPublicKey, generateKeyPairSync } from "node:crypto";
import { after, before, test } from "node:test";
import { sealMessage } from "mailauth";
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
  for (const domain of ["list.test", "relay.test"])
    dns.set(`s1._domainkey.${domain}`, "TXT", `v=DKIM1; k=rsa; p=${publicKey}`);
  dns.behave("s1._domainkey.mute.test", "servfail");
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
    arc: "VERDICT_NONE",
    arcDomain: "",
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

/** Adds an ARC set, as a forwarder does. `cv` is its own verdict on the sets before. */
async function sealed(raw: Buffer, signingDomain: string, i: number, cv: "none" | "pass"): Promise<Buffer> {
  const authResults = `${signingDomain}; spf=pass; dmarc=pass`;
  const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  const seal = { signingDomain, selector: "s1", privateKey: pem, authResults, i, cv };
  const fields = await sealMessage(raw, seal);
  assert.ok(fields.length > 0);
  return Buffer.concat([fields, raw]);
}

test("a forwarded message passes ARC, and the verdict names the last forwarder", async () => {
  const once = await sealed(messageOf("boss@strict.test", "forwarded"), "list.test", 1, "none");
  const one = await verdictsOf("forwarded", "list@list.test", once);
  assert.deepEqual([one.arc, one.arcDomain, one.dmarc], ["VERDICT_PASS", "list.test", "VERDICT_FAIL"]);

  const first = await sealed(messageOf("boss@strict.test", "forwarded twice"), "list.test", 1, "none");
  const twice = await sealed(first, "relay.test", 2, "pass");
  const two = await verdictsOf("forwarded twice", "list@relay.test", twice);
  assert.deepEqual([two.arc, two.arcDomain], ["VERDICT_PASS", "relay.test"]);
});

test("a changed message and a missing key fail ARC without a domain; a key that DNS does not return is TEMPERROR", async () => {
  const raw = await sealed(messageOf("boss@strict.test", "changed"), "list.test", 1, "none");
  const changed = Buffer.from(raw.toString().replace("Hello", "Hallo"));
  const one = await verdictsOf("changed", "a@list.test", changed);
  assert.deepEqual([one.arc, one.arcDomain], ["VERDICT_FAIL", ""]);
  const unknown = await sealed(messageOf("boss@strict.test", "no key"), "nobody.test", 1, "none");
  assert.equal((await verdictsOf("no key", "a@list.test", unknown)).arc, "VERDICT_FAIL");
  const mute = await sealed(messageOf("boss@strict.test", "mute key"), "mute.test", 1, "none");
  assert.equal((await verdictsOf("mute key", "a@list.test", mute)).arc, "VERDICT_TEMPERROR");
});

test("GetInbound returns the ARC verdict, and UNSPECIFIED for a message that was stored before ARC was checked", async () => {
  const { sql } = testbed.database;
  const raw = await sealed(messageOf("boss@strict.test", "stored"), "list.test", 1, "none");
  await verdictsOf("stored", "a@list.test", raw);
  const list = async () => {
    const { body } = await testbed.program.call("InboundService/ListInbound", { search: "stored" });
    return (body.data as { verdicts: Record<string, string> }[])[0]!.verdicts;
  };
  const current = await list();
  assert.deepEqual([current.arc, current.arcDomain], ["VERDICT_PASS", "list.test"]);
  await sql`update inbound_messages set verdicts = verdicts - 'arc' - 'arcDomain' where subject = 'stored'`;
  const older = await list();
  assert.deepEqual([older.arc, older.arcDomain, older.dmarc], ["VERDICT_UNSPECIFIED", "", "VERDICT_FAIL"]);
});

test("hostile ARC fields do not prevent the other verdicts", async () => {
  const set = (i: number | string) =>
    `ARC-Seal: i=${i}; a=rsa-sha256; cv=pass; d=list.test; s=s1; b=AAAA\r\nARC-Message-Signature: i=${i}; a=rsa-sha256; d=list.test; s=s1; h=from; bh=AAAA; b=AAAA\r\nARC-Authentication-Results: i=${i}; list.test\r\n`;
  const cases = {
    "a gap": set(3),
    "the same twice": set(1) + set(1),
    "no number": set("x"),
    "a long chain": Array.from({ length: 25 }, (_, at) => set(at + 1)).join(""),
    "800 results": "ARC-Authentication-Results: i=1; list.test\r\n".repeat(800),
  };
  for (const [subject, fields] of Object.entries(cases)) {
    const raw = Buffer.concat([Buffer.from(fields), messageOf("ann@there.test", subject)]);
    const verdicts = await verdictsOf(subject, "ann@there.test", raw);
    assert.notEqual(verdicts.arc, "VERDICT_PASS", subject);
    assert.deepEqual([verdicts.arcDomain, verdicts.spf, verdicts.dmarc], ["", "VERDICT_PASS", "VERDICT_PASS"], subject);
  }
});

test("1,000 ARC sets are refused before they are checked", async () => {
  const raw = Buffer.concat([Buffer.from("ARC-Seal: i=1\r\n".repeat(999)), messageOf("ann@there.test", "seals")]);
  await assert.rejects(deliverInbound(testbed, { to: "us@sender.test", raw }), /25 signatures|1000 fields/);
});

test("DMARC follows the tree walk of RFC 9989", async () => {
  const { dns } = testbed;
  const spf = "v=spf1 ip4:127.0.0.1 -all";
  const verdict = async (subject: string, { from, envelope }: { from: string; envelope: string }) =>
    (await verdictsOf(subject, `a@${envelope}`, messageOf(`a@${from}`, subject))).dmarc;

  // Two departments below psd=n do not align with each other's parent.
  dns.set("_dmarc.corp.test", "TXT", "v=DMARC1; p=reject");
  dns.set("_dmarc.dept.corp.test", "TXT", "v=DMARC1; p=reject; psd=n");
  for (const name of ["corp.test", "a.dept.corp.test", "b.dept.corp.test"]) dns.set(name, "TXT", spf);
  const within = { from: "a.dept.corp.test", envelope: "b.dept.corp.test" };
  assert.equal(await verdict("within psd=n", within), "VERDICT_PASS");
  const across = { from: "a.dept.corp.test", envelope: "corp.test" };
  assert.equal(await verdict("across psd=n", across), "VERDICT_FAIL");

  // A public suffix with a policy for names that do not exist.
  dns.set("_dmarc.suffix.test", "TXT", "v=DMARC1; p=none; np=reject; psd=y");
  const absent = { from: "absent.suffix.test", envelope: "there.test" };
  assert.equal(await verdict("np applies", absent), "VERDICT_FAIL");
  dns.set("one.suffix.test", "TXT", spf);
  const siblings = { from: "two.suffix.test", envelope: "one.suffix.test" };
  assert.equal(await verdict("two registrants", siblings), "VERDICT_FAIL");

  // Without p=, a record counts only if it requests reports.
  dns.set("_dmarc.reports.test", "TXT", "v=DMARC1; rua=mailto:d@reports.test");
  dns.set("_dmarc.empty.test", "TXT", "v=DMARC1; adkim=s");
  const reports = { from: "reports.test", envelope: "there.test" };
  assert.equal(await verdict("p missing with rua", reports), "VERDICT_FAIL");
  const empty = { from: "empty.test", envelope: "there.test" };
  assert.equal(await verdict("p missing without rua", empty), "VERDICT_NONE");
});
