import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { fileURLToPath } from "node:url";
import { accepted, untilFinished, untilTold } from "../harness/sending.ts";
import { startSink, testCertificate } from "../harness/sink.ts";
import { mailDomain, startWorld, type World } from "../harness/world.ts";

let world: World;
before(async () => {
  world = await startWorld({
    sink: { tls: testCertificate() },
    // The test's own authority, as an operator would add a company's.
    env: { NODE_EXTRA_CA_CERTS: fileURLToPath(new URL("../fixtures/tls/ca.pem", import.meta.url)) },
  });
  // One receiver whose certificate proves its name, and others for each way in which STARTTLS breaks: a failure is remembered.
  world.dns.set("proven.test", "MX", "10 mx.example.test");
  world.dns.set("mx.example.test", "A", "127.0.0.1");
  for (const domain of ["rubbish.test", "refusing.test", "dropping.test", "strict.test"]) mailDomain(world.dns, domain);
});
beforeEach(() => {
  world.sink.script = () => undefined;
});
after(async () => await world.stop());

const tlsOf = (payload: Record<string, unknown>) => payload.tls as Record<string, unknown> | undefined;

test("STARTTLS that is offered is used, whatever the certificate says", async () => {
  const id = await accepted(world, { to: ["a@there.test"] });
  const [delivered] = await untilTold(world, id, "email.delivered");
  assert.match(tlsOf(delivered!.payload)!.protocol as string, /^TLSv1\.[23]$/);
  assert.equal(tlsOf(delivered!.payload)!.verified, false, "mx.there.test is not in the certificate");
  const [copy] = world.sink.received("a@there.test");
  assert.equal(copy!.secure, true);
  const inClear = world.sink.commands.filter(({ secure }) => !secure).map(({ line }) => line.split(" ")[0]);
  assert.deepEqual([...new Set(inClear)], ["EHLO", "STARTTLS"], "nothing else was said in clear");
});

test("a certificate that proves the host's name is told as verified", async () => {
  const id = await accepted(world, { to: ["a@proven.test"], requireTls: true });
  const [delivered] = await untilTold(world, id, "email.delivered");
  assert.equal(tlsOf(delivered!.payload)!.verified, true);
});

for (const [domain, action] of [
  ["rubbish.test", { reply: "220 2.0.0 Go ahead", after: "rubbish" }],
  ["refusing.test", "454 4.7.0 TLS not available"],
  ["dropping.test", { reply: "220 2.0.0 Go ahead", after: "close" }],
] as const) {
  test(`a STARTTLS that breaks (${domain}): sent in clear at once on a new connection`, async () => {
    world.sink.script = ({ verb }) => (verb === "starttls" ? action : undefined);
    const id = await accepted(world, { to: [`a@${domain}`] });
    const told = await untilTold(world, id, "email.delivered");
    assert.deepEqual(
      told.map(({ type, payload }) => [type, payload.attempts, payload.possibleDuplicate, payload.tls]),
      [["email.delivered", 1, false, undefined]],
    );
    assert.equal(world.sink.received(`a@${domain}`)[0]!.secure, false);
  });
}

test("an email that requires TLS never goes in clear: it waits, and goes when TLS works again", async () => {
  world.dns.set("strict.test", "MX", "10 mx.example.test");
  world.sink.script = ({ verb }) => (verb === "starttls" ? "454 4.7.0 TLS not available" : undefined);
  world.sink.hangUp();
  const id = await accepted(world, { to: ["a@strict.test"], requireTls: true });
  const [delayed] = await untilTold(world, id, "email.delayed");
  assert.equal(delayed!.payload.category, "tls");
  assert.equal(world.sink.deliveries.filter(({ recipients }) => recipients.includes("a@strict.test")).length, 0);
  world.sink.script = () => undefined;
  assert.equal((await untilFinished(world, id)).status, "EMAIL_STATUS_SENT");
  assert.equal(world.sink.received("a@strict.test")[0]!.secure, true);
});

test("a server without STARTTLS is spoken to in clear, but not with an email that requires TLS", async () => {
  const plain = await startSink({ host: "127.0.0.7", port: world.sink.port });
  try {
    world.dns.set("plain.test", "MX", "10 mx.plain.test");
    world.dns.set("mx.plain.test", "A", "127.0.0.7");
    const [open, strict] = await Promise.all([
      accepted(world, { to: ["open@plain.test"] }),
      accepted(world, { to: ["strict@plain.test"], requireTls: true }),
    ]);
    await untilTold(world, open!, "email.delivered");
    const [delayed] = await untilTold(world, strict!, "email.delayed");
    assert.equal(delayed!.payload.category, "tls");
    assert.equal(plain.received("open@plain.test").length, 1);
    assert.equal(plain.received("strict@plain.test").length, 0);
    await world.call("EmailService/CancelEmail", { id: strict });
  } finally {
    await plain.close();
  }
});
