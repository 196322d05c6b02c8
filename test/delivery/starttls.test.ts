import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { fileURLToPath } from "node:url";
import { accepted, untilEvent, untilFinished } from "../harness/sending.ts";
import { startSink, testCertificate } from "../harness/sink.ts";
import { mailDomain, startTestbed, type Testbed } from "../harness/testbed.ts";

let testbed: Testbed;
before(async () => {
  testbed = await startTestbed({
    sink: { tls: testCertificate() },
    // Trusts the test CA in the same way as an operator adds a company CA.
    env: { NODE_EXTRA_CA_CERTS: fileURLToPath(new URL("../fixtures/tls/ca.pem", import.meta.url)) },
  });
  // One receiver with a valid certificate, and one for each STARTTLS failure, because the client remembers failures per host.
  testbed.dns.set("proven.test", "MX", "10 mx.example.test");
  testbed.dns.set("mx.example.test", "A", "127.0.0.1");
  for (const domain of ["rubbish.test", "refusing.test", "dropping.test", "strict.test"])
    mailDomain(testbed.dns, domain);
});
beforeEach(() => {
  testbed.sink.script = () => undefined;
});
after(async () => await testbed.stop());

const tlsOf = (payload: Record<string, unknown>) => payload.tls as Record<string, unknown> | undefined;

test("STARTTLS is used when it is offered, whatever the certificate", async () => {
  const id = await accepted(testbed, { to: ["a@there.test"] });
  const [delivered] = await untilEvent(testbed, id, "email.delivered");
  assert.match(tlsOf(delivered!.payload)!.protocol as string, /^TLSv1\.[23]$/);
  assert.equal(tlsOf(delivered!.payload)!.verified, false, "mx.there.test is not in the certificate");
  const [copy] = testbed.sink.received("a@there.test");
  assert.equal(copy!.secure, true);
  const plaintextVerbs = testbed.sink.commands.filter(({ secure }) => !secure).map(({ line }) => line.split(" ")[0]);
  assert.deepEqual([...new Set(plaintextVerbs)], ["EHLO", "STARTTLS"], "no other command was sent in plain text");
});

test("a valid certificate for the host's name is reported as verified", async () => {
  const id = await accepted(testbed, { to: ["a@proven.test"], requireTls: true });
  const [delivered] = await untilEvent(testbed, id, "email.delivered");
  assert.equal(tlsOf(delivered!.payload)!.verified, true);
});

for (const [domain, action] of [
  ["rubbish.test", { reply: "220 2.0.0 Go ahead", after: "rubbish" }],
  ["refusing.test", "454 4.7.0 TLS not available"],
  ["dropping.test", { reply: "220 2.0.0 Go ahead", after: "close" }],
] as const) {
  test(`STARTTLS fails (${domain}): sent in plain text on a new connection, in the same attempt`, async () => {
    testbed.sink.script = ({ verb }) => (verb === "starttls" ? action : undefined);
    const id = await accepted(testbed, { to: [`a@${domain}`] });
    const events = await untilEvent(testbed, id, "email.delivered");
    assert.deepEqual(
      events.map(({ type, payload }) => [type, payload.attempts, payload.possibleDuplicate, payload.tls]),
      [["email.delivered", 1, false, undefined]],
    );
    assert.equal(testbed.sink.received(`a@${domain}`)[0]!.secure, false);
  });
}

test("an email that requires TLS is never sent in plain text: it is deferred until TLS works again", async () => {
  testbed.dns.set("strict.test", "MX", "10 mx.example.test");
  testbed.sink.script = ({ verb }) => (verb === "starttls" ? "454 4.7.0 TLS not available" : undefined);
  testbed.sink.hangUp();
  const id = await accepted(testbed, { to: ["a@strict.test"], requireTls: true });
  const [delayed] = await untilEvent(testbed, id, "email.delayed");
  assert.equal(delayed!.payload.category, "tls");
  assert.equal(testbed.sink.deliveries.filter(({ recipients }) => recipients.includes("a@strict.test")).length, 0);
  testbed.sink.script = () => undefined;
  assert.equal((await untilFinished(testbed, id)).status, "EMAIL_STATUS_SENT");
  assert.equal(testbed.sink.received("a@strict.test")[0]!.secure, true);
});

test("a server without STARTTLS gets mail in plain text, except emails that require TLS", async () => {
  const plain = await startSink({ host: "127.0.0.7", port: testbed.sink.port });
  try {
    testbed.dns.set("plain.test", "MX", "10 mx.plain.test");
    testbed.dns.set("mx.plain.test", "A", "127.0.0.7");
    const [open, strict] = await Promise.all([
      accepted(testbed, { to: ["open@plain.test"] }),
      accepted(testbed, { to: ["strict@plain.test"], requireTls: true }),
    ]);
    await untilEvent(testbed, open!, "email.delivered");
    const [delayed] = await untilEvent(testbed, strict!, "email.delayed");
    assert.equal(delayed!.payload.category, "tls");
    assert.equal(plain.received("open@plain.test").length, 1);
    assert.equal(plain.received("strict@plain.test").length, 0);
    await testbed.call("EmailService/CancelEmail", { id: strict });
  } finally {
    await plain.close();
  }
});
