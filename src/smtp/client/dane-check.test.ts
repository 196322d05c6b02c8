import assert from "node:assert/strict";
import { createHash, X509Certificate } from "node:crypto";
import { type TestContext, test } from "node:test";
import { createSecureContext } from "node:tls";
import { startSink, testCertificate } from "../../../test/harness/sink.ts";
import { makeSelfSigned } from "../server/certificate.ts";
import { createDanePolicy, type TlsaRecord } from "./dane.ts";
import { openSession } from "./session.ts";
import { checkTarget, type Target, targetKey } from "./target.ts";

const issued = testCertificate();
const withAuthority = { key: issued.key, cert: issued.cert + issued.ca };

function tlsa(usage: number, pem: string): TlsaRecord {
  return { usage, selector: 0, matching: 1, data: createHash("sha256").update(new X509Certificate(pem).raw).digest() };
}

const base = "mx.example.test";
const policyOf = (...records: TlsaRecord[]) => createDanePolicy({ base, records, names: ["example.test"] });

async function open(
  t: TestContext,
  { tls, records }: { tls: { key: string; cert: string }; records: TlsaRecord[] },
  anchors = new Map<string, readonly Buffer[]>(),
) {
  const sink = await startSink({ tls });
  t.after(() => sink.close());
  const target: Target = {
    ...{ host: "mx.example.test", address: "127.0.0.1", port: sink.port, heloName: "posthorn.example" },
    tls: "required",
    dane: policyOf(...records),
  };
  const openAgain = async () => {
    const opened = await openSession(target, { anchors });
    if ("session" in opened) t.after(() => opened.session.destroy());
    return "session" in opened ? opened.session.tls?.dane : opened.failure;
  };
  return { sink, result: await openAgain(), openAgain, anchors };
}

const connectionsOf = ({ commands }: { commands: { connection: number }[] }) =>
  new Set(commands.map(({ connection }) => connection)).size;

test("the authority is learned from the first connection, and remembered for later ones", async (t) => {
  const records = [tlsa(2, issued.ca)];
  const { sink, result, openAgain } = await open(t, { tls: withAuthority, records });
  assert.equal(result, "ta-match");
  assert.equal(connectionsOf(sink), 2);
  assert.equal(await openAgain(), "ta-match");
  assert.equal(connectionsOf(sink), 3);
});

test("the server need not present an authority whose key a record contains, but the name is checked", async (t) => {
  const { key, cert } = issued;
  const data = new X509Certificate(issued.ca).publicKey.export({ type: "spki", format: "der" });
  const records = [{ usage: 2, selector: 1, matching: 0, data }];
  const { sink, result } = await open(t, { tls: { key, cert }, records });
  assert.equal(result, "ta-match");
  const dane = createDanePolicy({ base: "elsewhere.test", records, names: [] });
  const target = { host: base, address: "127.0.0.1", port: sink.port, heloName: "posthorn.example" };
  const opened = await openSession({ ...target, tls: "required", dane });
  assert.ok("failure" in opened && opened.failure.kind === "tls");
  assert.match(opened.failure.message, /ERR_TLS_CERT_ALTNAME_INVALID/);
});

test("the authority of a server is remembered for all domains that it serves", async (t) => {
  const records = [tlsa(2, issued.ca)];
  const { sink, anchors } = await open(t, { tls: withAuthority, records });
  const dane = createDanePolicy({ base, records, names: ["another.test"] });
  const target = { host: base, address: "127.0.0.1", port: sink.port, heloName: "posthorn.example" };
  const opened = await openSession({ ...target, tls: "required", dane }, { anchors });
  assert.ok("session" in opened);
  t.after(() => opened.session.destroy());
  assert.deepEqual([opened.session.tls?.dane, connectionsOf(sink)], ["ta-match", 3]);
});

test("an authority is learned although another one of the records is remembered", async (t) => {
  const records = [tlsa(2, issued.ca)];
  const other = new X509Certificate(makeSelfSigned("old.test", Date.now()).cert).raw;
  const known = new Map([[policyOf(...records).recordsKey, [other]]]);
  const { result, anchors } = await open(t, { tls: withAuthority, records }, known);
  assert.equal(result, "ta-match");
  assert.deepEqual([...anchors.values()], [[new X509Certificate(issued.ca).raw, other]]);
});

test("servers with authorities of their own behind one name: all are remembered", async (t) => {
  const own = makeSelfSigned(base, Date.now());
  const records = [tlsa(2, issued.ca), tlsa(2, own.cert)];
  const anchors = new Map<string, readonly Buffer[]>();
  const first = await open(t, { tls: withAuthority, records }, anchors);
  const second = await open(t, { tls: own, records }, anchors);
  assert.deepEqual([first.result, second.result], ["ta-match", "ta-match"]);
  for (const { sink, openAgain } of [first, second, first]) {
    const before = connectionsOf(sink);
    assert.equal(await openAgain(), "ta-match");
    assert.equal(connectionsOf(sink), before + 1);
  }
});

test("servers behind one address that take turns are authenticated at the next attempt", async (t) => {
  const own = makeSelfSigned(base, Date.now());
  const records = [tlsa(2, issued.ca), tlsa(2, own.cert)];
  const sink = await startSink({ tls: withAuthority });
  t.after(() => sink.close());
  const balanced = sink as { secureContext: unknown };
  const contexts = [sink.secureContext, createSecureContext(own)];
  sink.script = ({ verb, connection }) => {
    if (verb === "starttls") balanced.secureContext = contexts[connection % 2];
    return undefined;
  };
  const anchors = new Map<string, readonly Buffer[]>();
  const target = { host: base, address: "127.0.0.1", port: sink.port, heloName: "posthorn.example" };
  const openAgain = async () => {
    const opened = await openSession({ ...target, tls: "required", dane: policyOf(...records) }, { anchors });
    if ("session" in opened) t.after(() => opened.session.destroy());
    return "session" in opened ? opened.session.tls?.dane : opened.failure.kind;
  };
  assert.deepEqual([await openAgain(), await openAgain(), await openAgain()], ["tls", "ta-match", "ta-match"]);
  assert.equal(connectionsOf(sink), 4);
});

test("a chain that claims the authority without its signature fails", async (t) => {
  // The name of the certificate is right, but the authority did not issue it.
  const forged = makeSelfSigned("mx.example.test", Date.now());
  const tls = { key: forged.key, cert: forged.cert + issued.ca };
  const { result } = await open(t, { tls, records: [tlsa(2, issued.ca)] });
  assert.ok(typeof result === "object" && result.kind === "tls" && result.dane);
  assert.match(result.message, /does not match any TLSA record|trust anchor/);
});

test("usage 3 needs one connection; an error names the records", async (t) => {
  const records = [tlsa(3, issued.cert)];
  const { sink, result } = await open(t, { tls: issued, records });
  assert.deepEqual([result, connectionsOf(sink)], ["match", 1]);
  const other = makeSelfSigned("mx.example.test", Date.now());
  const failed = await open(t, { tls: other, records });
  assert.ok(typeof failed.result === "object" && failed.result.kind === "tls");
  assert.match(failed.result.message, /^DANE: .* the TLSA records of mx\.example\.test require TLS$/);
});

test("without usable records any certificate will do", async (t) => {
  const { result } = await open(t, { tls: makeSelfSigned("x.test", Date.now()), records: [tlsa(1, issued.cert)] });
  assert.equal(result, "unusable");
});

test("unusable records at the target of an alias: the certificate must contain the name in the MX record", async (t) => {
  const sink = await startSink({ tls: issued });
  t.after(() => sink.close());
  const common = {
    address: "127.0.0.1",
    port: sink.port,
    heloName: "a.test",
    tls: "verified",
    tlsCa: issued.ca,
  } as const;
  const unusable = (host: string, alias: string) =>
    openSession({
      ...common,
      host,
      dane: createDanePolicy({ base: alias, records: [tlsa(1, issued.cert)], names: [] }),
    });
  const opened = await unusable("mx.example.test", "target.example");
  if ("session" in opened) t.after(() => opened.session.destroy());
  assert.equal("session" in opened && opened.session.tls?.dane, "unusable");
  const { failure } = (await unusable("elsewhere.example", "mx.example.test")) as { failure: { message: string } };
  assert.match(failure.message, /not valid for elsewhere\.example/);
});

test("targets share sessions only under equal policies, and DANE excludes a fallback to plaintext", () => {
  const target: Target = { host: base, address: "127.0.0.1", port: 25, heloName: "a.test", tls: "required" };
  const keys = [undefined, policyOf(), policyOf(tlsa(3, issued.cert)), policyOf(tlsa(2, issued.ca))].map((dane) =>
    targetKey({ ...target, dane }),
  );
  assert.equal(new Set(keys).size, 4);
  for (const tls of ["none", "opportunistic"] as const)
    assert.throws(() => checkTarget({ ...target, tls, dane: policyOf() }), TypeError);
  checkTarget({ ...target, dane: policyOf() });
});
