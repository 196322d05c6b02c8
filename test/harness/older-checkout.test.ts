import assert from "node:assert/strict";
import { test } from "node:test";
import { checkOut } from "./older-checkout.ts";

test("a commit that is not in the history is a reason to skip, also where foreign programs are required", async (t) => {
  const before = process.env.TEST_REQUIRE_FOREIGN;
  t.after(() => {
    if (before === undefined) delete process.env.TEST_REQUIRE_FOREIGN;
    else process.env.TEST_REQUIRE_FOREIGN = before;
  });
  process.env.TEST_REQUIRE_FOREIGN = "1";
  // The second reason is that of a copy of this folder without its repository.
  assert.match(String(await checkOut("1".repeat(40))), /is not in the history of this checkout|git cannot read/);
});
