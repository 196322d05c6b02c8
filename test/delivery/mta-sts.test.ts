import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import https from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { makeSelfSigned } from "../../src/smtp/server/certificate.ts";
import { accepted, untilEvent } from "../harness/sending.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";

/** Domains named after what is right or wrong with them. Every mail server presents the certificate of mx.right.test. */
const domains = ["right.test", "wrong.test", "testing.test", "stranger.test", "broken.test", "inward.test"];
const policies = new Map<string, string>();
const fetched: string[] = [];
let testbed: Testbed;
let server: https.Server;

before(async () => {
  const now = Date.now();
  const mail = makeSelfSigned("mx.right.test", now);
  const hosts = new Map(domains.map((domain) => [`mta-sts.${domain}`, makeSelfSigned(`mta-sts.${domain}`, now)]));
  const trusted = join(tmpdir(), `posthorn-mta-sts-${process.pid}.pem`);
  await writeFile(trusted, [mail.cert, ...[...hosts.values()].map(({ cert }) => cert)].join("\n"));
  const { createSecureContext } = await import("node:tls");
  server = https.createServer(
    { SNICallback: (name, done) => done(null, createSecureContext(hosts.get(name) ?? mail)) },
    (request, response) => {
      const host = String(request.headers.host).split(":")[0]!;
      fetched.push(`${host}${request.url}`);
      const policy = policies.get(host.replace("mta-sts.", ""));
      response.writeHead(policy === undefined ? 404 : 200, { "content-type": "text/plain" }).end(policy ?? "");
    },
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  testbed = await startTestbed({
    domains,
    sink: { tls: mail },
    env: {
      NODE_EXTRA_CA_CERTS: trusted,
      POSTHORN_MTA_STS_PORT: String((server.address() as AddressInfo).port),
      POSTHORN_RETRY_SCHEDULE_MS: "60000",
    },
  });
  for (const domain of domains) {
    testbed.dns.set(`mta-sts.${domain}`, "A", "127.0.0.1");
    testbed.dns.setText(`_mta-sts.${domain}`, "v=STSv1; id=20260101;");
    const mode = domain === "testing.test" ? "testing" : "enforce";
    const mx = domain === "stranger.test" ? "mx.elsewhere.test" : `mx.${domain}`;
    policies.set(domain, `version: STSv1\nmode: ${mode}\nmx: ${mx}\nmax_age: 86400\n`);
  }
  policies.delete("broken.test");
  testbed.dns.set("mta-sts.inward.test", "A", "10.0.0.1");
});
after(async () => {
  await testbed?.stop();
  server?.close();
});

test("enforce with a valid certificate: delivered, and reported as verified", async () => {
  const id = await accepted(testbed, { to: ["a@right.test"], async: true });
  const [event] = await untilEvent(testbed, id, "email.delivered");
  const tls = event!.payload.tls as Record<string, unknown>;
  assert.deepEqual([tls.verified, tls.mtaSts], [true, "enforce"]);
});

test("enforce with a certificate for another name: deferred with the reason, and nothing is sent", async () => {
  const id = await accepted(testbed, { to: ["a@wrong.test"], async: true });
  const [event] = await untilEvent(testbed, id, "email.delayed");
  assert.equal(event!.payload.category, "tls");
  assert.match(event!.payload.smtpReply as string, /certificate is not valid for mx\.wrong\.test/);
  assert.equal(testbed.sink.deliveries.length, 1, "only the delivery to right.test");
});

test("testing with a certificate for another name: delivered, and reported as not verified", async () => {
  const id = await accepted(testbed, { to: ["a@testing.test"], async: true });
  const [event] = await untilEvent(testbed, id, "email.delivered");
  const tls = event!.payload.tls as Record<string, unknown>;
  assert.deepEqual([tls.verified, tls.mtaSts], [false, "testing"]);
});

test("a mail server that the policy does not list gets no mail", async () => {
  const id = await accepted(testbed, { to: ["a@stranger.test"], async: true });
  const [event] = await untilEvent(testbed, id, "email.delayed");
  assert.match(event!.payload.smtpReply as string, /MTA-STS policy of stranger\.test allows none/);
});

test("a policy that cannot be fetched or is at a private address does not stop mail", async () => {
  for (const domain of ["broken.test", "inward.test"]) {
    const id = await accepted(testbed, { to: [`a@${domain}`], async: true });
    const [event] = await untilEvent(testbed, id, "email.delivered");
    assert.equal((event!.payload.tls as Record<string, unknown>).mtaSts, "");
  }
  assert.ok(!fetched.some((path) => path.includes("inward")), "a policy host at a private address gets no request");
});

test("a policy is fetched once, and stays in force while its host is down or its record is missing", async () => {
  const before = fetched.length;
  policies.delete("right.test");
  testbed.dns.remove("_mta-sts.right.test");
  const node = await testbed.startNode();
  const id = await accepted(testbed, { to: ["b@right.test"], async: true });
  const [event] = await untilEvent(testbed, id, "email.delivered");
  assert.equal((event!.payload.tls as Record<string, unknown>).mtaSts, "enforce");
  assert.deepEqual(fetched.slice(before), []);
  assert.deepEqual(
    [...new Set(fetched)].sort(),
    ["broken", "right", "stranger", "testing", "wrong"].map((name) => `mta-sts.${name}.test/.well-known/mta-sts.txt`),
  );
  assert.ok(node.pid > 0);
});
