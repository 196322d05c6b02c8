import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { BodyHash, relaxedBodyHash } from "./body-hash.ts";

const hashOf = (text: string) => createHash("sha256").update(text, "latin1").digest("base64");

/** The rules of RFC 6376 §3.4.4, one after the other. */
function relaxed(body: string): string {
  const reduced = body
    .replace(/[ \t]+/g, " ")
    .replace(/ (?=\r\n)| $/g, "")
    .replace(/(?:\r\n)+$/, "");
  return reduced === "" ? "" : `${reduced}\r\n`;
}

test("white space is reduced to one space and removed at line ends, and empty lines at the end are removed", () => {
  assert.equal(relaxedBodyHash(Buffer.from(" C \r\nD \t E\r\n\r\n\r\n")), hashOf(" C\r\nD E\r\n"));
  assert.equal(relaxedBodyHash(Buffer.from("plain\r\n")), hashOf("plain\r\n"));
  assert.equal(relaxedBodyHash(Buffer.from("no end")), hashOf("no end\r\n"));
  assert.equal(relaxedBodyHash(Buffer.from("\r\n\r\n")), hashOf(""));
  assert.equal(relaxedBodyHash(Buffer.from("")), hashOf(""));
});

test("the hash follows the rules and is the same however the body is cut", () => {
  const body = fc.array(fc.constantFrom("\r\n", "\r", "\n", " ", "\t", "  ", "a", ".", "\xe4", "QUJD\r\n"), {
    maxLength: 40,
  });
  fc.assert(
    fc.property(body, fc.array(fc.nat(40)), (some, cuts) => {
      const bytes = Buffer.from(some.join(""), "latin1");
      const expected = hashOf(relaxed(bytes.toString("latin1")));
      assert.equal(relaxedBodyHash(bytes), expected);
      const hash = new BodyHash();
      let from = 0;
      for (const cut of [...cuts, bytes.length].sort((a, b) => a - b)) {
        const piece = bytes.subarray(from, Math.max(from, Math.min(cut, bytes.length)));
        from += piece.length;
        if (/^(?:[A-Z]{4}\r\n)+$/.test(piece.toString("latin1"))) hash.addPlainLines(piece);
        else hash.add(piece);
      }
      assert.equal(hash.digest(), expected);
    }),
    { numRuns: 2000 },
  );
});

test("a body of a million empty lines in small pieces costs little more than in one", () => {
  const hash = new BodyHash();
  const lines = Buffer.from("\r\n".repeat(1000));
  for (let i = 0; i < 1000; i++) hash.add(lines);
  hash.add(Buffer.from("x\r\n"));
  assert.equal(hash.digest(), hashOf(`${"\r\n".repeat(1_000_000)}x\r\n`));
});
