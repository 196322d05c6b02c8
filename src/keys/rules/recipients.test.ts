import assert from "node:assert/strict";
import { test } from "node:test";
import { allowsRecipient, containsRecipients, readRecipientRule } from "./recipients.ts";

test("rules are addresses, domains and subdomains of a domain", () => {
  const cases: [string, string][] = [
    ["QA@Example.com", "qa@example.com"],
    ["Example.COM", "example.com"],
    ["*.Example.com", "*.example.com"],
    ["bücher.example", "xn--bcher-kva.example"],
    ["a@bücher.example", "a@xn--bcher-kva.example"],
  ];
  for (const [text, rule] of cases) assert.deepEqual(readRecipientRule(text), { ok: true, rule }, text);
  const wrong = [
    "",
    "*",
    "*@example.com,b",
    "QA <qa@example.com>",
    "<qa@example.com>",
    "com",
    "*.com",
    "a.*.example.com",
  ];
  wrong.push("10.0.0.1", "@example.com", "qa@", "*.*.example.com", "example.com/", "a b@example.com");
  for (const text of wrong) assert.equal(readRecipientRule(text).ok, false, text);
});

test("a domain does not include its subdomains, and a star does not include the domain", () => {
  const rules = ["qa@example.com", "staging.example", "*.example.org"];
  const allowed = ["qa@example.com", "QA@EXAMPLE.com", "a@staging.example", "a@b.example.org", "a@c.b.example.org"];
  for (const address of allowed) assert.ok(allowsRecipient(rules, address), address);
  const refused = [
    "other@example.com",
    "a@b.staging.example",
    "a@example.org",
    "a@evilexample.org",
    "a@xstaging.example",
  ];
  refused.push('"qa@example.com"@evil.test', "qa@example.com.evil.test");
  for (const address of refused) assert.ok(!allowsRecipient(rules, address), address);
});

test("a rule contains the rules that allow less", () => {
  const inside: [string, string][] = [
    ["example.com", "qa@example.com"],
    ["*.example.com", "a.example.com"],
    ["*.example.com", "*.a.example.com"],
    ["*.example.com", "qa@a.example.com"],
    ["qa@example.com", "qa@example.com"],
  ];
  for (const [outer, inner] of inside) assert.ok(containsRecipients(outer, inner), `${outer} > ${inner}`);
  const outside: [string, string][] = [
    ["qa@example.com", "example.com"],
    ["example.com", "*.example.com"],
    ["example.com", "a.example.com"],
    ["*.example.com", "example.com"],
    ["*.example.com", "*.evilexample.com"],
    ["*.a.example.com", "*.example.com"],
    ["a.example.com", "*.a.example.com"],
  ];
  for (const [outer, inner] of outside) assert.ok(!containsRecipients(outer, inner), `${outer} > ${inner}`);
});
