import assert from "node:assert/strict";
import { test } from "node:test";
import { mayUse, readMark, standingOf, writeMark } from "./mark.ts";

const owner = { instance: "one", cut: "none" };

test("only the mark of this instance and this cut allows everything", () => {
  const expecting = { ...owner, expectsMark: true };
  assert.equal(standingOf(writeMark(owner), expecting), "ours");
  assert.equal(standingOf(writeMark({ ...owner, cut: "later" }), expecting), "copy");
  assert.equal(standingOf(writeMark({ ...owner, instance: "two" }), expecting), "foreign");
  assert.equal(standingOf(undefined, expecting), "missing");
  assert.equal(standingOf(undefined, { ...owner, expectsMark: false }), "new");
  for (const bad of ["", "{", "[]", "null", '{"posthorn":2}', '{"posthorn":1,"instance":7,"cut":"x"}'])
    assert.equal(standingOf(Buffer.from(bad), expecting), "unreadable", bad);
  assert.deepEqual((["ours", "copy", "foreign", "missing", "new", "unreadable"] as const).filter(mayUse), [
    "ours",
    "copy",
  ]);
  assert.deepEqual(readMark(writeMark(owner)), owner);
});
