import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { makeSelfSigned } from "../../src/smtp/server/certificate.ts";
import { tlsaOf } from "../harness/dane.ts";
import { type ScriptedDns, startScriptedDns } from "../harness/dns.ts";
import { accepted, untilEvent } from "../harness/sending.ts";
import { type Sink, startSink, testCertificate } from "../harness/sink.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";

/** Names below signed.test are signed, names below plain.test are not. */
let validating: ScriptedDns;
let testbed: Testbed;
let issued: Sink;
let plaintext: Sink;
const day = 86_400_000;
/** Valid for ten years from then on, so it has expired; and for a name that no test uses. */
const expired = makeSelfSigned("elsewhere.test", Date.now() - 5000 * day);
const other = makeSelfSigned("elsewhere.test", Date.now());
/** Issued for mx.example.test by an authority, which the server presents too. */
const issuedPair = testCertificate();
const [own, issuedAt, plaintextAt] = ["127.0.0.1", "127.0.0.3", "127.0.0.4"];

before(async () => {
  validating = await startScriptedDns();
  validating.edns = true;
  validating.sign("signed.test");
  validating.zone("test", 300);
  testbed = await startTestbed({
    sink: { tls: expired },
    env: {
      POSTHORN_DANE_RESOLVER: `${validating.host}:${validating.port}`,
      POSTHORN_RETRY_SCHEDULE_MS: "600000",
    },
  });
  const { port } = testbed.sink;
  issued = await startSink({ host: issuedAt, port, tls: { ...issuedPair, cert: issuedPair.cert + issuedPair.ca } });
  plaintext = await startSink({ host: plaintextAt, port });
});
after(async () => {
  await issued?.close();
  await plaintext?.close();
  await testbed?.stop();
  await validating?.stop();
});
beforeEach(() => {
  validating.queries.length = 0;
});

/** Adds a domain with one mail server; returns an address in it. */
function receiver(
  domain: string,
  { host = `mx.${domain}`, at = own, tlsa = [] }: { host?: string; at?: string; tlsa?: readonly string[] },
): string {
  validating.set(domain, "MX", `10 ${host}`);
  validating.set(host, "A", at);
  // Where the MX record is not secure, the address comes from POSTHORN_RESOLVERS.
  testbed.dns.set(host, "A", at);
  if (tlsa.length > 0) validating.set(`_25._tcp.${host}`, "TLSA", ...tlsa);
  return `a@${domain}`;
}

async function delivered(to: string, request: Record<string, unknown> = {}) {
  const id = await accepted(testbed, { to: [to], async: true, ...request });
  const events = await untilEvent(testbed, id, "email.delivered");
  const { payload } = events.at(-1)!;
  assert.deepEqual([events.length, payload.attempts], [1, 1], "delivered in the first attempt");
  return { remoteMx: payload.remoteMx, tls: payload.tls as Record<string, unknown> | undefined };
}

/** Waits for the delay, checks that the mail was sent to no server, and returns the event. */
async function delayed(to: string, request: Record<string, unknown> = {}) {
  const id = await accepted(testbed, { to: [to], async: true, ...request });
  const [event] = await untilEvent(testbed, id, "email.delayed");
  for (const sink of [testbed.sink, issued, plaintext]) assert.equal(sink.received(to).length, 0);
  await testbed.call("EmailService/CancelEmail", { id });
  return { category: event!.payload.category, reason: String(event!.payload.smtpReply), payload: event!.payload };
}

const asked = (type: string) => validating.queries.filter((query) => query.type === type).map(({ name }) => name);

test("usage 3 matches an expired certificate for another name, in all its forms", async () => {
  for (const parameters of ["3 1 1", "3 1 2", "3 0 1", "3 0 2", "3 1 0", "3 0 0"] as const) {
    const domain = `ee-${parameters.replaceAll(" ", "")}.signed.test`;
    const { tls } = await delivered(receiver(domain, { tlsa: [tlsaOf(expired.cert, parameters)] }));
    assert.deepEqual([tls?.dane, tls?.verified], ["match", false], parameters);
  }
});

test("a fresh destination costs four questions: MX, A, AAAA and TLSA, and all go to the validating resolver", async () => {
  const to = receiver("cost.signed.test", { tlsa: [tlsaOf(expired.cert, "3 1 1")] });
  await delivered(to);
  assert.deepEqual(validating.queries.map(({ name, type }) => `${type} ${name}`).sort(), [
    "A mx.cost.signed.test",
    "AAAA mx.cost.signed.test",
    "MX cost.signed.test",
    "TLSA _25._tcp.mx.cost.signed.test",
  ]);
  assert.ok(!testbed.dns.queries.some(({ name, type }) => name.endsWith("cost.signed.test") && type !== "TXT"));
  validating.queries.length = 0;
  await delivered(to);
  // A negative answer for AAAA is cached as well.
  assert.deepEqual(validating.queries, [], "the second email costs none");
});

test("a certificate that matches no record: delayed with the category dane, and nothing is sent", async () => {
  const to = receiver("mismatch.signed.test", { tlsa: [tlsaOf(other.cert, "3 1 1"), tlsaOf(other.cert, "3 0 1")] });
  const { category, reason, payload } = await delayed(to);
  assert.equal(category, "dane");
  assert.match(reason, /^DANE: .*does not match any TLSA record.*mx\.mismatch\.signed\.test/);
  assert.deepEqual([payload.enhancedCode, payload.remoteMx], ["4.7.5", "mx.mismatch.signed.test"]);
});

test("a failed match looks the TLSA records up once more", async () => {
  await delayed(receiver("again.signed.test", { tlsa: [tlsaOf(other.cert, "3 1 1")] }));
  assert.equal(asked("TLSA").length, 2);
});

test("usage 2: a certificate for the server's name by the published authority", async () => {
  validating.sign("mx.example.test");
  const tlsa = [tlsaOf(issuedPair.ca, "2 0 1")];
  const to = receiver("ta.signed.test", { host: "mx.example.test", at: issuedAt, tlsa });
  const { tls } = await delivered(to);
  assert.deepEqual([tls?.dane, tls?.verified], ["ta-match", true]);
  const connections = new Set(issued.commands.map(({ connection }) => connection)).size;
  assert.equal(connections, 2, "the first connection only learns the authority's certificate");
});

test("usage 2 also accepts a certificate for the recipients' domain", async () => {
  const tlsa = [tlsaOf(issuedPair.ca, "2 1 2")];
  const { tls } = await delivered(receiver("mx.example.test", { host: "mx.hop.signed.test", at: issuedAt, tlsa }));
  assert.equal(tls?.dane, "ta-match");
});

test("usage 2: the server need not present an authority that the record contains", async () => {
  const at = "127.0.0.5";
  const { key, cert } = issuedPair;
  const alone = await startSink({ host: at, port: testbed.sink.port, tls: { key, cert } });
  const tlsa = [tlsaOf(issuedPair.ca, "2 0 0")];
  // The certificate is for mx.example.test, which the recipients' domain is an alias of.
  validating.sign("mx.example.test");
  receiver("mx.example.test", { host: "mx.alone.signed.test", at, tlsa });
  validating.set("alias.signed.test", "CNAME", "mx.example.test");
  try {
    const { remoteMx, tls } = await delivered("a@alias.signed.test");
    assert.deepEqual([remoteMx, tls?.dane], ["mx.alone.signed.test", "ta-match"]);
    const other = receiver("other-name.signed.test", { host: "mx.alone.signed.test", at, tlsa });
    assert.equal((await delayed(other)).category, "dane", "the certificate is for another name");
    const hash = [tlsaOf(issuedPair.ca, "2 0 1")];
    validating.set("alias2.signed.test", "CNAME", "mx.example.test");
    receiver("mx.example.test", { host: "mx.hash.signed.test", at, tlsa: hash });
    assert.match((await delayed("a@alias2.signed.test")).reason, /does not match any TLSA record/, "only its hash");
  } finally {
    await alone.close();
  }
});

test("usage 2: the certificate must contain the name", async () => {
  const tlsa = [tlsaOf(issuedPair.ca, "2 0 1")];
  const { category, reason } = await delayed(receiver("ta-name.signed.test", { at: issuedAt, tlsa }));
  assert.equal(category, "dane");
  assert.match(reason, /not valid under the trust anchor.*ERR_TLS_CERT_ALTNAME_INVALID/);
});

test("usage 2: a certificate that another authority issued does not match", async () => {
  const { category } = await delayed(receiver("ta-other.signed.test", { tlsa: [tlsaOf(issuedPair.ca, "2 0 1")] }));
  assert.equal(category, "dane");
});

test("records that are all unusable require TLS, with any certificate", async () => {
  const digest = tlsaOf(other.cert, "3 1 1").slice(6);
  const sets = {
    pkix: [tlsaOf(other.cert, "0 0 1"), tlsaOf(other.cert, "1 1 1")],
    unknown: [`4 1 1 ${digest}`, `3 2 1 ${digest}`, `3 1 3 ${digest}`, `255 1 1 ${digest}`],
    lengths: [
      `3 1 1 ${digest.slice(2)}`,
      `3 1 1 ${digest}00`,
      `3 1 2 ${digest}`,
      "3 1 1 ",
      "3 0 0 30820101",
      "3 1 0 00",
    ],
  };
  for (const [name, tlsa] of Object.entries(sets)) {
    const { tls } = await delivered(receiver(`${name}.signed.test`, { tlsa }));
    assert.deepEqual([tls?.dane, tls?.verified], ["unusable", false], name);
    const { category, reason } = await delayed(receiver(`${name}-stripped.signed.test`, { at: plaintextAt, tlsa }));
    assert.equal(category, "dane", name);
    assert.match(reason, /does not offer STARTTLS/);
  }
});

test("unusable records leave an email that requires TLS to the certificate check", async () => {
  const to = receiver("strict.signed.test", { tlsa: [tlsaOf(other.cert, "1 1 1")] });
  const { category, reason } = await delayed(to, { requireTls: true });
  assert.equal(category, "tls");
  assert.match(reason, /not valid for mx\.strict\.signed\.test/);
});

test("a DANE match is enough for an email that requires TLS", async () => {
  const to = receiver("enough.signed.test", { tlsa: [tlsaOf(expired.cert, "3 1 1")] });
  assert.equal((await delivered(to, { requireTls: true })).tls?.dane, "match");
});

test("a server without STARTTLS, or one that refuses it, gets nothing in plain text", async () => {
  const tlsa = [tlsaOf(expired.cert, "3 1 1")];
  const missing = await delayed(receiver("stripped.signed.test", { at: plaintextAt, tlsa }));
  assert.deepEqual([missing.category], ["dane"]);
  assert.match(missing.reason, /^DANE: the server does not offer STARTTLS, but the TLSA records/);
  plaintext.script = ({ verb }) =>
    verb === "ehlo" ? "250-mx\n250 STARTTLS" : verb === "starttls" ? "454 4.7.0 Not now" : undefined;
  const refused = await delayed(receiver("refusing.signed.test", { at: plaintextAt, tlsa }));
  plaintext.script = () => undefined;
  assert.match(refused.reason, /^DANE: the server refused STARTTLS \(454 4\.7\.0 Not now\)/);
});

test("the next MX host is used if the lookup of TLSA records fails, or the server fails the check", async () => {
  const good = "mx2.fail.signed.test";
  receiver("fail.signed.test", { host: good, tlsa: [tlsaOf(expired.cert, "3 1 1")] });
  validating.set("mx1.fail.signed.test", "A", plaintextAt);
  for (const behavior of ["servfail", "malformed", "refused"] as const) {
    const domain = `${behavior}.signed.test`;
    validating.set(`mx1.${domain}`, "A", own);
    validating.behave(`_25._tcp.mx1.${domain}`, behavior);
    validating.set(domain, "MX", `10 mx1.${domain}`, `20 ${good}`);
    assert.deepEqual([(await delivered(`a@${domain}`)).remoteMx], [good], behavior);
  }
  validating.set("mx1.stripped.signed.test", "A", plaintextAt);
  validating.set("_25._tcp.mx1.stripped.signed.test", "TLSA", tlsaOf(expired.cert, "3 1 1"));
  validating.set("next.signed.test", "MX", "10 mx1.stripped.signed.test", `20 ${good}`);
  assert.equal((await delivered("a@next.signed.test")).remoteMx, good);
  assert.equal(plaintext.received("a@next.signed.test").length, 0);
});

test("a failed lookup of TLSA records of the only server delays the mail", async () => {
  const to = receiver("bogus.signed.test", {});
  validating.behave("_25._tcp.mx.bogus.signed.test", "servfail");
  const { category, reason } = await delayed(to);
  assert.equal(category, "dane");
  assert.match(
    reason,
    /^DANE: the lookup of the TLSA records of _25\._tcp\.mx\.bogus\.signed\.test failed \(SERVFAIL\)/,
  );
});

test("TLSA records are asked for only if the MX and the address answers are secure", async () => {
  const wrong = [tlsaOf(other.cert, "3 1 1")];
  const insecureMx = receiver("hosted.plain.test", { host: "mx.hosting.signed.test", tlsa: wrong });
  assert.equal((await delivered(insecureMx)).tls?.dane, "");
  const insecureAddress = receiver("outsourced.signed.test", { host: "mx.outsourced.plain.test", tlsa: wrong });
  assert.equal((await delivered(insecureAddress)).tls?.dane, "");
  assert.deepEqual(asked("TLSA"), []);
});

test("without TLSA records, or with insecure ones, delivery is opportunistic", async () => {
  assert.equal((await delivered(receiver("none.signed.test", {}))).tls?.dane, "");
  assert.equal((await delivered(receiver("open.signed.test", { at: plaintextAt }))).tls, undefined);
  const to = receiver("moved.signed.test", {});
  validating.set("_25._tcp.mx.moved.signed.test", "CNAME", "tlsa.plain.test");
  validating.set("tlsa.plain.test", "TLSA", tlsaOf(other.cert, "3 1 1"));
  assert.equal((await delivered(to)).tls?.dane, "");
});

test("a domain without MX records: the TLSA records of the domain itself apply", async () => {
  validating.set("bare.signed.test", "A", own);
  validating.set("_25._tcp.bare.signed.test", "TLSA", tlsaOf(expired.cert, "3 1 1"));
  assert.equal((await delivered("a@bare.signed.test")).tls?.dane, "match");
  validating.set("bare2.signed.test", "A", own);
  validating.set("_25._tcp.bare2.signed.test", "TLSA", tlsaOf(other.cert, "3 1 1"));
  assert.equal((await delayed("a@bare2.signed.test")).category, "dane");
});

test("a host that is an alias: the records of its target come first, then its own", async () => {
  const [right, wrong] = [tlsaOf(expired.cert, "3 1 1"), tlsaOf(other.cert, "3 1 1")];
  const alias = (name: string, target: string, at: string[], of: string[]) => {
    validating.set(`${name}.signed.test`, "MX", `10 mx.${name}.signed.test`);
    validating.set(`mx.${name}.signed.test`, "CNAME", target);
    validating.set(target, "A", own);
    if (at.length > 0) validating.set(`_25._tcp.${target}`, "TLSA", ...at);
    if (of.length > 0) validating.set(`_25._tcp.mx.${name}.signed.test`, "TLSA", ...of);
    return `a@${name}.signed.test`;
  };
  assert.equal((await delivered(alias("first", "t1.signed.test", [right], [wrong]))).tls?.dane, "match");
  assert.equal((await delivered(alias("second", "t2.signed.test", [], [right]))).tls?.dane, "match");
  // The target is not secure, but the alias is: only its own records count.
  assert.equal((await delayed(alias("third", "t3.plain.test", [right], [wrong]))).category, "dane");
  const broken = alias("fourth", "t4.signed.test", [right], []);
  validating.behave("_25._tcp.t4.signed.test", "servfail");
  assert.equal((await delayed(broken)).category, "dane");
});

test("a hostile set of records is bounded: 900 are compared, more than a message may have delay the mail", async () => {
  // Short ones, because the scripted server does not compress names.
  const noise = (count: number) => Array.from({ length: count }, (_, i) => `3 1 1 ${i.toString(16).padStart(4, "0")}`);
  const many = receiver("many.signed.test", { tlsa: [...noise(900), tlsaOf(expired.cert, "3 1 1")] });
  validating.behave("_25._tcp.mx.many.signed.test", "truncated");
  assert.equal((await delivered(many)).tls?.dane, "match");
  const tooMany = receiver("too-many.signed.test", { tlsa: [...noise(1100), tlsaOf(expired.cert, "3 1 1")] });
  validating.behave("_25._tcp.mx.too-many.signed.test", "truncated");
  assert.equal((await delayed(tooMany)).category, "dane");
  const huge = receiver("huge.signed.test", {
    tlsa: [`3 0 0 30823a94${"00".repeat(15000)}`, tlsaOf(expired.cert, "3 1 1")],
  });
  validating.behave("_25._tcp.mx.huge.signed.test", "truncated");
  assert.equal((await delivered(huge)).tls?.dane, "match");
});
