import assert from "node:assert/strict";
import { test } from "node:test";
import { fittedTable, jsonLine, plain, plainLines, table, widthOf } from "./output.ts";

test("control and reordering characters are shown as escapes", () => {
  assert.equal(plain("a\x1b[31mb\x07c\r\nd"), "a\\u001b[31mb\\u0007c\\r\\nd");
  assert.equal(plain("csi \u009b31m del \x7f"), "csi \\u009b31m del \\u007f");
  assert.equal(plain("evil\u202etxt.exe \u2066x\u200b\ufeff"), "evil\\u202etxt.exe \\u2066x\\u200b\\ufeff");
  assert.equal(plain("tag \u{e0041}"), "tag \\u{e0041}");
  assert.equal(plain("lone \ud800"), "lone \\ud800");
  assert.equal(plain("Grüße, 日本 👍🏽"), "Grüße, 日本 👍🏽");
  assert.equal(plainLines("one\r\ntwo\tx\x1b]0;t\x07"), "one\ntwo\tx\\u001b]0;t\\u0007");
});

test("JSON has no control characters and parses to the same value", () => {
  const value = { subject: "\u009b2J\x7f\x1b[2J\u2028" };
  const line = jsonLine(value);
  assert.doesNotMatch(line, /[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028]/);
  assert.deepEqual(JSON.parse(line), value);
});

test("columns are aligned by what a terminal shows, and cells cannot add lines", () => {
  assert.equal(
    table(
      [
        ["NAME", "N"],
        ["日本", "1"],
        ["e\u0301", "2"],
        ["a\nb", "3"],
      ],
      "",
    ),
    "NAME  N\n日本  1\ne\u0301     2\na\\nb  3\n",
  );
  assert.equal(widthOf("日本"), 4);
  assert.equal(
    table([
      ["a", undefined],
      ["bb", "c"],
    ]),
    "  a\n  bb  c\n",
  );
});

test("only the columns that may be cut are shortened to the width", () => {
  const rows = [
    ["ID", "SUBJECT", "TO"],
    ["em_0123456789", "A very long subject that does not fit at all", "ada@example.test"],
  ];
  const lines = fittedTable(rows, [1, 2], 56).trimEnd().split("\n");
  for (const line of lines) assert.ok(widthOf(line) <= 56, line);
  assert.match(lines[1]!, /^em_0123456789 {2}A very .*… {2}ada@ex/);
  assert.deepEqual(fittedTable(rows, [1, 2], 36).split("\n"), [
    "ID             SUBJECT",
    "    TO",
    "em_0123456789  A very long subject …",
    "    ada@example.test",
    "",
  ]);
  assert.deepEqual(
    fittedTable(
      [
        ["A", "B"],
        ["aaaaaaaaaaaaaaaaaaaaaaaa", ""],
      ],
      [1],
      20,
    ).split("\n"),
    ["A", "    B", "aaaaaaaaaaaaaaaaaaaaaaaa", ""],
  );
  assert.ok(fittedTable(rows, [1, 2], undefined).includes("does not fit at all"), "complete without a width");
  assert.ok(fittedTable(rows, [1, 2], 0).includes("does not fit at all"), "complete if the width is useless");
  assert.ok(
    widthOf(
      fittedTable(
        [
          ["A", "B"],
          ["日本日本日本日本日本日本", "x"],
        ],
        [0],
        20,
      ).split("\n")[1]!,
    ) <= 20,
  );
});
