import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { duplexPair } from "node:stream";
import { after, test } from "node:test";
import { connect as connectTls, TLSSocket } from "node:tls";
import { createCertificate } from "./certificate.ts";
import { makeSelfSigned } from "./self-signed.ts";

const directory = await mkdtemp(join(tmpdir(), "posthorn-cert-"));
after(() => rm(directory, { recursive: true, force: true }));

test("a certificate made here is well formed, names its host and vouches for itself", () => {
  for (const host of ["mail.posthorn.test", `${"a".repeat(60)}.${"b".repeat(60)}.example.com`]) {
    const { cert, key } = makeSelfSigned(host, Date.now());
    const read = new X509Certificate(cert);
    assert.ok(read.verify(read.publicKey));
    assert.equal(read.checkHost(host), host);
    assert.ok(new Date(read.validTo) > new Date());
    assert.match(key, /BEGIN PRIVATE KEY/);
  }
});

/** The name in the certificate that a client is shown. */
async function shownBy(context: ReturnType<ReturnType<typeof createCertificate>>): Promise<string> {
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

test("files are read again when they change, and a bad pair leaves the good one in place", async () => {
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
    nowMs: () => nowMs,
    onProblem: (e) => problems.push(e),
  });
  assert.equal(await shownBy(certificate()), "first.test");
  await write("second.test", 2_000_000);
  assert.equal(await shownBy(certificate()), "first.test", "looked at once a second at most");
  nowMs += 2000;
  assert.equal(await shownBy(certificate()), "second.test");
  await write("broken", 3_000_000);
  nowMs += 2000;
  assert.equal(await shownBy(certificate()), "second.test");
  assert.equal(problems.length, 1);
  await write("third.test", 4_000_000);
  nowMs += 2000;
  assert.equal(await shownBy(certificate()), "third.test");
});

test("files that cannot be used at the start are an error at once", () => {
  const files = { certFile: join(directory, "none.pem"), keyFile: join(directory, "none.pem") };
  assert.throws(() => createCertificate({ files, hostname: "x.test", nowMs: Date.now, onProblem: () => {} }), /ENOENT/);
});
