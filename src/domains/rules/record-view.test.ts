import assert from "node:assert/strict";
import { test } from "node:test";
import type { LookupFunction } from "../../dns/record.ts";
import { viewRecord } from "./record-view.ts";
import { expectedRecords, type RecordKey } from "./records.ts";

const record = (key: RecordKey) =>
  expectedRecords({ domain: "shop.there.test", token: "abc", zone: "mail.here.test" }).find((one) => one.key === key)!;

/** A DNS source that keeps its queries. Each name in `texts` has one TXT record; no other name exists. */
function source(texts: Record<string, string> = {}) {
  const queries: string[] = [];
  const lookup = (async (name: string, type: string) => {
    queries.push(`${name} ${type}`);
    const text = type === "TXT" ? texts[name] : undefined;
    if (text === undefined) return { kind: "nxdomain", chain: [], ttlSeconds: 60 };
    return { kind: "found", records: [{ name, type, ttl: 60, strings: [text] }], chain: [], ttlSeconds: 60 };
  }) as unknown as LookupFunction;
  return { queries, lookup };
}

test("each purpose queries only the record types that it needs", async () => {
  const parts = async (key: RecordKey) => {
    const { queries, lookup } = source();
    return [Object.keys(await viewRecord(record(key), lookup)).sort(), queries.map((one) => one.split(" ")[1]).sort()];
  };
  assert.deepEqual(await parts("dkim1"), [
    ["cname", "txt"],
    ["CNAME", "TXT"],
  ]);
  assert.deepEqual(await parts("mx"), [["mx"], ["MX"]]);
  assert.deepEqual(await parts("mailFromMx"), [["mx"], ["MX"]]);
  assert.deepEqual(await parts("spf"), [["txt"], ["TXT"]]);
  assert.deepEqual(await parts("dmarc"), [
    ["parents", "txt"],
    ["TXT", "TXT", "TXT"],
  ]);
});

test("SPF includes and the DMARC records of parents are not looked up at the domain's own servers", async () => {
  const { name, value } = record("spf");
  const include = /include:(\S+)/.exec(value)![1]!;
  const own = source({ [name]: `v=spf1 include:else.test ${value.split(" ")[1]} ~all` });
  const others = source({ "else.test": "v=spf1 ip4:192.0.2.1 -all", [include]: "v=spf1 ip4:192.0.2.2 -all" });
  const view = await viewRecord(record("spf"), own.lookup, others.lookup);
  assert.equal(view.spf?.kind, "authorized");
  assert.deepEqual(own.queries, [`${name} TXT`]);
  assert.ok(others.queries.every((one) => !one.startsWith(`${name} `)));

  const [mine, theirs] = [source(), source()];
  const { parents } = await viewRecord(record("dmarc"), mine.lookup, theirs.lookup);
  assert.deepEqual(
    parents?.map(({ domain }) => domain),
    ["there.test", "test"],
  );
  assert.deepEqual(theirs.queries, ["_dmarc.there.test TXT", "_dmarc.test TXT"]);
});

test("a DMARC record of the domain itself decides while its parents do not answer", async () => {
  const own = source({ "_dmarc.shop.there.test": "v=DMARC1; p=none" });
  const never: LookupFunction = () => new Promise(() => {});
  const { parents, txt } = await viewRecord(record("dmarc"), own.lookup, never);
  assert.deepEqual([parents, txt?.kind], [undefined, "found"]);
});
