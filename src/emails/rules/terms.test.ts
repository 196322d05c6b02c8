import assert from "node:assert/strict";
import { test } from "node:test";
import { destinationTerm, matches, metadataTerm, parseSearch, termsOf } from "./terms.ts";

const email = {
  subject: "Rechnung Nr. 4711: Ihre Bestellung – Grüße aus ＫÖLN",
  addresses: ["Jane.Smith+orders@mail.Contoso.test", "bo@fabrikam.test"],
  metadata: { order: "4711", tenant: "a" },
};

/** The index leads to the email, and the exact check keeps it. */
function finds(text: string): boolean {
  const words = parseSearch(text);
  const terms = new Set(termsOf(email));
  const led = words.every((word) => word.terms.some((term) => terms.has(term)));
  const kept = matches(email, words);
  assert.ok(!kept || led, `the index misses ${text}`);
  return kept;
}

test("an email has the term of each recipient's domain, however many parts the address has", () => {
  for (const address of ["ann@there.test", "a.b.c.d.e.f.g.h.i@there.test", "x-1_2+3.4-5_6+7.8-9@there.test"])
    assert.ok(
      termsOf({ subject: "", addresses: [address], metadata: {} }).includes(destinationTerm("there.test")!),
      address,
    );
});

test("words of the subject are found in any case, with accents and wide letters folded as Unicode does", () => {
  for (const text of ["rechnung", "RECHNUNG bestellung", "4711", "% 4711", "nr. 4711:", "grüße", "köln", "gru\u0308ße"])
    assert.equal(finds(text), true, text);
  for (const text of ["rechn", "rechnung 4712", "nr. 4712", "…"]) assert.equal(finds(text), false, text);
});

test("an address is found by the beginning of each of its parts", () => {
  const found = ["jane", "Jane.Sm", "smith+", "smith", "orders@mail", "mail.contoso.test", "contoso", "@contoso.t"];
  for (const text of [...found, "jane.smith+orders@mail.contoso.test", "<bo@fabrikam.test>", "fab", "contoso 4711"])
    assert.equal(finds(text), true, text);
  for (const text of ["mith", "ja", "ontoso", "jane.smith@", "test", "contoso 4712"])
    assert.equal(finds(text), false, text);
});

test("a metadata entry has one term, which belongs to its key and its value", () => {
  const terms = new Set(termsOf(email));
  assert.ok(terms.has(metadataTerm("order", "4711")));
  assert.ok(!terms.has(metadataTerm("tenant", "4711")));
  assert.ok(!terms.has(metadataTerm("order4711", "")));
});

test("a hostile search is parsed in time that grows with its length only", () => {
  const began = performance.now();
  for (const text of [`${">".repeat(200_000)}x`, "<".repeat(200_000), "@".repeat(200_000)]) parseSearch(text);
  // A pattern that tries every position took 20 s for a third of this length.
  assert.ok(performance.now() - began < 5_000);
});

test("terms fit a bigint, are different, and their number is bounded", () => {
  const many = {
    subject: Array.from({ length: 300 }, (_, i) => `word${i}`).join(" "),
    addresses: Array.from({ length: 50 }, (_, i) => `a.b.c.d.e.f.g.h.i.j.k.l.${i}@many.labels.in.this.domain.test`),
    metadata: {},
  };
  const terms = termsOf(many);
  assert.equal(new Set(terms).size, terms.length);
  assert.ok(terms.length <= 32 + 50 * 8 * 3, String(terms.length));
  assert.ok(terms.every((term) => BigInt.asIntN(64, term) === term));
});
