import assert from "node:assert/strict";
import { test } from "node:test";
import { ownAddresses } from "./reports.ts";

test("own addresses are recognized in every form that a setting may have", () => {
  const isOwn = ownAddresses({ publicIps: ["203.0.113.5", "2001:DB8:0:0::5"], sources: [] });
  for (const ip of ["203.0.113.5", "2001:db8::5"]) assert.ok(isOwn(ip), ip);
  assert.ok(!isOwn("2001:db8::6"));
});
