import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import https from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { createSecureContext } from "node:tls";
import { makeSelfSigned } from "../../src/smtp/server/certificate.ts";
import { tlsaOf } from "../harness/dane.ts";
import { type ScriptedDns, startScriptedDns } from "../harness/dns.ts";
import { accepted, untilEvent } from "../harness/sending.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";

/** DANE next to MTA-STS, and the reuse of connections. The mail server presents a trusted certificate for mx.right.test. */
let validating: ScriptedDns;
let testbed: Testbed;
let server: https.Server;
const [mail, successor, other] = Array.from({ length: 3 }, () => makeSelfSigned("mx.right.test", Date.now()));
const domains = ["mismatch.test", "unlisted.test", "unusable.test", "homeless.test"];

before(async () => {
  const hosts = new Map(domains.map((name) => [`mta-sts.${name}`, makeSelfSigned(`mta-sts.${name}`, Date.now())]));
  const trusted = join(tmpdir(), `posthorn-dane-${process.pid}.pem`);
  await writeFile(trusted, [mail!.cert, ...[...hosts.values()].map(({ cert }) => cert)].join("\n"));
  server = https.createServer(
    { SNICallback: (name, done) => done(null, createSecureContext(hosts.get(name) ?? mail)) },
    (request, response) => {
      const domain = String(request.headers.host).split(":")[0]!.replace("mta-sts.", "");
      const mx = domain === "mismatch.test" ? "mx.right.test" : "mx.elsewhere.test";
      response
        .writeHead(200, { "content-type": "text/plain" })
        .end(`version: STSv1\nmode: enforce\nmx: ${mx}\nmax_age: 86400\n`);
    },
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  validating = await startScriptedDns();
  validating.edns = true;
  testbed = await startTestbed({
    sink: { tls: mail },
    env: {
      NODE_EXTRA_CA_CERTS: trusted,
      POSTHORN_DANE_RESOLVER: `${validating.host}:${validating.port}`,
      POSTHORN_MTA_STS_PORT: String((server.address() as AddressInfo).port),
      POSTHORN_RETRY_SCHEDULE_MS: "600000",
    },
  });
  for (const domain of domains) {
    testbed.dns.set(`mta-sts.${domain}`, "A", "127.0.0.1");
    testbed.dns.setText(`_mta-sts.${domain}`, "v=STSv1; id=20260101;");
  }
});
after(async () => {
  await testbed?.stop();
  await validating?.stop();
  server?.close();
});

function receiver(domain: string, { host = `mx.${domain}`, tlsa }: { host?: string; tlsa: readonly string[] }): string {
  validating.sign(domain);
  validating.sign(host);
  validating.set(domain, "MX", `10 ${host}`);
  for (const dns of [validating, testbed.dns]) dns.set(host, "A", "127.0.0.1");
  if (tlsa.length > 0) validating.set(`_25._tcp.${host}`, "TLSA", ...tlsa);
  return `a@${domain}`;
}

async function outcome(to: string, type: "email.delivered" | "email.delayed") {
  const id = await accepted(testbed, { to: [to], async: true });
  const events = await untilEvent(testbed, id, type);
  assert.equal(events[0]!.type, type, JSON.stringify(events[0]));
  return events[0]!.payload;
}

test("a DANE match comes before the MTA-STS policy: neither its hosts nor its certificates matter", async () => {
  const { tls } = await outcome(receiver("unlisted.test", { tlsa: [tlsaOf(mail!.cert, "3 1 1")] }), "email.delivered");
  const { dane, mtaSts } = tls as Record<string, unknown>;
  assert.deepEqual([dane, mtaSts], ["match", "enforce"]);
});

test("a host with a certificate that MTA-STS accepts, but DANE does not, gets no mail", async () => {
  const to = receiver("mismatch.test", { host: "mx.right.test", tlsa: [tlsaOf(other!.cert, "3 1 1")] });
  assert.equal((await outcome(to, "email.delayed")).category, "dane");
  assert.equal(testbed.sink.received(to).length, 0);
});

test("unusable TLSA records leave the MTA-STS policy in force", async () => {
  const to = receiver("unusable.test", { tlsa: [tlsaOf(mail!.cert, "1 1 1")] });
  const { category, smtpReply } = await outcome(to, "email.delayed");
  assert.equal(category, "tls");
  assert.match(String(smtpReply), /MTA-STS policy of unusable\.test allows none/);
});

test("a host that MTA-STS does not list stays unlisted if it has no address: the mail waits instead of bouncing", async () => {
  const to = receiver("homeless.test", { tlsa: [tlsaOf(mail!.cert, "3 1 1")] });
  validating.remove("mx.homeless.test", "A");
  const { category, smtpReply } = await outcome(to, "email.delayed");
  assert.equal(category, "tls");
  assert.match(String(smtpReply), /MTA-STS policy of homeless\.test allows none/);
});

test("a rollover with both records, and one whose cached records are out of date", async () => {
  const old = tlsaOf(mail!.cert, "3 1 1");
  const to = receiver("rollover.test", { tlsa: [old] });
  await outcome(to, "email.delivered");
  const asked = () => validating.queries.filter(({ name }) => name === "_25._tcp.mx.rollover.test").length;
  assert.equal(asked(), 1);
  const sink = testbed.sink as { secureContext: unknown };
  const before = sink.secureContext;
  sink.secureContext = createSecureContext(successor!);
  testbed.sink.hangUp();
  try {
    validating.set("_25._tcp.mx.rollover.test", "TLSA", old, tlsaOf(successor!.cert, "3 1 1"));
    const { tls, attempts } = await outcome(`b${to}`, "email.delivered");
    assert.deepEqual([(tls as Record<string, unknown>).dane, attempts], ["match", 1]);
    assert.equal(asked(), 2, "asked again because the cached record did not match");
    await outcome(`c${to}`, "email.delivered");
    assert.equal(asked(), 2, "the new records are cached");
    // The receiver withdraws its records while they are cached.
    const withdrawn = receiver("withdrawn.test", { tlsa: [tlsaOf(successor!.cert, "3 1 1")] });
    await outcome(withdrawn, "email.delivered");
    sink.secureContext = before;
    testbed.sink.hangUp();
    validating.remove("_25._tcp.mx.withdrawn.test");
    const after = await outcome(`b${withdrawn}`, "email.delivered");
    assert.equal((after.tls as Record<string, unknown>).dane, "");
  } finally {
    sink.secureContext = before;
    testbed.sink.hangUp();
  }
});

test("connections are shared only under the same records", async () => {
  const right = tlsaOf(mail!.cert, "3 1 1");
  const host = "mx.shared.test";
  const connectionOf = async (to: string) => {
    await outcome(to, "email.delivered");
    return testbed.sink.received(to)[0]!.connection;
  };
  // A domain with an unsigned MX record, at the same host.
  receiver("unsigned.test", { host, tlsa: [right] });
  validating.sign("unsigned.test", false);
  const opportunistic = await connectionOf("a@unsigned.test");
  const first = await connectionOf(receiver("one.test", { host, tlsa: [right] }));
  assert.notEqual(first, opportunistic, "not over the connection without DANE");
  const second = await connectionOf(receiver("two.test", { host, tlsa: [right] }));
  assert.equal(second, first, "two domains at one host share its connection");
  assert.equal(await connectionOf("b@unsigned.test"), opportunistic);
  // The same address under another name, whose records do not match.
  const mismatch = receiver("three.test", { tlsa: [tlsaOf(other!.cert, "3 1 1")] });
  assert.equal((await outcome(mismatch, "email.delayed")).category, "dane");
});
