import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { makeSelfSigned } from "../../src/smtp/server/certificate.ts";
import { type Authority, createCertificateAuthority } from "../harness/authority.ts";
import { type Bind, startBind } from "../harness/bind.ts";
import { tlsaOf } from "../harness/dane.ts";
import { startScriptedDns } from "../harness/dns.ts";
import { needs } from "../harness/foreign.ts";
import { freePort } from "../harness/free-port.ts";
import { type Postfix, startPostfix, withoutPostfix } from "../harness/postfix.ts";
import { runCommand } from "../harness/program.ts";
import { accepted, untilEvent } from "../harness/sending.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";
import { startUnbound, type Unbound } from "../harness/unbound.ts";

/** DANE with foreign programs: BIND signs the zones, Unbound validates them, Postfix receives. */
const skip = needs("named", "nsupdate", "dig", "unbound", "unbound-control", "openssl") || withoutPostfix;

const domains = ["ee.signed.test", "ta.signed.test", "late.signed.test", "plain.test"];
let bind: Bind;
let unbound: Unbound;
let authority: Authority;
let testbed: Testbed;
let directory: string;
const servers = new Map<string, Postfix>();
/** Expired, and for another name. */
const own = makeSelfSigned("elsewhere.test", Date.now() - 5000 * 86_400_000);
const other = makeSelfSigned("elsewhere.test", Date.now());

before(async () => {
  if (skip) return;
  directory = await mkdtemp(join(tmpdir(), "posthorn-dane-"));
  // Postfix reads a key and its certificate from one file.
  const ownFile = join(directory, "own.pem");
  await writeFile(ownFile, own.key + own.cert);
  authority = await createCertificateAuthority();
  const issued = await authority.issue("mx.ta.signed.test");
  const late = await authority.issue("mx.late.signed.test", { expired: true });
  const port = await freePort();
  for (const [address, hostname, certFile, keyFile] of [
    ["127.0.0.1", "mx.ee.signed.test", ownFile, ownFile],
    ["127.0.0.2", "mx.ta.signed.test", issued.certFile, issued.keyFile],
    ["127.0.0.3", "mx.late.signed.test", late.certFile, late.keyFile],
  ] as const) {
    const settings = {
      smtpd_tls_security_level: "may",
      smtpd_tls_cert_file: certFile,
      smtpd_tls_key_file: keyFile,
      smtpd_tls_loglevel: "1",
    };
    const routes = Object.fromEntries(
      [...domains, "next.signed.test", "rollover.signed.test", "bogus.signed.test", "none.signed.test"].map(
        (domain) => [domain, "discard" as const],
      ),
    );
    servers.set(address, await startPostfix({ hostname, routes, address, port, settings }));
  }
  bind = await startBind({
    zones: ["signed.test", "forged.test", "plain.test"],
    signed: ["signed.test", "forged.test"],
  });
  // Unbound expects the keys of signed.test in forged.test, so that every signature there is invalid.
  const anchor = await bind.trustAnchor("signed.test");
  await bind.trustAnchor("forged.test");
  unbound = await startUnbound({
    zones: { "signed.test": bind.port, "forged.test": bind.port, "plain.test": bind.port },
    trustAnchors: [anchor, anchor.replace("signed.test", "forged.test")],
  });
  await bind.add(
    { name: "forged.test", type: "A", value: "127.0.0.1" },
    { name: "tlsa.forged.test", type: "TLSA", value: tlsaOf(own.cert, "3 1 1") },
  );
  testbed = await startTestbed({
    env: {
      POSTHORN_DANE_RESOLVER: `${unbound.host}:${unbound.port}`,
      POSTHORN_MX_PORT: String(port),
      POSTHORN_RETRY_SCHEDULE_MS: "600000",
    },
  });
});
after(async () => {
  await testbed?.stop();
  await unbound?.stop();
  await bind?.stop();
  for (const server of servers.values()) await server.stop();
  await authority?.remove();
  if (directory) await rm(directory, { recursive: true, force: true });
});

async function receiver(domain: string, at: string, ...tlsa: string[]): Promise<string> {
  const host = `mx.${domain}`;
  await bind.add(
    { name: domain, type: "MX", value: host },
    { name: host, type: "A", value: at },
    ...tlsa.map((value) => ({ name: `_25._tcp.${host}`, type: "TLSA", value })),
  );
  testbed.dns.set(host, "A", at);
  // Earlier tests may have looked for the names.
  await unbound.flush(domain);
  return `a@${domain}`;
}

async function outcome(to: string, type: "email.delivered" | "email.delayed") {
  const id = await accepted(testbed, { to: [to], async: true });
  const [event] = await untilEvent(testbed, id, type);
  assert.equal(event!.type, type, JSON.stringify(event));
  return event!.payload;
}

const tlsOf = (payload: Record<string, unknown>) => payload.tls as Record<string, unknown>;

test("usage 3: Postfix with an expired certificate for another name", { skip }, async () => {
  const to = await receiver("ee.signed.test", "127.0.0.1", tlsaOf(own.cert, "3 1 1"));
  const { dane, verified } = tlsOf(await outcome(to, "email.delivered"));
  assert.deepEqual([dane, verified], ["match", false]);
  assert.match(servers.get("127.0.0.1")!.output(), /TLS connection established/);
});

test("usage 2: an intermediate authority and a root, with dates and names checked", { skip }, async () => {
  const to = await receiver("ta.signed.test", "127.0.0.2", tlsaOf(authority.intermediate, "2 1 1"));
  assert.equal(tlsOf(await outcome(to, "email.delivered")).dane, "ta-match");
  const late = await receiver("late.signed.test", "127.0.0.3", tlsaOf(authority.root, "2 0 1"));
  const { category, smtpReply } = await outcome(late, "email.delayed");
  assert.equal(category, "dane");
  assert.match(String(smtpReply), /CERT_HAS_EXPIRED/);
});

test("a lookup that Unbound refuses as forged leads to the next MX host, or delays the mail", { skip }, async () => {
  const alone = await receiver("bogus.signed.test", "127.0.0.1");
  await bind.add({ name: "_25._tcp.mx.bogus.signed.test", type: "CNAME", value: "tlsa.forged.test" });
  const { category, smtpReply } = await outcome(alone, "email.delayed");
  assert.equal(category, "dane");
  assert.match(String(smtpReply), /_25\._tcp\.mx\.bogus\.signed\.test failed \(SERVFAIL\)/);
  await bind.add(
    { name: "next.signed.test", type: "MX", value: "mx.bogus.signed.test", priority: 10 },
    { name: "next.signed.test", type: "MX", value: "mx.ee.signed.test", priority: 20 },
  );
  const { remoteMx, tls } = await outcome("a@next.signed.test", "email.delivered");
  assert.deepEqual([remoteMx, (tls as Record<string, unknown>).dane], ["mx.ee.signed.test", "match"]);
});

test("without secure TLSA records delivery is opportunistic", { skip }, async () => {
  const none = await receiver("none.signed.test", "127.0.0.1");
  assert.equal(tlsOf(await outcome(none, "email.delivered")).dane, "");
  const plain = await receiver("plain.test", "127.0.0.1", tlsaOf(other.cert, "3 1 1"));
  assert.equal(tlsOf(await outcome(plain, "email.delivered")).dane, "");
});

test("a rollover: Posthorn looks up a record that was added after it cached the old one", { skip }, async () => {
  const to = await receiver("rollover.signed.test", "127.0.0.1", tlsaOf(other.cert, "3 1 1"));
  assert.equal((await outcome(to, "email.delayed")).category, "dane");
  await bind.add({ name: "_25._tcp.mx.rollover.signed.test", type: "TLSA", value: tlsaOf(own.cert, "3 1 1") });
  await unbound.flush("rollover.signed.test");
  assert.equal(tlsOf(await outcome(`b${to}`, "email.delivered")).dane, "match");
});

test("doctor proves that the resolver validates, and recognizes one that does not", { skip }, async () => {
  const forwarder = await startScriptedDns();
  const lenient = await startScriptedDns();
  lenient.edns = true;
  for (const dns of [forwarder, lenient]) dns.set("signed.test", "A", "127.0.0.1");
  try {
    const resolvers = [unbound, forwarder, lenient, { host: "127.0.0.1", port: 9 }];
    const { stdout } = await runCommand(
      ["doctor", "--json", "--dnssec-signed", "signed.test", "--dnssec-bogus", "forged.test", "--probe", "there.test"],
      {
        databaseUrl: testbed.database.url,
        dataDir: testbed.program.dataDir,
        env: {
          ...testbed.nodeEnv,
          POSTHORN_DANE_RESOLVER: resolvers.map(({ host, port }) => `${host}:${port}`).join(","),
        },
      },
    );
    const found = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, string>)
      .filter(({ check }) => check === "DANE");
    assert.deepEqual(
      found.map(({ result }) => result),
      ["ok", "fail", "fail", "fail"],
      stdout,
    );
    for (const [index, text] of [
      [0, /validates: signed\.test is secure, forged\.test is refused/],
      [1, /does not support EDNS/],
      [2, /does not validate/],
      [3, /does not answer/],
    ] as const)
      assert.match(found[index]!.found!, text);
  } finally {
    await forwarder.stop();
    await lenient.stop();
  }
});
