import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { test } from "node:test";
import { canonicalName, type Lookup, type LookupFunction, type LookupType } from "../../dns/record.ts";
import { judgeDkim, judgeDmarc, judgeMx, judgeRecord, judgeSpf, judgeTlsReport, type RecordState } from "./judge.ts";
import { type RecordView, viewRecord } from "./record-view.ts";
import { expectedRecords, type RecordKey } from "./records.ts";

type Value = string | string[];
/** Maps "name TYPE" to its values, or to how the lookup fails. A name that is not listed does not exist. */
type Table = Record<string, Value[] | "servfail" | "refused" | "timeout">;
type Case = {
  about: string;
  domain?: string;
  record: RecordKey;
  dns: Table;
  authoritative?: Table;
  misplacedAt?: string;
  previous?: RecordState;
  expected: {
    status: string;
    discoveredValue: string;
    note?: string;
    mergedValue?: string;
    waiting?: boolean;
    unanswered?: boolean;
  };
};

const corpus = join(import.meta.dirname, "../../../test/corpus");
const keys: Record<string, string> = JSON.parse(readFileSync(join(corpus, "dns-findings-keys.json"), "utf8"));
const files = globSync(join(corpus, "dns-findings/*.json")).sort();

test("the corpus has at least 60 findings", () => assert.ok(files.length >= 60, `${files.length} files`));

for (const file of files) {
  test(`finding: ${basename(file, ".json")}`, async () => {
    const text = readFileSync(file, "utf8").replace(
      /\$([A-Z_0-9]+)/g,
      (_, name: string) => keys[name] ?? assert.fail(name),
    );
    const one: Case = JSON.parse(text);
    const registration = { domain: one.domain ?? "shop.example", token: "k3xq7vbn2m", zone: "mail.posthorn.test" };
    const record = expectedRecords({ ...registration, publicKeys: [keys.KEY, undefined] }).find(
      ({ key }) => key === one.record,
    );
    assert.ok(record);
    const recursive = await viewRecord(record, lookupIn(one.dns));
    const authoritative =
      one.authoritative && (await viewRecord(record, lookupIn(one.authoritative), lookupIn(one.dns)));
    const judgment = judgeRecord(record, { recursive, authoritative, misplacedAt: one.misplacedAt }, one.previous);
    assert.equal(judgment.status, one.expected.status, one.about);
    assert.equal(judgment.discoveredValue, one.expected.discoveredValue, one.about);
    assert.ok(judgment.note.includes(one.expected.note ?? ""), judgment.note);
    if (one.expected.mergedValue !== undefined) assert.equal(judgment.mergedValue ?? "", one.expected.mergedValue);
    assert.equal(judgment.waiting, one.expected.waiting ?? false);
    assert.equal(judgment.unanswered, one.expected.unanswered ?? false);
  });
}

/** Follows CNAME records as a resolver does. */
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

const record = (key: RecordKey) =>
  expectedRecords({ domain: "there.test", token: "abc", zone: "mail.here.test" }).find((one) => one.key === key)!;
const around = { chain: [], ttlSeconds: 60 };
const nothing = { kind: "nodata" as const, ...around };
const txt = (...texts: string[]) =>
  ({ kind: "found", records: texts.map((text) => ({ strings: [text] })), ...around }) as unknown as Lookup<"TXT">;
const cname = (target: string) => ({ kind: "found", records: [{ target }], ...around }) as unknown as Lookup<"CNAME">;
const mx = (...hosts: [number, string][]) =>
  ({
    kind: "found",
    records: hosts.map(([priority, exchange]) => ({ priority, exchange })),
    ...around,
  }) as unknown as Lookup<"MX">;

test("an absent record is missing, and without an answer the status is unknown", () => {
  assert.equal(judgeDkim(record("dkim1"), { cname: nothing, txt: nothing }).status, "missing");
  assert.equal(judgeSpf(record("spf"), { txt: nothing }).status, "missing");
  assert.equal(judgeDmarc(record("dmarc"), { txt: nothing }).status, "missing");
  assert.equal(judgeMx(record("mx"), { mx: nothing }).status, "missing");
  const silent = { kind: "timeout" as const };
  const failed = { kind: "servfail" as const, reason: "refused" as const };
  assert.equal(judgeDkim(record("dkim1"), { cname: silent, txt: silent }).status, "unknown");
  assert.equal(judgeSpf(record("spf"), { txt: silent }).status, "unknown");
  assert.deepEqual(judgeMx(record("mx"), { mx: failed }), {
    status: "unknown",
    discoveredValue: "",
    note: "DNS failed (refused)",
  });
});

test("DKIM: our CNAME is found in any letter case; other targets and keys are explained in the note", () => {
  const { value } = record("dkim1");
  assert.equal(judgeDkim(record("dkim1"), { cname: cname(`${value.toUpperCase()}.`), txt: nothing }).status, "found");
  assert.match(judgeDkim(record("dkim1"), { cname: cname("else.test"), txt: nothing }).note, /points to another name/);
  assert.match(
    judgeDkim(record("dkim1"), { cname: cname(`${value}.there.test`), txt: nothing }).note,
    /end the value with a dot/,
  );
  assert.match(judgeDkim(record("dkim1"), { cname: nothing, txt: txt("v=DKIM1; p=") }).note, /revoked/);
  assert.match(judgeDkim(record("dkim1"), { cname: nothing, txt: txt("a", "b") }).note, /several TXT/);
});

test("SPF: the note explains a value that is almost right", () => {
  assert.match(judgeSpf(record("spf"), { txt: txt('"v=spf1 -all"') }).note, /quotation marks/);
  assert.match(judgeSpf(record("spf"), { txt: txt(" v=spf1 -all") }).note, /white space/);
  assert.match(judgeSpf(record("spf"), { txt: txt("spf1 -all") }).note, /must start with v=spf1/);
});

test("DMARC: a policy of a parent covers the domain, and two records do not count", () => {
  const policy = "v=DMARC1; p=none; rua=mailto:a@b.test";
  const judge = (view: RecordView) => judgeDmarc(record("dmarc"), view);
  const elsewhere = judge({ txt: txt(policy) });
  assert.equal(elsewhere.status, "found");
  assert.equal(
    elsewhere.note,
    "its reports go elsewhere; add ,mailto:abc@reports.mail.here.test to rua= to see them here",
  );
  const ours = record("dmarc").value;
  assert.deepEqual(judge({ txt: txt(ours) }), { status: "found", discoveredValue: ours, note: "" });
  assert.match(judge({ txt: txt("v=DMARC1; p=none") }).note, /no rua= .*; add rua=mailto:abc@reports/);
  assert.match(judge({ txt: txt(policy, policy) }).note, /several DMARC/);
  const covered = judge({ txt: nothing, parents: [{ domain: "test", txt: txt(policy) }] });
  assert.deepEqual([covered.status, covered.note], ["found", "covered by the policy at _dmarc.test"]);
});

test("DMARC: parents that do not answer leave the status unknown, unless a nearer parent has a policy", () => {
  const silent = { domain: "there.test", txt: { kind: "timeout" as const } };
  const near = { domain: "news.there.test", txt: txt("v=DMARC1; p=none") };
  const judge = (view: RecordView) => judgeDmarc({ ...record("dmarc"), domain: "a.news.there.test" }, view).status;
  assert.equal(judge({ txt: nothing, parents: [{ ...near, txt: nothing }, silent] }), "unknown");
  assert.equal(judge({ txt: txt("junk"), parents: [{ ...near, txt: nothing }, silent] }), "unknown");
  assert.equal(judge({ txt: nothing, parents: [near, silent] }), "found");
  assert.equal(judge({ txt: txt("v=DMARC1; p=perhaps"), parents: [near, silent] }), "mismatch");
});

test("DMARC: a check without an answer keeps the name of the parent whose policy covers the domain", () => {
  const cover = "covered by the policy at _dmarc.test";
  let state: RecordState = { status: "found", discoveredValue: "v=DMARC1; p=none", note: `${cover}; more` };
  for (let check = 0; check < 2; check++) {
    state = judgeRecord(record("dmarc"), { recursive: { txt: { kind: "timeout" } } }, state);
    assert.equal(state.note, `DNS did not answer in time; the last known status is kept; ${cover}`);
  }
  const silentTop: RecordView = { txt: nothing, parents: [{ domain: "test", txt: { kind: "timeout" } }] };
  state = judgeRecord(record("dmarc"), { recursive: silentTop }, state);
  assert.deepEqual([state.status, state.note], ["found", `${cover}; the last known status is kept`]);
});

test("MX: ours must come first; the note explains a null MX and an appended domain", () => {
  const { value } = record("mx");
  assert.equal(judgeMx(record("mx"), { mx: mx([20, "b.test"], [10, `${value}.`]) }).status, "found");
  assert.match(judgeMx(record("mx"), { mx: mx([5, "b.test"], [10, value]) }).note, /another host comes before/);
  assert.match(judgeMx(record("mx"), { mx: mx([0, "."]) }).note, /null MX/);
  assert.match(judgeMx(record("mx"), { mx: mx([10, `${value}.there.test`]) }).note, /end the value with a dot/);
  assert.match(judgeMx(record("mx"), { mx: mx([10, "b.test"]) }).note, /goes to another host/);
});

test("TLS reporting: the record must have an address of this service, and be the only one", () => {
  const expected = expectedRecords({ domain: "there.test", token: "abc", zone: "mail.here.test", canReceive: true }).at(
    -1,
  )!;
  assert.equal(expected.key, "tlsReport");
  const judge = (...texts: string[]) => judgeTlsReport(expected, { txt: txt(...texts) });
  assert.equal(judge(expected.value).status, "found");
  assert.equal(judge("unrelated").status, "missing");
  assert.equal(judgeTlsReport(expected, { txt: nothing }).status, "missing");
  assert.equal(judgeTlsReport(expected, { txt: { kind: "timeout" } }).status, "unknown");
  assert.match(judge(expected.value, expected.value).note, /several/);
  const other = judge("v=TLSRPTv1; rua=mailto:a@b.test");
  assert.equal(other.status, "mismatch");
  assert.equal(other.mergedValue, "v=TLSRPTv1; rua=mailto:a@b.test,mailto:abc@reports.mail.here.test");
});
