import assert from "node:assert/strict";
import { test } from "node:test";
import { EmbeddedError, explain, explainOutput } from "./embedded-error.ts";

const failure = (code: string, path?: string) => Object.assign(new Error(code), { code, path });

test("a failure of the file system says where, why and what to do", () => {
  for (const [code, trouble, remedy] of [
    ["EACCES", "permission", /owner of the data directory/],
    ["EROFS", "permission", /POSTHORN_DATA_DIR/],
    ["ENOSPC", "disk", /Free some space/],
  ] as const) {
    const told = explain(failure(code, "/data/postgres"), "/data") as EmbeddedError;
    assert.ok(told instanceof EmbeddedError);
    assert.equal(told.code, trouble);
    assert.match(told.message, /\/data\/postgres/);
    assert.match(told.message, remedy);
  }
  assert.match((explain(failure("EACCES"), "/data") as Error).message, /cannot use \/data:/);
});

test("what is not known passes through unchanged", () => {
  for (const error of [failure("EWHATEVER"), new Error("other"), "words", new EmbeddedError("locked", "told")])
    assert.equal(explain(error, "/data"), error);
});

test("PostgreSQL's own words are told with the remedy that belongs to them", () => {
  for (const [output, trouble] of [
    ["FATAL: could not write: No space left on device", "disk"],
    ["version `GLIBC_2.38' not found", "unsupported"],
    ["initdb: error: could not look up effective user ID 4711", "permission"],
    ['FATAL:  lock file "postmaster.pid" already exists', "locked"],
    ["something new", "failed"],
  ] as const) {
    const told = explainOutput("Starting PostgreSQL", `old\n`.repeat(20) + output, "/data");
    assert.equal(told.code, trouble, output);
    assert.ok(told.message.includes(output));
    assert.ok(told.message.split("\n").length < 10, "the last lines only");
  }
  assert.match(explainOutput("initdb", " \n", "/data").message, /It printed nothing/);
});
