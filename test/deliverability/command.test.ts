/** posthorn doctor --send, on the local store and at another instance. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type CommandBed, everywhere, startCommandBed } from "../harness/commands.ts";

let bed: CommandBed;
before(async () => {
  bed = await startCommandBed();
});
after(async () => await bed?.stop());

type Finding = { check: string; result: string; found: string; fix?: string; receivers: string[] };
const of = (findings: Finding[], check: string) => findings.find((one) => one.check === check)!;

for (const where of everywhere) {
  test(`doctor --send checks a domain and says what cannot be checked (${where})`, async () => {
    const findings = await bed.rowsOf<Finding>(where, "doctor", "--send", "--domain", "example.test", "--json");
    assert.equal(of(findings, "dkim").result, "ok", JSON.stringify(of(findings, "dkim")));
    assert.equal(of(findings, "dmarc").result, "ok");
    assert.deepEqual(of(findings, "dmarc").receivers, ["gmail", "yahoo", "microsoft"]);
    for (const check of ["ptr", "helo", "tls", "blocklist-address", "blocklist-domain", "size", "text-part"])
      assert.equal(of(findings, check).result, "unknown", check);
    const shown = await bed.succeed(where, "doctor", "--send", "--from", "Shop <a@example.test>");
    assert.match(shown, /^ok {7}dkim {15}The signature verifies/m);
    assert.match(shown, /^unknown {2}ptr {16}In capture mode/m);
    assert.match(shown, /example\.test: .*could not be checked\.\n$/);
  });

  test(`doctor --send fails with exit code 1 for a sample that receivers refuse (${where})`, async () => {
    const json = join(bed.folder, `${where}.json`);
    await writeFile(json, JSON.stringify({ to: ["b@there.test"], subject: "Offer", html: "<p>Offer</p>" }));
    const bulk = await bed.run(where, [
      "doctor",
      "--send",
      "--from",
      "a@example.test",
      "--file",
      json,
      "--bulk",
      "--json",
    ]);
    assert.equal(bulk.code, 1, bulk.stderr);
    const findings = bulk.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Finding);
    assert.equal(of(findings, "one-click").result, "fail");
    assert.match(of(findings, "one-click").fix!, /List-Unsubscribe-Post/);
    assert.equal(of(findings, "text-part").result, "warn");
    await writeFile(json, JSON.stringify({ subject: "Offer", body: "Offer", unsubscribe: { topic: "offers" } }));
    await bed.fails(1, /POSTHORN_PUBLIC_URL/, where, ["doctor", "--send", "--domain", "example.test", "--file", json]);
    const eml = join(bed.folder, `${where}.eml`);
    await writeFile(eml, "From: a@example.test\r\nFrom: b@example.test\r\nSubject: Hi\r\n\r\nHello\r\n");
    const twice = await bed.run(where, ["doctor", "--send", "--domain", "example.test", "--file", eml]);
    assert.equal(twice.code, 1);
    await writeFile(eml, "From: a@example.test\nTo: b@there.test\nSubject: Gr\u00fc\u00dfe\n\nHello\n");
    const unix = await bed.rowsOf<Finding>(
      where,
      "doctor",
      "--send",
      "--domain",
      "example.test",
      "--file",
      eml,
      "--json",
    );
    assert.deepEqual(
      ["accepted", "date", "line-length", "text-part"].map((check) => of(unix, check).result),
      ["ok", "ok", "ok", "ok"],
      "a file with the line ends of Unix",
    );
    assert.match(twice.stdout, /^fail {5}single-fields {6}The header has from more than once\.\n +Keep one of each\./m);
  });
}

test("doctor --send explains mistakes, and other options need it", async () => {
  await bed.fails(2, /--domain needs --send/, "local", ["doctor", "--domain", "example.test"]);
  await bed.fails(2, /Cannot read the file/, "local", [
    "doctor",
    "--send",
    "--domain",
    "example.test",
    "--file",
    "no.eml",
  ]);
  await bed.fails(1, /domain: is required/, "remote", ["doctor", "--send"]);
  await bed.fails(1, /no domain "nowhere.test"/, "local", ["doctor", "--send", "--domain", "nowhere.test"]);
});
