import assert from "node:assert/strict";
import { test } from "node:test";
import { mergeSpf, unquote } from "./spf-merge.ts";

const include = "include:spf.mail.test";

const cases: { about: string; texts: string[]; merged: string | undefined }[] = [
  {
    about: "the include goes before all",
    texts: ["v=spf1 include:_spf.office.example ip4:192.0.2.1 -all"],
    merged: "v=spf1 include:_spf.office.example ip4:192.0.2.1 include:spf.mail.test -all",
  },
  {
    about: "two records become one, without repeated terms, with the lenient all",
    texts: ["v=spf1 mx include:a.example -all", "v=spf1 MX include:b.example ~all"],
    merged: "v=spf1 mx include:a.example include:b.example include:spf.mail.test ~all",
  },
  {
    about: "an include that exists is moved before all, not repeated",
    texts: ["v=spf1 -all include:spf.mail.test."],
    merged: "v=spf1 include:spf.mail.test -all",
  },
  { about: "quotes are removed", texts: ['"v=spf1 a -all"'], merged: "v=spf1 a include:spf.mail.test -all" },
  {
    about: "a redirect stays last in a single record",
    texts: ["v=spf1 redirect=_spf.office.example"],
    merged: "v=spf1 include:spf.mail.test redirect=_spf.office.example",
  },
  {
    about: "next to another record, a redirect becomes an include",
    texts: ["v=spf1 redirect=_spf.office.example", "v=spf1 a ?all"],
    merged: "v=spf1 include:_spf.office.example a include:spf.mail.test ?all",
  },
  {
    about: "a redirect that all hides stays ignored",
    texts: ["v=spf1 a -all redirect=x.example"],
    merged: "v=spf1 a include:spf.mail.test -all",
  },
  { about: "a record without all gets ~all", texts: ["v=spf1 a"], merged: "v=spf1 a include:spf.mail.test ~all" },
  {
    about: "+all does not survive",
    texts: ["v=spf1 +all", "v=spf1 a -all"],
    merged: "v=spf1 a include:spf.mail.test ~all",
  },
  {
    about: "exp= is kept once",
    texts: ["v=spf1 a exp=why.example -all", "v=spf1 exp=other.example -all"],
    merged: "v=spf1 a include:spf.mail.test -all exp=why.example",
  },
  { about: "an invalid record cannot be merged", texts: ["v=spf1 includes:x.example -all"], merged: undefined },
  { about: "texts that are not SPF do not count", texts: ["google-site-verification=1"], merged: undefined },
];

for (const { about, texts, merged } of cases) {
  test(`SPF merge: ${about}`, () => assert.equal(mergeSpf(texts, include), merged));
}

test("quotation marks and white space are removed only at the ends", () => {
  assert.equal(unquote(" “v=spf1 a -all” "), "v=spf1 a -all");
  assert.equal(unquote('a "b" c'), 'a "b" c');
  assert.equal(unquote(' "" '), "");
  const began = performance.now();
  const hostile = `x${" ".repeat(65_000)}x`;
  assert.equal(unquote(hostile), hostile);
  // A pattern that tries every position took 27 s.
  assert.ok(performance.now() - began < 5_000);
});
