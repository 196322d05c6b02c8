import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { needs, pathOf } from "../../test/harness/foreign.ts";
import { recordsFile } from "./records-file.ts";
import { expectedRecords, type RecordKey } from "./rules/records.ts";
import type { JudgedRecord } from "./rules/summary.ts";

const dnsZone = "contoso.test";
const expected = expectedRecords({ domain: "mail.contoso.test", token: "tok", zone: "mail.posthorn.test", dnsZone });

function judged(states: Partial<Record<RecordKey, Partial<JudgedRecord>>> = {}): JudgedRecord[] {
  return expected.map((record) => ({
    record,
    status: "missing",
    discoveredValue: "",
    note: "",
    ...states[record.key],
  }));
}

/** The lines that an import adds. */
const active = (content: string) => content.split("\n").filter((line) => /\tIN\t/.test(line) && !line.startsWith(";"));

test("named-checkzone of BIND accepts the file in the zone of its provider", { skip: needs("named-checkzone") }, () => {
  const { content, name } = recordsFile("mail.contoso.test", judged());
  assert.equal(name, "mail.contoso.test.zone");
  const zone = "$TTL 300\n@ IN SOA ns.contoso.test. root.contoso.test. 7 60 60 60 60\n@ IN NS ns\nns IN A 192.0.2.1\n";
  const folder = mkdtempSync(join(tmpdir(), "posthorn-records-"));
  try {
    const file = join(folder, "zone");
    writeFileSync(file, `$ORIGIN ${dnsZone}.\n${zone}${content}`);
    // "local": the hosts of other zones are not looked up.
    const args = ["-i", "local", "-D", "-o", "-", dnsZone, file];
    const result = spawnSync(pathOf("named-checkzone"), args, { encoding: "utf8" });
    assert.equal(result.status, 0, result.stdout + result.stderr);
    assert.match(
      result.stdout,
      /^ph1\._domainkey\.mail\.contoso\.test\.\s+60\s+IN\s+CNAME\s+tok-1\.dkim\.mail\.posthorn\.test\.$/m,
    );
    assert.match(
      result.stdout,
      /^bounce\.mail\.contoso\.test\.\s+60\s+IN\s+MX\s+10 feedback\.mail\.posthorn\.test\.$/m,
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("an import never redirects mail and never adds a second SPF record", () => {
  const mergedValue = "v=spf1 a include:spf.mail.posthorn.test -all";
  const { content } = recordsFile(
    "mail.contoso.test",
    judged({
      spf: { status: "mismatch", discoveredValue: "v=spf1 a -all", mergedValue },
      mx: { status: "mismatch", discoveredValue: "10 mx.office.test" },
      dkim2: { status: "mismatch", discoveredValue: "elsewhere.test" },
      mailFromSpf: { status: "found", discoveredValue: "v=spf1 include:spf.mail.posthorn.test -all" },
      dmarc: { status: "found", discoveredValue: "v=DMARC1; p=none; rua=mailto:tok@reports.mail.posthorn.test" },
    }),
  );
  assert.deepEqual(
    active(content).map((line) => line.split("\t").filter((_, i) => i === 0 || i === 3)),
    [
      ["ph1._domainkey.mail.contoso.test.", "CNAME"],
      ["_dmarc.mail.contoso.test.", "TXT"],
      ["bounce.mail.contoso.test.", "MX"],
    ],
  );
  assert.match(content, /; Replace all SPF records with:\n; .*v=spf1 a include:spf\.mail\.posthorn\.test -all/);
  assert.match(content, /redirects all mail to mail\.contoso\.test/);
  assert.equal(active(recordsFile("mail.contoso.test", judged()).content).length, 6);
  const received = judged({ mx: { status: "found", discoveredValue: "10 inbound.mail.posthorn.test" } });
  assert.equal(active(recordsFile("mail.contoso.test", received).content).length, 7);
});
