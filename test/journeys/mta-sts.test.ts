import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import https from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { makeSelfSigned } from "../../src/smtp/self-signed.ts";
import { accepted, untilTold } from "../harness/sending.ts";
import { startWorld, type World } from "../harness/world.ts";

/** Domains by what is right or wrong with them; every mail server shows the certificate of mx.right.test. */
const domains = ["right.test", "wrong.test", "testing.test", "stranger.test", "broken.test", "inward.test"];
const policies = new Map<string, string>();
const asked: string[] = [];
let world: World;
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
      asked.push(`${host}${request.url}`);
      const policy = policies.get(host.replace("mta-sts.", ""));
      response.writeHead(policy === undefined ? 404 : 200, { "content-type": "text/plain" }).end(policy ?? "");
    },
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  world = await startWorld({
    domains,
    sink: { tls: mail },
    env: {
      NODE_EXTRA_CA_CERTS: trusted,
      POSTHORN_MTA_STS_PORT: String((server.address() as AddressInfo).port),
      POSTHORN_RETRY_SCHEDULE_MS: "60000",
    },
  });
  for (const domain of domains) {
    world.dns.set(`mta-sts.${domain}`, "A", "127.0.0.1");
    world.dns.setText(`_mta-sts.${domain}`, "v=STSv1; id=20260101;");
    const mode = domain === "testing.test" ? "testing" : "enforce";
    const mx = domain === "stranger.test" ? "mx.elsewhere.test" : `mx.${domain}`;
    policies.set(domain, `version: STSv1\nmode: ${mode}\nmx: ${mx}\nmax_age: 86400\n`);
  }
  policies.delete("broken.test");
  world.dns.set("mta-sts.inward.test", "A", "10.0.0.1");
});
after(async () => {
  await world?.stop();
  server?.close();
});

test("enforce with the right certificate: delivered, verified, and told so", async () => {
  const id = await accepted(world, { to: ["a@right.test"], async: true });
  const [told] = await untilTold(world, id, "email.delivered");
  const tls = told!.payload.tls as Record<string, unknown>;
  assert.deepEqual([tls.verified, tls.mtaSts], [true, "enforce"]);
});

test("enforce with a wrong certificate: deferred, nothing is sent, and the reason says so", async () => {
  const id = await accepted(world, { to: ["a@wrong.test"], async: true });
  const [told] = await untilTold(world, id, "email.delayed");
  assert.equal(told!.payload.category, "tls");
  assert.match(told!.payload.smtpReply as string, /certificate does not prove mx\.wrong\.test/);
  assert.equal(world.sink.deliveries.length, 1, "the one to right.test");
});

test("testing with a wrong certificate: delivered, and told that it was not verified", async () => {
  const id = await accepted(world, { to: ["a@testing.test"], async: true });
  const [told] = await untilTold(world, id, "email.delivered");
  const tls = told!.payload.tls as Record<string, unknown>;
  assert.deepEqual([tls.verified, tls.mtaSts], [false, "testing"]);
});

test("a mail server that the policy does not name gets nothing", async () => {
  const id = await accepted(world, { to: ["a@stranger.test"], async: true });
  const [told] = await untilTold(world, id, "email.delayed");
  assert.match(told!.payload.smtpReply as string, /MTA-STS policy of stranger\.test allows none/);
});

test("a policy that cannot be fetched, or is at a private address, stops no mail", async () => {
  for (const domain of ["broken.test", "inward.test"]) {
    const id = await accepted(world, { to: [`a@${domain}`], async: true });
    const [told] = await untilTold(world, id, "email.delivered");
    assert.equal((told!.payload.tls as Record<string, unknown>).mtaSts, "");
  }
  assert.ok(!asked.some((path) => path.includes("inward")), "a private address is never asked");
});

test("a policy is fetched once, and holds while its host is away or its record is gone", async () => {
  const before = asked.length;
  policies.delete("right.test");
  world.dns.remove("_mta-sts.right.test");
  const node = await world.startNode();
  const id = await accepted(world, { to: ["b@right.test"], async: true });
  const [told] = await untilTold(world, id, "email.delivered");
  assert.equal((told!.payload.tls as Record<string, unknown>).mtaSts, "enforce");
  assert.deepEqual(asked.slice(before), []);
  assert.deepEqual(
    [...new Set(asked)].sort(),
    ["broken", "right", "stranger", "testing", "wrong"].map((name) => `mta-sts.${name}.test/.well-known/mta-sts.txt`),
  );
  assert.ok(node.pid > 0);
});
