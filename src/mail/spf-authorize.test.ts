import assert from "node:assert/strict";
import { test } from "node:test";
import type { Lookup, LookupFunction, LookupType } from "../dns/record.ts";
import { authorizeSpf } from "./spf-authorize.ts";

const target = "spf.mail.test";

/** A lookup in a table from "name TYPE" to values. Other names do not exist. */
function lookupIn(table: Record<string, string[] | "servfail" | "timeout">): LookupFunction {
  return async <T extends LookupType>(name: string, type: T): Promise<Lookup<T>> => {
    const values = table[`${name} ${type}`];
    if (values === "servfail") return { kind: "servfail", reason: "servfail" };
    if (values === "timeout") return { kind: "timeout" };
    if (values === undefined) return { kind: "nxdomain", chain: [], ttlSeconds: 60 };
    const records = values.map((value) => ({
      name,
      ttl: 60,
      type,
      strings: [value],
      address: value,
      exchange: value,
      priority: 1,
    }));
    return { kind: "found", records, chain: [], ttlSeconds: 60 } as unknown as Lookup<T>;
  };
}

const many = (count: number): Record<string, string[]> =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`i${i}.test TXT`, ["v=spf1 ip4:192.0.2.1 -all"]]));
const includes = (count: number): string => Array.from({ length: count }, (_, i) => `include:i${i}.test`).join(" ");

type Case = [
  about: string,
  texts: string[],
  table: Record<string, string[] | "servfail" | "timeout">,
  kind: string,
  problem?: RegExp,
];
const cases: Case[] = [
  ["the recommended record", [`v=spf1 include:${target} ~all`], {}, "authorized"],
  ["upper case", [`V=SPF1 INCLUDE:SPF.Mail.Test. -ALL`], {}, "authorized"],
  [
    "the include after another mechanism",
    ["v=spf1 a:x.test include:spf.mail.test -all"],
    { "x.test A": ["192.0.2.1"] },
    "authorized",
  ],
  ["no SPF record", ["google-site-verification=1"], {}, "none"],
  ["two SPF records", ["v=spf1 -all", `v=spf1 include:${target} -all`], {}, "multiple"],
  ["without the include", ["v=spf1 ip4:192.0.2.1 -all"], {}, "not_authorized"],
  ["the include after all", [`v=spf1 -all include:${target}`], {}, "not_authorized"],
  ["the include as a soft fail", [`v=spf1 ~include:${target} -all`], {}, "not_authorized"],
  ["the include as neutral", [`v=spf1 ?include:${target} -all`], {}, "not_authorized"],
  [
    "through another include",
    ["v=spf1 include:a.test -all"],
    { "a.test TXT": [`v=spf1 include:${target} -all`] },
    "authorized",
  ],
  [
    "through a soft-failing include",
    ["v=spf1 include:a.test -all"],
    { "a.test TXT": [`v=spf1 ~include:${target} -all`] },
    "not_authorized",
  ],
  ["through a redirect", ["v=spf1 redirect=a.test"], { "a.test TXT": [`v=spf1 include:${target} -all`] }, "authorized"],
  ["a redirect to the service's name", [`v=spf1 redirect=${target}`], {}, "authorized"],
  [
    "a redirect after all is ignored",
    ["v=spf1 -all redirect=a.test"],
    { "a.test TXT": [`v=spf1 include:${target}`] },
    "not_authorized",
  ],
  [
    "an include without a record",
    [`v=spf1 include:gone.test include:${target} -all`],
    {},
    "permerror",
    /gone\.test has no SPF/,
  ],
  [
    "an include with two records",
    ["v=spf1 include:a.test"],
    { "a.test TXT": ["v=spf1", "v=spf1"] },
    "permerror",
    /more than one/,
  ],
  [
    "an include with an invalid record",
    ["v=spf1 include:a.test"],
    { "a.test TXT": ["v=spf1 nonsense"] },
    "permerror",
    /a\.test is invalid/,
  ],
  ["an include whose lookup times out", ["v=spf1 include:a.test"], { "a.test TXT": "timeout" }, "temperror", /a\.test/],
  ["an include whose lookup fails", ["v=spf1 include:a.test"], { "a.test TXT": "servfail" }, "temperror", /a\.test/],
  ["nine lookups before the include", [`v=spf1 ${includes(9)} include:${target} -all`], many(9), "authorized"],
  [
    "ten lookups before the include",
    [`v=spf1 ${includes(10)} include:${target} -all`],
    many(10),
    "permerror",
    /10 DNS lookups/,
  ],
  [
    "an include of itself",
    ["v=spf1 include:a.test"],
    { "a.test TXT": ["v=spf1 include:a.test"] },
    "permerror",
    /10 DNS/,
  ],
  ["two void lookups", [`v=spf1 a:x.test mx:y.test include:${target}`], {}, "authorized"],
  ["three void lookups", [`v=spf1 a:x.test mx:y.test a:z.test include:${target}`], {}, "permerror", /z\.test/],
  [
    "macros count as lookups and are not followed",
    [`v=spf1 exists:%{i}.a.test include:%{d}.b.test include:${target}`],
    {},
    "authorized",
  ],
  ["+all authorizes every sender", ["v=spf1 +all"], {}, "authorized", /every machine/],
];

for (const [about, texts, table, kind, problem] of cases) {
  test(`SPF: ${about}`, async () => {
    const verdict = await authorizeSpf({ texts, name: "example.test", target, lookup: lookupIn(table) });
    assert.equal(verdict.kind, kind);
    assert.match(verdict.problem, problem ?? /.*/);
  });
}

test("the verdict counts the lookups that a receiver makes before it has a result", async () => {
  const texts = [`v=spf1 a mx include:i0.test include:${target} include:i1.test -all`];
  const verdict = await authorizeSpf({ texts, name: "example.test", target, lookup: lookupIn(many(2)) });
  assert.equal(verdict.lookups, 4);
});
