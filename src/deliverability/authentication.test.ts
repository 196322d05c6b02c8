import assert from "node:assert/strict";
import { test } from "node:test";
import type { LookupFunction } from "../dns/record.ts";
import { lookUpOrganizations } from "./authentication.ts";

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
