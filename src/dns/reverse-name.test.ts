import assert from "node:assert/strict";
import { test } from "node:test";
import { reverseName } from "./reverse-name.ts";

test("an address has a name in reverse DNS", () => {
  assert.equal(reverseName("192.0.2.7"), "7.2.0.192.in-addr.arpa");
  assert.equal(reverseName("2001:db8::1"), `1.${"0.".repeat(23)}8.b.d.0.1.0.0.2.ip6.arpa`);
});
