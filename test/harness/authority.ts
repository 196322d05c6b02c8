/** Issues certificates with OpenSSL, for tests that need a chain: a root, an intermediate authority and servers below it. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runPeer } from "./peer.ts";

export type Issued = { cert: string; key: string };
export type Authority = {
  root: string;
  intermediate: string;
  /** Files for a server: its certificate followed by both authorities, and its key. `expired`: valid until yesterday. */
  issue(name: string, options?: { expired?: boolean }): Promise<Issued & { certFile: string; keyFile: string }>;
  remove(): Promise<void>;
};

export async function createCertificateAuthority(): Promise<Authority> {
  const directory = await mkdtemp(join(tmpdir(), "posthorn-authority-"));
  const file = (name: string) => join(directory, name);
  const ofAuthority = "basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign,cRLSign\n";
  const newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
  const sign = async (name: string, by: string, extensions: string, days: string) => {
    const parameters = ["-keyout", file(`${name}.key`), "-out", file(`${name}.csr`), "-subj", `/CN=${name}`];
    await runPeer("openssl", ["req", ...newKey, ...parameters]);
    await writeFile(file(`${name}.ext`), extensions);
    const signer = ["-CA", file(`${by}.pem`), "-CAkey", file(`${by}.key`), "-CAcreateserial", "-days", days];
    const output = ["-out", file(`${name}.pem`), "-extfile", file(`${name}.ext`)];
    await runPeer("openssl", ["x509", "-req", "-in", file(`${name}.csr`), ...signer, ...output]);
    return await readFile(file(`${name}.pem`), "utf8");
  };
  const root = ["-x509", "-keyout", file("root.key"), "-out", file("root.pem"), "-days", "30", "-subj", "/CN=root"];
  await runPeer("openssl", ["req", ...newKey, ...root]);
  const intermediate = await sign("intermediate", "root", ofAuthority, "30");
  const rootPem = await readFile(file("root.pem"), "utf8");
  return {
    root: rootPem,
    intermediate,
    async issue(name, { expired = false } = {}) {
      const label = expired ? `${name}-expired` : name;
      const own = await sign(label, "intermediate", `subjectAltName=DNS:${name}\n`, expired ? "-1" : "30");
      const [certFile, keyFile] = [file(`${label}-chain.pem`), file(`${label}.key`)];
      const cert = own + intermediate + rootPem;
      await writeFile(certFile, cert);
      return { cert, key: await readFile(keyFile, "utf8"), certFile, keyFile };
    },
    remove: () => rm(directory, { recursive: true, force: true }),
  };
}
