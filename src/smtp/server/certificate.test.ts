import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { duplexPair } from "node:stream";
import { after, test } from "node:test";
import { connect as connectTls, TLSSocket } from "node:tls";
import { createCertificate, makeSelfSigned } from "./certificate.ts";

const directory = await mkdtemp(join(tmpdir(), "posthorn-cert-"));
after(() => rm(directory, { recursive: true, force: true }));

test("a self-signed certificate is well formed, names its host and verifies with its own key", () => {
  for (const host of ["mail.posthorn.test", `${"a".repeat(60)}.${"b".repeat(60)}.example.com`]) {
    const { cert, key } = makeSelfSigned(host, Date.now());
    const read = new X509Certificate(cert);
    assert.ok(read.verify(read.publicKey));
    assert.equal(read.checkHost(host), host);
    assert.ok(new Date(read.validTo) > new Date());
    assert.match(key, /BEGIN PRIVATE KEY/);
  }
});

/** The common name of the certificate that a client receives. */
async function presentedName(context: ReturnType<ReturnType<typeof createCertificate>>): Promise<string> {
  const [here, there] = duplexPair();
  const server = new TLSSocket(there as never, { isServer: true, secureContext: context });
  server.on("error", () => {});
  const client = connectTls({ socket: here as never, rejectUnauthorized: false });
  const name = await new Promise<string>((resolve, reject) => {
    client.once("secureConnect", () => resolve(String(client.getPeerCertificate().subject.CN)));
    client.once("error", reject);
  });
  client.destroy();
  server.destroy();
  return name;
}

test("changed files are reloaded, and an unusable pair leaves the previous certificate in use", async () => {
  const files = { certFile: join(directory, "cert.pem"), keyFile: join(directory, "key.pem") };
  const write = async (host: string, atMs: number) => {
    const { cert, key } = makeSelfSigned(host, Date.now());
    await writeFile(files.certFile, host === "broken" ? "rubbish" : cert);
    await writeFile(files.keyFile, key);
    for (const file of Object.values(files)) await utimes(file, atMs / 1000, atMs / 1000);
  };
  let nowMs = 1_000_000;
  const problems: unknown[] = [];
  await write("first.test", 1_000_000);
  const certificate = createCertificate({
    files,
    hostname: "x.test",
    nowMs: Date.now,
    monotonicMs: () => nowMs,
    onProblem: (e) => problems.push(e),
  });
  assert.equal(await presentedName(certificate()), "first.test");
  await write("second.test", 2_000_000);
  assert.equal(await presentedName(certificate()), "first.test", "files are checked at most once a second");
  nowMs += 2000;
  assert.equal(await presentedName(certificate()), "second.test");
  await write("broken", 3_000_000);
  nowMs += 2000;
  assert.equal(await presentedName(certificate()), "second.test");
  assert.equal(problems.length, 1);
  await write("third.test", 4_000_000);
  nowMs += 2000;
  assert.equal(await presentedName(certificate()), "third.test");
});

test("files that cannot be read at start are an error", () => {
  const files = { certFile: join(directory, "none.pem"), keyFile: join(directory, "none.pem") };
  assert.throws(() => createCertificate({ files, hostname: "x.test", nowMs: Date.now, onProblem: () => {} }), /ENOENT/);
});
