import assert from "node:assert/strict";
import { test } from "node:test";
import { readCommand, readGreetingName, readPath } from "./server-command.ts";

test("a command is its verb and the rest; bytes that are no UTF-8 are none", () => {
  assert.deepEqual(readCommand(Buffer.from("mail FROM:<a@b>  ")), { verb: "MAIL", rest: "FROM:<a@b>" });
  assert.deepEqual(readCommand(Buffer.from("QUIT")), { verb: "QUIT", rest: "" });
  assert.deepEqual(readCommand(Buffer.from(" MAIL")), { verb: "", rest: " MAIL" });
  assert.deepEqual(readCommand(Buffer.from("MAIL\tx")), { verb: "", rest: "MAIL\tx" });
  assert.equal(readCommand(Buffer.from([0x4d, 0xff])), undefined);
});

test("a path stands in angle brackets, with parameters behind it, each once", () => {
  const path = readPath("FROM:<a@b.test> SIZE=10 BODY=8BITMIME", "FROM")!;
  assert.deepEqual(
    [path.address, [...path.parameters]],
    [
      "a@b.test",
      [
        ["SIZE", "10"],
        ["BODY", "8BITMIME"],
      ],
    ],
  );
  assert.equal(readPath("from: <>", "FROM")!.address, "");
  assert.equal(readPath("TO:<@a,@b:c@d>", "TO")!.address, "@a,@b:c@d", "source routes are for the judge of recipients");
});

for (const rest of [
  "FROM:a@b",
  "FROM:<a@b",
  "FROM:<a b>",
  "FROM:<<a@b>>",
  "TO:<a@b>",
  "FROM:<a@b>x",
  "FROM:<a@b> SIZE=1 size=2",
  "FROM:<a@b> =1",
  `FROM:<${"a".repeat(321)}>`,
  "",
])
  test(`${JSON.stringify(rest.slice(0, 40))} is a syntax error`, () => assert.equal(readPath(rest, "FROM"), undefined));

test("a name in a greeting is one printable word", () => {
  assert.equal(readGreetingName(" mx.there.test "), "mx.there.test");
  for (const bad of ["", "a b", "ü", "a\0", "a".repeat(256)]) assert.equal(readGreetingName(bad), undefined);
});
