import assert from "node:assert/strict";
import { test } from "node:test";
import type { TestEvent } from "node:test/reporters";
import skippedPrograms from "./skipped-programs.ts";

async function report(events: object[]): Promise<string> {
  async function* source() {
    yield* events as TestEvent[];
  }
  let text = "";
  for await (const line of skippedPrograms(source())) text += line;
  return text;
}

const pass = (skip?: string | boolean) => ({ type: "test:pass", data: { name: "x", skip } });

test("each missing program gets one line with the number of skipped tests and the install command", async () => {
  const curl = "needs curl (apt-get install curl)";
  const dns = "needs named (apt-get install bind9), needs dig (apt-get install bind9-dnsutils)";
  const text = await report([pass(curl), pass(dns), pass(), pass(curl), pass("Linux only"), pass(true)]);
  assert.equal(
    text,
    [
      "curl is missing: 2 tests were skipped. Install it: apt-get install curl",
      "dig is missing: 1 test was skipped. Install it: apt-get install bind9-dnsutils",
      "named is missing: 1 test was skipped. Install it: apt-get install bind9",
      "",
    ].join("\n"),
  );
});

test("a run without missing programs prints nothing", async () => {
  assert.equal(await report([pass(), { type: "test:fail", data: { name: "y" } }]), "");
});
