import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { z } from "zod";
import { parseAddress } from "../mail/address.ts";
import { judgeName, readEmail } from "./rules.ts";

describe("an address that a person types", () => {
  it("is stored in lower case, without surrounding spaces", () => {
    assert.equal(readEmail(" Ann.B+tag@Example.COM "), "ann.b+tag@example.com");
    assert.equal(readEmail("ann@bücher.example"), "ann@xn--bcher-kva.example");
  });

  for (const text of [
    "",
    "ann",
    "ann@",
    "@x.test",
    "Ann <ann@there.test>",
    "ä@there.test",
    "a b@there.test",
    "a\n@b.test",
    `${"x".repeat(250)}@there.test`,
  ])
    it(`is refused: ${JSON.stringify(text.slice(0, 30))}`, () => assert.equal(readEmail(text), undefined));
});

describe("an address that zod does not accept", () => {
  const locals = [
    "a",
    "a.b",
    "a..b",
    ".a",
    "a.",
    "a'b",
    "a'",
    "a+b",
    "a_",
    "-",
    "a!b",
    "a/b",
    "{a}",
    "a.'",
    "'.a",
    "a-.-b",
  ];
  const domains = [
    "x.test",
    "x",
    "x.t",
    "-x.test",
    "x-.test",
    "x.1test",
    "x.xn--p1ai",
    "1.2.3.4",
    "x.y.z.test",
    "x_y.test",
  ];
  it("is refused, and no other", () => {
    for (const local of locals)
      for (const domain of domains) {
        const email = `${local}@${domain}`;
        const { success } = z.email().safeParse(email);
        const mail = parseAddress(email).ok;
        assert.equal(readEmail(email), success && mail ? email : undefined, email);
      }
  });
});

describe("a name", () => {
  it("is any text of 1 to 100 characters on one line", () => {
    for (const name of ["A", "Żółć 名前 🎺", "x".repeat(100)]) assert.deepEqual(judgeName(name), []);
    for (const name of ["", "x".repeat(101), "a\nb", "a\u0000", "\u202eevil", "\ud800"])
      assert.equal(judgeName(name).length, 1, JSON.stringify(name));
  });
});
