import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { SMTPServer } from "smtp-server";
import { accepted, getEmail, untilEvent } from "../harness/sending.ts";
import { testCertificate } from "../harness/sink.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";

type RelayedMessage = { user: unknown; secure: boolean; to: string[]; raw: string };

/** A smart host that shares no code with ours. It requires STARTTLS and AUTH. */
const relayed: RelayedMessage[] = [];
const logins: { method: string; secure: boolean }[] = [];
let password = "pass:word/1";
const { key, cert } = testCertificate();
const relay = new SMTPServer({
  key,
  cert,
  authOptional: false,
  onAuth({ method, username, password: given }, session, done) {
    logins.push({ method, secure: session.secure });
    if (username === "post horn" && given === password) return done(null, { user: username });
    return done(Object.assign(new Error("5.7.8 Wrong name or password"), { responseCode: 535 }));
  },
  onRcptTo({ address }, _session, done) {
    if (address.startsWith("gone@")) return done(Object.assign(new Error("5.1.1 No such user"), { responseCode: 550 }));
    return done();
  },
  onData(stream, session, done) {
    const chunks: Buffer[] = [];
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.on("end", () => {
      const to = session.envelope.rcptTo.map(({ address }) => address);
      relayed.push({ user: session.user, secure: session.secure, to, raw: Buffer.concat(chunks).toString("latin1") });
      done(null, "2.0.0 queued as relay-1");
    });
  },
});

// A node that stops may reset its connections.
relay.on("error", () => {});

let testbed: Testbed;
before(async () => {
  await new Promise<void>((resolve) => relay.listen(0, "127.0.0.1", () => resolve()));
  const { port } = relay.server.address() as { port: number };
  testbed = await startTestbed({
    env: {
      POSTHORN_DELIVERY: "relay",
      POSTHORN_RELAY_URL: `smtp://post%20horn:${encodeURIComponent(password)}@localhost:${port}?tls=verified`,
      NODE_EXTRA_CA_CERTS: fileURLToPath(new URL("../fixtures/tls/ca.pem", import.meta.url)),
    },
  });
});
after(async () => {
  await testbed?.stop();
  await new Promise<void>((resolve) => relay.close(() => resolve()));
});

test("the relay gets mail over TLS after AUTH, and the email is reported as sent, not as delivered", async () => {
  const id = await accepted(testbed, { to: ["a@far.test", "b@away.test"], bcc: ["c@far.test"] });
  const events = await untilEvent(testbed, id, "email.sent");
  assert.deepEqual(events.map(({ type, payload }) => `${type} ${payload.recipients}`).sort(), [
    "email.sent a@far.test",
    "email.sent b@away.test",
    "email.sent c@far.test",
  ]);
  const { remoteMx, smtpReply, tls, possibleDuplicate } = events[0]!.payload;
  assert.deepEqual([remoteMx, possibleDuplicate], ["localhost", false]);
  assert.match(smtpReply as string, /^250 2\.0\.0 queued as relay-1/);
  assert.equal((tls as Record<string, unknown>).verified, true);
  assert.deepEqual(relayed.map(({ to }) => to.sort().join()).sort(), ["a@far.test", "b@away.test", "c@far.test"]);
  for (const { user, secure, raw } of relayed) {
    assert.deepEqual([user, secure], ["post horn", true]);
    assert.match(raw, /^X-Posthorn-Copy: cp-[a-z2-7]{55}\r\nDKIM-Signature: /);
  }
  assert.ok(logins.every(({ secure }) => secure));
  const email = await getEmail(testbed, id);
  assert.equal(email.status, "EMAIL_STATUS_SENT");
  assert.equal(email.recipients[0]!.status, "RECIPIENT_STATUS_SENT");
  assert.equal(
    testbed.dns.queries.filter(({ type }) => type === "MX").length,
    0,
    "mail through a relay needs no MX lookup",
  );
});

test("a recipient that the relay rejects bounces", async () => {
  const { body } = await testbed.send({ to: ["gone@far.test"] });
  assert.equal(body.status, "EMAIL_STATUS_FAILED");
  const [bounced] = await untilEvent(testbed, body.id as string, "email.bounced");
  assert.equal(bounced!.payload.category, "unknown_mailbox");
});

test("if the relay rejects the login, mail is deferred, and sent once the login works", async () => {
  const right = password;
  password = "another one";
  const node = await testbed.startNode();
  await testbed.program.stop();
  const id = await accepted(testbed, { to: ["later@far.test"] });
  const [delayed] = await untilEvent(testbed, id, "email.delayed");
  assert.match(delayed!.payload.smtpReply as string, /^535 5\.7\.8/);
  assert.equal(node.output().includes(right), false, "the password is never logged");
  password = right;
  const events = await untilEvent(testbed, id, "email.sent");
  assert.equal(events.at(-1)!.payload.possibleDuplicate, false);
});
