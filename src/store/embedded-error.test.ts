import assert from "node:assert/strict";
import { tmpdir } from "node:os";
import { test } from "node:test";
import { concerns, EmbeddedError, explain, explainOutput } from "./embedded-error.ts";

const failure = (code: string, path?: string) => Object.assign(new Error(code), { code, path });

test("a failure of the file system says where, why and what to do", async () => {
  for (const [code, trouble, remedy] of [
    ["EACCES", "permission", /owner of the data directory/],
    ["EROFS", "permission", /POSTHORN_DATA_DIR/],
    ["ENOSPC", "disk", /Free some space/],
  ] as const) {
    const told = (await explain(failure(code, "/data/postgres"), "/data")) as EmbeddedError;
    assert.ok(told instanceof EmbeddedError);
    assert.equal(told.code, trouble);
    assert.match(told.message, /the data directory \/data\b/);
    assert.match(told.message, remedy);
  }
  const elsewhere = (await explain(failure("ENOSPC", "/var/lib/posthorn/postgresql-18"), "/data")) as Error;
  assert.match(elsewhere.message, /^The disk of \/var\/lib\/posthorn\/postgresql-18 is full/);
  assert.match(((await explain(failure("EACCES"), "/data")) as Error).message, /cannot use the data directory \/data:/);
});

test("a path concerns the data directory when it is in it or above it, not when only its name begins alike", () => {
  for (const path of ["/srv/data", "/srv/data/", "/srv/data/secret", "/srv", "/"])
    assert.ok(concerns(path, "/srv/data"), path);
  for (const path of ["/srv/data-tls/key.pem", "/srv/da", "/etc"]) assert.ok(!concerns(path, "/srv/data"), path);
});

test("what is not known passes through unchanged", async () => {
  const port = Object.assign(failure("EACCES"), { syscall: "listen" });
  for (const error of [failure("EWHATEVER"), port, new Error("other"), "words", new EmbeddedError("locked", "told")])
    assert.equal(await explain(error, tmpdir()), error);
});

test("a database that found no disk space says so in one sentence, however deep the reason is", async () => {
  const cause = Object.assign(new Error("could not extend file"), { code: "53100" });
  for (const error of [cause, new EmbeddedError("failed", "refused", { cause }), failure("EDQUOT")]) {
    const told = (await explain(error, "/data")) as EmbeddedError;
    assert.equal(told.code, "disk");
    assert.match(
      told.message,
      /^The disk of the data directory \/data is full\. Free some space .* and start again\.$/,
    );
  }
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
    assert.ok(trouble === "disk" || told.message.includes(output));
    assert.ok(told.message.split("\n").length < 10, "the last lines only");
  }
  assert.match(explainOutput("initdb", " \n", "/data").message, /It printed nothing/);
});
