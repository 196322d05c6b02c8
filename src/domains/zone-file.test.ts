import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { needs, pathOf } from "../../test/harness/foreign.ts";
import { recordsZone, textRecord } from "../dns/zone.ts";
import { zoneFile, zoneFileLine } from "./zone-file.ts";

const publicKey = generateKeyPairSync("rsa", { modulusLength: 2048 })
  .publicKey.export({ type: "spki", format: "der" })
  .toString("base64");
const input = {
  zone: "mail.posthorn.test",
  hostname: "mx.mail.posthorn.test",
  publicIps: ["203.0.113.5", "2001:db8::5"],
  serial: 2026010101,
};

test("named-checkzone of BIND accepts the zone", { skip: needs("named-checkzone") }, () => {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-zone-"));
  try {
    const file = join(folder, "zone");
    writeFileSync(
      file,
      zoneFile(input, {
        keys: [
          { label: "tok-1", publicKey },
          { label: "tok-2", publicKey },
        ],
        reported: ["example.com", "shop.example"],
      }),
    );
    const result = spawnSync(pathOf("named-checkzone"), ["-i", "full-sibling", input.zone, file], { encoding: "utf8" });
    assert.equal(result.status, 0, result.stdout + result.stderr);
    assert.match(result.stdout, /loaded serial 2026010101/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("a domain whose authorization would have too long a name is left out, so that servers load the zone", () => {
  const long = [..."abcdefg"].map((letter) => letter.repeat(30)).join(".");
  const file = zoneFile(input, { keys: [], reported: [`${long}.example`, "shop.example"] });
  assert.deepEqual(file.match(/^\S+(?=\._report)/gm), ["shop.example"]);
});

test("names are absolute, long TXT values are split, and quotes and non-ASCII bytes are escaped", () => {
  const [, first, second] = /TXT\t"([^"]*)" "([^"]*)"/.exec(zoneFileLine(textRecord("a.test", publicKey))) ?? [];
  assert.equal(`${first}${second}`, publicKey);
  assert.equal(first?.length, 255);
  assert.equal(
    zoneFileLine(textRecord("a.test", 'say "hi" \\ é')),
    'a.test.\t3600\tIN\tTXT\t"say \\"hi\\" \\\\ \\195\\169"\n',
  );
  assert.equal(
    zoneFileLine({ name: "a.test", ttl: 60, type: "MX", priority: 10, exchange: "b.test" }),
    "a.test.\t60\tIN\tMX\t10 b.test.\n",
  );
});

test("the zone is complete without keys and with a hostname outside the zone", () => {
  const text = zoneFile({ ...input, hostname: "mx.elsewhere.example" }, { keys: [], reported: ["a.test"] });
  assert.match(text, /^spf\.mail\.posthorn\.test\.\t\d+\tIN\tTXT\t"v=spf1 ip4:203\.0\.113\.5 ip6:2001:db8::5 -all"$/m);
  assert.match(text, /^inbound\.mail\.posthorn\.test\.\t\d+\tIN\tA\t203\.0\.113\.5$/m);
  assert.match(text, /^a\.test\._report\._dmarc\.reports\.mail\.posthorn\.test\.\t\d+\tIN\tTXT\t"v=DMARC1;"$/m);
  assert.doesNotMatch(text, /elsewhere/);
});

test("a record outside its zone is rejected", () => {
  const stray = textRecord("other.test", "x");
  assert.throws(
    () => recordsZone({ origin: "a.test", records: [stray], serial: 1, nameServers: [] }),
    /not in the zone/,
  );
});
