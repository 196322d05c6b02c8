/** posthorn domains keys, import-key, export-key and remove-key, on the local store and at a remote instance, with the records in our DNS. */
import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { type CommandBed, everywhere, startCommandBed } from "../harness/commands.ts";
import { runCommand } from "../harness/program.ts";

type Row = { id: string; selector: string; signing: boolean; imported: boolean; status: string };

let bed: CommandBed;
let pem: string;
let file: string;
before(async () => {
  bed = await startCommandBed();
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  file = join(bed.folder, "key.pem");
  await writeFile(file, pem);
});
after(async () => await bed?.stop());

describe("the DKIM keys of a domain on the command line", () => {
  for (const where of everywhere) {
    const selector = `s-${where}`;

    it(`${where}: a key is imported from a file, published in the local DNS, listed and removed`, async () => {
      const shown = await bed.succeed(where, "domains", "import-key", "example.test", selector, file);
      assert.match(shown, new RegExp(`^TXT {2}${selector}\\._domainkey\\.example\\.test {2}v=DKIM1; k=rsa; p=`, "m"));
      assert.match(shown, /posthorn domains verify example\.test/);
      const list = () => bed.rowsOf<Row>(where, "domains", "keys", "example.test", "--json");
      const before = (await list()).find((key) => key.selector === selector);
      assert.deepEqual([before?.imported, before?.signing], [true, false]);

      const published = await bed.succeed("local", "dns", "publish", "example.test");
      assert.match(published, /serves 9 records of example\.test/);
      await bed.succeed("local", "domains", "verify", "example.test");
      const after = await list();
      assert.deepEqual(
        after.map((key) => [key.selector, key.status, key.signing]),
        [
          [selector, "RECORD_STATUS_FOUND", true],
          ["ph1", "RECORD_STATUS_FOUND", false],
          ["ph2", "RECORD_STATUS_FOUND", false],
        ],
      );
      assert.match(
        await bed.succeed(where, "domains", "keys", "example.test"),
        new RegExp(`^${selector} +yes +FOUND +imported +2048 bits, 2 primes +never$`, "m"),
      );
      await bed.fails(1, /already_exists|has an imported key with the selector/, where, [
        ...["domains", "import-key", "example.test", selector, file],
      ]);
      assert.match(
        await bed.succeed(where, "domains", "remove-key", "example.test", selector, "--yes"),
        /is deleted and no longer signs. Keep its TXT record/,
      );
      assert.deepEqual(
        (await list()).map((key) => [key.selector, key.signing]),
        [
          ["ph1", true],
          ["ph2", false],
        ],
      );
    });

    it(`${where}: mistakes name what to do, and repeat nothing of the key`, async () => {
      await bed.fails(2, /Give a domain and a selector and a PEM file/, where, [
        "domains",
        "import-key",
        "example.test",
      ]);
      await bed.fails(2, /Cannot read the file/, where, [
        "domains",
        "import-key",
        "example.test",
        "s1",
        "/nothing.pem",
      ]);
      await bed.fails(2, /no DKIM key with the selector s9. It has: ph1, ph2/, where, [
        ...["domains", "remove-key", "example.test", "s9", "--yes"],
      ]);
      await bed.fails(1, /made by the service/, where, ["domains", "remove-key", "example.test", "ph1", "--yes"]);
      const cut = join(bed.folder, `cut-${where}.pem`);
      await writeFile(cut, pem.slice(0, 900));
      const { code, stdout, stderr } = await bed.run(where, ["domains", "import-key", "example.test", "s1", cut]);
      assert.equal(code, 1);
      assert.match(stderr, /privateKeyPem: is not a private key that OpenSSL can read/);
      assert.ok(!(stdout + stderr).includes(pem.split("\n")[1]!));
    });
  }

  it("a private key is exported on the server only: to a new file with mode 0600, or to a pipe", async () => {
    const target = join(bed.folder, "exported.pem");
    await bed.succeed("local", "domains", "export-key", "example.test", "ph1", "--output", target);
    assert.equal((await stat(target)).mode & 0o777, 0o600);
    assert.match(await readFile(target, "utf8"), /^-----BEGIN PRIVATE KEY-----\n/);
    assert.equal(
      await bed.succeed("local", "domains", "export-key", "example.test", "ph1"),
      await readFile(target, "utf8"),
    );
    await bed.fails(2, /already exists/, "local", [
      ...["domains", "export-key", "example.test", "ph1", "--output", target],
    ]);
    await bed.fails(2, /works only on the local data directory/, "local", [
      ...["domains", "export-key", "example.test", "ph1", "--url", bed.program.url],
    ]);
    const { body } = await bed.program.call("AuditService/ListAuditEntries", {});
    const actions = (body.data as { action: string; actor: string }[]).map(({ action, actor }) => `${action} ${actor}`);
    assert.ok(actions.includes("domain.dkim_key_exported AUDIT_ACTOR_COMMAND"), actions.join());
  });

  it("a key comes from standard input, and doctor says how many primes keys have", async () => {
    const options = { dataDir: bed.program.dataDir, databaseUrl: bed.database.url };
    const imported = await runCommand(["domains", "import-key", "example.test", "piped", "-", "--json"], {
      ...options,
      input: pem,
    });
    assert.equal(imported.code, 0, imported.stderr);
    assert.ok(!imported.stdout.includes("PRIVATE"));
    const { stdout } = await runCommand(["doctor", "--json"], { ...options, env: { POSTHORN_DKIM_PRIMES: "2" } });
    const finding = stdout.split("\n").find((line) => line.includes('"DKIM"')) ?? assert.fail(stdout);
    assert.match(finding, /"result":"ok","found":"new keys have 2 primes/);
  });
});
