import assert from "node:assert/strict";
import { test } from "node:test";
import type { LookupFunction } from "../mail/dns-record.ts";
import { askedRecords, type RecordKey } from "./dns-records.ts";
import { viewRecord } from "./record-view.ts";

const record = (key: RecordKey) =>
  askedRecords({ domain: "shop.there.test", token: "abc", zone: "mail.here.test" }).find((one) => one.key === key)!;

/** Answers nothing, and keeps what it was asked for; names in `texts` hold one TXT. */
function source(texts: Record<string, string> = {}) {
  const asked: string[] = [];
  const lookup = (async (name: string, type: string) => {
    asked.push(`${name} ${type}`);
    const text = type === "TXT" ? texts[name] : undefined;
    if (text === undefined) return { kind: "nxdomain", chain: [], ttlSeconds: 60 };
    return { kind: "found", records: [{ name, type, ttl: 60, strings: [text] }], chain: [], ttlSeconds: 60 };
  }) as unknown as LookupFunction;
  return { asked, lookup };
}

test("each purpose asks for what it needs and for nothing else", async () => {
  const parts = async (key: RecordKey) => {
    const { asked, lookup } = source();
    return [Object.keys(await viewRecord(record(key), lookup)).sort(), asked.map((one) => one.split(" ")[1]).sort()];
  };
  assert.deepEqual(await parts("dkim1"), [
    ["cname", "txt"],
    ["CNAME", "TXT"],
  ]);
  assert.deepEqual(await parts("mx"), [["mx"], ["MX"]]);
  assert.deepEqual(await parts("mailFromMx"), [["mx"], ["MX"]]);
  assert.deepEqual(await parts("spf"), [["txt"], ["TXT"]]);
  assert.deepEqual(await parts("dmarc"), [
    ["organisation", "txt"],
    ["TXT", "TXT"],
  ]);
});

test("what a record includes, and the organisation above, are asked of others than the domain's own servers", async () => {
  const { name, value } = record("spf");
  const include = /include:(\S+)/.exec(value)![1]!;
  const own = source({ [name]: `v=spf1 include:else.test ${value.split(" ")[1]} ~all` });
  const others = source({ "else.test": "v=spf1 ip4:192.0.2.1 -all", [include]: "v=spf1 ip4:192.0.2.2 -all" });
  const view = await viewRecord(record("spf"), own.lookup, others.lookup);
  assert.equal(view.spf?.kind, "authorised");
  assert.deepEqual(own.asked, [`${name} TXT`]);
  assert.ok(others.asked.every((one) => !one.startsWith(`${name} `)));

  const [mine, theirs] = [source(), source()];
  const { organisation } = await viewRecord(record("dmarc"), mine.lookup, theirs.lookup);
  assert.equal(organisation?.name, "_dmarc.there.test");
  assert.deepEqual(theirs.asked, ["_dmarc.there.test TXT"]);
});
