import assert from "node:assert/strict";
import { test } from "node:test";
import { startScriptedDns } from "../../../../test/harness/dns.ts";
import type { Lookup } from "../../../dns/record.ts";
import type { Config } from "../../config.ts";
import { daneChecks, judgeResolver } from "./dane.ts";

const names = { signed: "signed.test", bogus: "bogus.test" };
const secure: Lookup = { kind: "nodata", chain: [], ttlSeconds: 0, secure: true };
const servfail: Lookup = { kind: "servfail", reason: "servfail" };
const found: Lookup = { kind: "found", records: [], chain: [], ttlSeconds: 0 };

const check = (settings: Partial<Config>) => daneChecks(settings as Config, names);
const judge = (signed: Lookup, bogus: Lookup, host = "127.0.0.1") =>
  judgeResolver({ host, port: 53 }, names, { signed, bogus });

test("DANE is off without the setting, and not needed in other modes", async () => {
  const [off] = await check({ delivery: "direct" });
  assert.equal(off!.result, "ok");
  assert.match(off!.found, /^off; .*POSTHORN_DANE_RESOLVER=127\.0\.0\.1:53/);
  for (const delivery of ["relay", "capture"] as const)
    assert.match((await check({ delivery, daneResolvers: [{ host: "127.0.0.1", port: 53 }] }))[0]!.found, /not needed/);
});

test("what the answers prove", () => {
  assert.match(judge(secure, servfail).found, /signed\.test is secure, bogus\.test is refused/);
  assert.equal(judge(secure, servfail).result, "ok");
  for (const bogus of [{ kind: "timeout" }, { kind: "servfail", reason: "refused" }, secure] as Lookup[]) {
    const untested = judge(secure, bogus);
    assert.equal(untested.result, "warn");
    assert.match(untested.found, /bogus\.test could not be tested/);
    assert.doesNotMatch(untested.found, /validates/);
    assert.match(untested.fix!, /--dnssec-bogus/);
  }
  const remote = judge(secure, servfail, "9.9.9.9");
  assert.deepEqual([remote.result, /public address/.test(remote.found)], ["warn", true]);
  for (const [signed, bogus, text] of [
    [found, servfail, /without the AD flag/],
    [secure, found, /accepts bogus\.test/],
    [servfail, servfail, /does not resolve signed\.test/],
    [{ kind: "timeout" }, servfail, /does not answer/],
    [{ kind: "servfail", reason: "unreachable" }, servfail, /does not answer/],
    [{ kind: "servfail", reason: "no-edns" }, servfail, /does not support EDNS/],
  ] as [Lookup, Lookup, RegExp][]) {
    const finding = judge(signed, bogus);
    assert.equal(finding.result, "fail");
    assert.match(finding.found, text);
    assert.ok(finding.fix);
  }
});

test("a resolver that is named by its host is judged by the address of the host", async () => {
  const dns = await startScriptedDns();
  dns.edns = true;
  dns.sign("signed.test");
  dns.behave("bogus.test", "servfail");
  try {
    const [finding] = await check({ delivery: "direct", daneResolvers: [{ host: "localhost", port: dns.port }] });
    assert.equal(finding!.result, "ok", finding!.found);
  } finally {
    await dns.stop();
  }
});

test("every resolver is checked on its own", async () => {
  const [good, old] = await Promise.all([startScriptedDns(), startScriptedDns()]);
  good.edns = true;
  good.sign("signed.test");
  for (const dns of [good, old]) dns.set("signed.test", "A", "192.0.2.1");
  good.behave("bogus.test", "servfail");
  try {
    const findings = await check({ delivery: "direct", daneResolvers: [good, old] });
    assert.deepEqual(
      findings.map(({ result, found: text }) => [result, text.split(" ")[0]]),
      [
        ["ok", `127.0.0.1:${good.port}`],
        ["fail", `127.0.0.1:${old.port}`],
      ],
    );
  } finally {
    await Promise.all([good.stop(), old.stop()]);
  }
});
