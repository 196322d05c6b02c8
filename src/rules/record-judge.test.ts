import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { test } from "node:test";
import { canonicalName, type Lookup, type LookupFunction, type LookupType } from "../mail/dns-record.ts";
import { askedRecords, type RecordKey } from "./dns-records.ts";
import { judgeRecord, type RecordState } from "./record-judge.ts";
import { viewRecord } from "./record-view.ts";

type Value = string | string[];
/** "name TYPE" to what is there, or to how the look-up fails; what is not listed does not exist. */
type Table = Record<string, Value[] | "servfail" | "refused" | "timeout">;
type Case = {
  about: string;
  domain?: string;
  record: RecordKey;
  dns: Table;
  authoritative?: Table;
  misplacedAt?: string;
  previous?: RecordState;
  expected: { status: string; discoveredValue: string; note?: string; waiting?: boolean; unanswered?: boolean };
};

const corpus = join(import.meta.dirname, "../../test/corpus");
const keys: Record<string, string> = JSON.parse(readFileSync(join(corpus, "dns-findings-keys.json"), "utf8"));
const files = globSync(join(corpus, "dns-findings/*.json")).sort();

test("the corpus is there", () => assert.ok(files.length >= 60, `${files.length} files`));

for (const file of files) {
  test(`finding: ${basename(file, ".json")}`, async () => {
    const text = readFileSync(file, "utf8").replace(
      /\$([A-Z_0-9]+)/g,
      (_, name: string) => keys[name] ?? assert.fail(name),
    );
    const one: Case = JSON.parse(text);
    const registration = { domain: one.domain ?? "shop.example", token: "k3xq7vbn2m", zone: "mail.posthorn.test" };
    const record = askedRecords({ ...registration, publicKeys: [keys.KEY, undefined] }).find(
      ({ key }) => key === one.record,
    );
    assert.ok(record);
    const recursive = await viewRecord(record, lookupIn(one.dns));
    const authoritative =
      one.authoritative && (await viewRecord(record, lookupIn(one.authoritative), lookupIn(one.dns)));
    const judgement = judgeRecord(record, { recursive, authoritative, misplacedAt: one.misplacedAt }, one.previous);
    assert.equal(judgement.status, one.expected.status, one.about);
    assert.equal(judgement.discoveredValue, one.expected.discoveredValue, one.about);
    assert.ok(judgement.note.includes(one.expected.note ?? ""), judgement.note);
    assert.equal(judgement.waiting, one.expected.waiting ?? false);
    assert.equal(judgement.unanswered, one.expected.unanswered ?? false);
  });
}

/** Follows aliases as a resolver does. */
function lookupIn(table: Table): LookupFunction {
  return async <T extends LookupType>(name: string, type: T): Promise<Lookup<T>> => {
    const chain: string[] = [];
    for (let owner = name; ; owner = chain.at(-1) ?? "") {
      const values = table[`${owner} ${type}`];
      if (values === "timeout") return { kind: "timeout" };
      if (typeof values === "string") return { kind: "servfail", reason: values };
      if (values !== undefined) {
        const records = values.map((value) => ({ name: owner, ttl: 60, type, ...dataOf(type, value) }));
        return { kind: "found", records, chain, ttlSeconds: 60 } as unknown as Lookup<T>;
      }
      const alias = table[`${owner} CNAME`];
      if (!Array.isArray(alias) || type === "CNAME") {
        const exists = Object.keys(table).some((key) => key.startsWith(`${owner} `));
        return { kind: exists ? "nodata" : "nxdomain", chain, ttlSeconds: 60 };
      }
      chain.push(canonicalName(String(alias[0])));
    }
  };
}

function dataOf(type: LookupType, value: Value): object {
  const [text = ""] = Array.isArray(value) ? value : [value];
  if (type === "TXT") return { strings: Array.isArray(value) ? value : [value] };
  if (type === "MX") return { priority: Number(text.split(" ")[0]), exchange: text.split(" ")[1] };
  return type === "A" ? { address: text } : { target: text };
}
