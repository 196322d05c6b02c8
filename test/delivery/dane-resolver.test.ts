import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { makeSelfSigned } from "../../src/smtp/server/certificate.ts";
import { tlsaOf } from "../harness/dane.ts";
import { type ScriptedDns, startScriptedDns } from "../harness/dns.ts";
import { accepted, eventsOf, untilEvent } from "../harness/sending.ts";
import { mailDomain, startTestbed, type Testbed } from "../harness/testbed.ts";

/** What happens to mail while the validating resolver is away or does not validate. */
let validating: ScriptedDns;
let testbed: Testbed;
const mail = makeSelfSigned("elsewhere.test", Date.now());

before(async () => {
  validating = await startScriptedDns();
  validating.edns = true;
  // Answers are not cached, so that every email asks again.
  validating.ttl = 0;
  testbed = await startTestbed({
    sink: { tls: mail },
    domains: ["plain.test", "signed.test", "unknown.test"],
    env: {
      POSTHORN_DANE_RESOLVER: `${validating.host}:${validating.port}`,
      POSTHORN_RETRY_SCHEDULE_MS: "500",
    },
  });
});
after(async () => {
  await testbed?.stop();
  await validating?.stop();
});
beforeEach(() => {
  validating.edns = true;
  publish();
});

function publish(): void {
  for (const domain of ["plain.test", "signed.test", "unknown.test"]) mailDomain(validating, domain);
  validating.sign("signed.test");
  validating.set("_25._tcp.mx.signed.test", "TLSA", tlsaOf(mail.cert, "3 1 1"));
}

async function restart({ host, port }: { host: string; port: number }): Promise<void> {
  validating = await startScriptedDns({ host, port });
  validating.edns = true;
  validating.ttl = 0;
  publish();
}

async function deliver(to: string) {
  const id = await accepted(testbed, { to: [to], async: true });
  const events = await untilEvent(testbed, id, "email.delivered");
  return (events.at(-1)!.payload.tls as Record<string, unknown>).dane;
}

test("while the resolver is away, only domains that are known to be insecure get mail; the rest follows when it is back", async () => {
  assert.equal(await deliver("a@signed.test"), "match");
  assert.equal(await deliver("a@plain.test"), "");
  await validating.stop();
  const [signed, unknown] = await Promise.all([
    accepted(testbed, { to: ["b@signed.test"], async: true }),
    accepted(testbed, { to: ["b@unknown.test"], async: true }),
  ]);
  for (const id of [signed, unknown]) {
    const [delayed] = await untilEvent(testbed, id, "email.delayed");
    assert.equal(delayed!.payload.category, "dns");
    assert.match(String(delayed!.payload.smtpReply), /no DNS resolver is reachable|timed out/);
  }
  assert.equal(await deliver("b@plain.test"), "", "found through POSTHORN_RESOLVERS");
  for (const id of [signed, unknown])
    assert.ok((await eventsOf(testbed, id)).every(({ type }) => type === "email.delayed"));
  await restart(validating);
  const events = await untilEvent(testbed, signed, "email.delivered");
  assert.equal((events.at(-1)!.payload.tls as Record<string, unknown>).dane, "match");
  await untilEvent(testbed, unknown, "email.delivered");
});

test("a domain without DNSSEC at a signed mail server gets mail while the resolver is away", async () => {
  validating.set("customer.test", "MX", "10 mx.signed.test");
  testbed.dns.set("customer.test", "MX", "10 mx.signed.test");
  assert.equal(await deliver("a@customer.test"), "");
  const { host, port } = validating;
  await validating.stop();
  assert.equal(await deliver("b@customer.test"), "");
  await restart({ host, port });
  assert.equal(await deliver("c@signed.test"), "match", "the resolver is back");
});

test("answers without EDNS are not taken for insecure ones: mail waits, with the reason", async () => {
  validating.edns = false;
  const ids = await Promise.all(
    ["c@signed.test", "c@plain.test"].map((to) => accepted(testbed, { to: [to], async: true })),
  );
  for (const id of ids) {
    const [delayed] = await untilEvent(testbed, id, "email.delayed");
    assert.equal(delayed!.payload.category, "dns");
    assert.match(String(delayed!.payload.smtpReply), /does not support EDNS/);
  }
  validating.edns = true;
  for (const id of ids) await untilEvent(testbed, id, "email.delivered");
});

test("SERVFAIL for a domain that was insecure before does not lead to the other resolver", async () => {
  assert.equal(await deliver("d@plain.test"), "");
  validating.behave("plain.test", "servfail");
  const id = await accepted(testbed, { to: ["e@plain.test"], async: true });
  const [delayed] = await untilEvent(testbed, id, "email.delayed");
  assert.match(String(delayed!.payload.smtpReply), /failed \(SERVFAIL\)/);
  validating.behave("plain.test", undefined);
  await untilEvent(testbed, id, "email.delivered");
});
