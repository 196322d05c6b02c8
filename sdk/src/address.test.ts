/** Address objects: names need no quotes, and an object cannot smuggle in a second address. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseAddress } from "../../src/mail/address.ts";
import { bareAddress, toAddress, toAddresses } from "./address.ts";

test("the server reads the name and the address of an object, whatever the name contains", () => {
  for (const name of ["Ada", "Doe, Jane", 'The "Shop"', "a\\b", "Ünï ✓", "x <y@z.test>", "a@b.test", "(c); [d]: e."]) {
    const result = parseAddress(toAddress({ name, address: "ada@example.net" }, "to"));
    assert.ok(result.ok, name);
    assert.deepEqual([result.address.name, result.address.address], [name, "ada@example.net"]);
  }
  assert.equal(toAddress({ address: "ada@example.net", name: " " }, "to"), "ada@example.net");
  assert.equal(toAddress("Ada <ada@example.net>", "to"), "Ada <ada@example.net>");
  assert.equal(bareAddress({ name: "Ada", address: "ada@example.net" }, "to"), "ada@example.net");
  assert.deepEqual(toAddresses(undefined, "cc"), []);
});

test("wrong objects are rejected with the field", () => {
  const wrong: [input: unknown, field: string][] = [
    [7, "to"],
    [[["a@example.net"]], "to[0]"],
    [[null], "to[0]"],
    [{}, "to.address"],
    [[{ name: "Ada" }], "to[0].address"],
    [{ email: "ada@example.net" }, "to.email"],
    [{ address: "a@b.test>, <c@d.test" }, "to.address"],
    [{ address: "a@b.test\r\nBcc: c@d.test" }, "to.address"],
    [{ address: "a@b.test", name: "Ada\r\nBcc: c@d.test" }, "to.name"],
    [{ address: "a@b.test", name: 7 }, "to.name"],
  ];
  for (const [input, field] of wrong) {
    assert.throws(
      () => toAddresses(input as never, "to"),
      (error: { code?: string; violations?: { field: string }[] }) =>
        error.code === "invalid_argument" && error.violations?.[0]?.field === field,
      JSON.stringify(input),
    );
  }
});
