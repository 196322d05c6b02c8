import assert from "node:assert/strict";
import { test } from "node:test";
import type { Lookup, LookupFunction, LookupType } from "./dns-record.ts";
import { authoriseSpf } from "./spf-authorise.ts";

const target = "spf.mail.test";

/** DNS as a table: "name TYPE" to values; what is not in it does not exist. */
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
  ["the record we ask for", [`v=spf1 include:${target} ~all`], {}, "authorised"],
  ["written in another case", [`V=SPF1 INCLUDE:SPF.Mail.Test. -ALL`], {}, "authorised"],
  ["beside others", ["v=spf1 a:x.test include:spf.mail.test -all"], { "x.test A": ["192.0.2.1"] }, "authorised"],
  ["no SPF at all", ["google-site-verification=1"], {}, "none"],
  ["two records", ["v=spf1 -all", `v=spf1 include:${target} -all`], {}, "multiple"],
  ["without us", ["v=spf1 ip4:192.0.2.1 -all"], {}, "not_authorised"],
  ["behind all", [`v=spf1 -all include:${target}`], {}, "not_authorised"],
  ["as a soft fail", [`v=spf1 ~include:${target} -all`], {}, "not_authorised"],
  ["as neutral", [`v=spf1 ?include:${target} -all`], {}, "not_authorised"],
  [
    "through another include",
    ["v=spf1 include:a.test -all"],
    { "a.test TXT": [`v=spf1 include:${target} -all`] },
    "authorised",
  ],
  [
    "through a soft-failing include",
    ["v=spf1 include:a.test -all"],
    { "a.test TXT": [`v=spf1 ~include:${target} -all`] },
    "not_authorised",
  ],
  ["through a redirect", ["v=spf1 redirect=a.test"], { "a.test TXT": [`v=spf1 include:${target} -all`] }, "authorised"],
  ["redirect to our own name", [`v=spf1 redirect=${target}`], {}, "authorised"],
  [
    "a redirect behind all is void",
    ["v=spf1 -all redirect=a.test"],
    { "a.test TXT": [`v=spf1 include:${target}`] },
    "not_authorised",
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
    "a broken include",
    ["v=spf1 include:a.test"],
    { "a.test TXT": ["v=spf1 nonsense"] },
    "permerror",
    /a\.test is broken/,
  ],
  ["a silent include", ["v=spf1 include:a.test"], { "a.test TXT": "timeout" }, "temperror", /a\.test/],
  ["a failing include", ["v=spf1 include:a.test"], { "a.test TXT": "servfail" }, "temperror", /a\.test/],
  ["nine look-ups before us", [`v=spf1 ${includes(9)} include:${target} -all`], many(9), "authorised"],
  [
    "ten look-ups before us",
    [`v=spf1 ${includes(10)} include:${target} -all`],
    many(10),
    "permerror",
    /10 DNS look-ups/,
  ],
  [
    "an include of itself",
    ["v=spf1 include:a.test"],
    { "a.test TXT": ["v=spf1 include:a.test"] },
    "permerror",
    /10 DNS/,
  ],
  ["two void look-ups", [`v=spf1 a:x.test mx:y.test include:${target}`], {}, "authorised"],
  ["three void look-ups", [`v=spf1 a:x.test mx:y.test a:z.test include:${target}`], {}, "permerror", /z\.test/],
  [
    "macros are counted, not followed",
    [`v=spf1 exists:%{i}.a.test include:%{d}.b.test include:${target}`],
    {},
    "authorised",
  ],
  ["open to all", ["v=spf1 +all"], {}, "authorised", /every machine/],
];

for (const [about, texts, table, kind, problem] of cases) {
  test(`SPF: ${about}`, async () => {
    const verdict = await authoriseSpf({ texts, name: "example.test", target, lookup: lookupIn(table) });
    assert.equal(verdict.kind, kind);
    assert.match(verdict.problem, problem ?? /.*/);
  });
}

test("what a receiver asks before it knows is counted", async () => {
  const texts = [`v=spf1 a mx include:i0.test include:${target} include:i1.test -all`];
  const verdict = await authoriseSpf({ texts, name: "example.test", target, lookup: lookupIn(many(2)) });
  assert.equal(verdict.lookups, 4);
});
