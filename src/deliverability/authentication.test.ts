import assert from "node:assert/strict";
import { test } from "node:test";
import { patienceMs } from "../../test/harness/wait.ts";
import type { LookupFunction } from "../dns/record.ts";
import type { Resolver } from "../dns/resolver.ts";
import { limited, lookUpOrganizations, lookUpSpf } from "./authentication.ts";

/** Answers TXT questions from a table; the value `silent` is a time-out. */
function dns(table: Record<string, string>): { lookup: LookupFunction; asked: string[] } {
  const asked: string[] = [];
  const lookup = async (name: string) => {
    asked.push(name);
    const value = table[name];
    if (value === undefined) return { kind: "nxdomain" };
    if (value === "silent") return { kind: "timeout" };
    return { kind: "found", records: [{ type: "TXT", name, ttl: 60, strings: [value] }] };
  };
  return { lookup: lookup as unknown as LookupFunction, asked };
}

test("organizational domains come from the tree walk, and each name is asked once", async () => {
  const { lookup, asked } = dns({
    "_dmarc.example.com": "v=DMARC1; p=none",
    "_dmarc.news.example.com": "v=DMARC1; p=none; psd=n",
  });
  const names = ["example.com", "bounce.example.com", "news.example.com", "bounce.news.example.com"];
  assert.deepEqual(
    [...(await lookUpOrganizations(names, lookup))],
    [
      ["example.com", "example.com"],
      ["bounce.example.com", "example.com"],
      ["news.example.com", "news.example.com"],
      ["bounce.news.example.com", "news.example.com"],
    ],
  );
  assert.equal(new Set(asked).size, asked.length);
});

test("without any record the registrable domain is taken, and without an answer the name is missing", async () => {
  const none = await lookUpOrganizations(["bounce.example.co.uk"], dns({}).lookup);
  assert.deepEqual([...none], [["bounce.example.co.uk", "example.co.uk"]]);
  const silent = await lookUpOrganizations(["a.example.com"], dns({ "_dmarc.a.example.com": "silent" }).lookup);
  assert.equal(silent.size, 0);
});

const textRecord = (value: string) => ({ type: "TXT", strings: [value] });

/** The result of SPF for 1.2.3.4 when each name has these TXT values, and the number of questions. */
async function spfOf(textsOf: (name: string) => string[]): Promise<{ result: string; asked: number }> {
  let asked = 0;
  const lookup = async (name: string, type: string) => {
    asked += 1;
    return type === "TXT" ? { kind: "found", records: textsOf(name).map(textRecord) } : { kind: "nxdomain" };
  };
  const resolver = { lookup, stop() {} } as unknown as Resolver;
  const hosts = [{ address: "1.2.3.4", helo: "mx.mail.test" }];
  const signal = AbortSignal.timeout(patienceMs);
  const [one] = await lookUpSpf(hosts, { domain: "bounce.example.com", resolver, signal });
  return { result: one!.result, asked };
}

test("SPF records of a hostile owner are read within bounds", async () => {
  const good = "v=spf1 ip4:1.2.3.4 -all";
  const others = Array.from({ length: 30 }, (_, i) => `site-verification=${i}`);
  assert.equal((await spfOf(() => [...others, good])).result, "pass");
  const filler = "ip4:198.51.100.0/24 ";
  assert.equal((await spfOf(() => [good.replace("ip4", `${filler.repeat(3000)}ip4`)])).result, "none", "too long");
  const endless = await spfOf((name) => [`v=spf1 ${filler.repeat(190)}include:a.${name} -all`]);
  assert.deepEqual(endless, { result: "temperror", asked: 5 });
});

test("an answer has at most fifty records, and an evaluation thirty questions", async () => {
  const resolve = limited(async () => Array.from({ length: 4000 }, () => "198.51.100.1"));
  assert.equal((await resolve("a.test", "A")).length, 50);
  for (let i = 1; i < 30; i += 1) await resolve("a.test", "A");
  await assert.rejects(async () => await resolve("a.test", "A"), /too many DNS queries/);
});
