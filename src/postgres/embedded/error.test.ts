import assert from "node:assert/strict";
import { tmpdir } from "node:os";
import { test } from "node:test";
import { EmbeddedError, explain, explainOutput, pathsOverlap } from "./error.ts";

const failure = (code: string, path?: string) => Object.assign(new Error(code), { code, path });

test("an error of the file system names the path, the reason and the fix", async () => {
  for (const [cause, code, fix] of [
    ["EACCES", "permission", /owner of the data directory/],
    ["EROFS", "permission", /POSTHORN_DATA_DIR/],
    ["ENOSPC", "disk", /Free some space/],
  ] as const) {
    const explained = (await explain(failure(cause, "/data/postgres"), "/data")) as EmbeddedError;
    assert.ok(explained instanceof EmbeddedError);
    assert.equal(explained.code, code);
    assert.match(explained.message, /the data directory \/data\b/);
    assert.match(explained.message, fix);
  }
  const elsewhere = (await explain(failure("ENOSPC", "/var/lib/posthorn/postgresql-18"), "/data")) as Error;
  assert.match(elsewhere.message, /^The disk of \/var\/lib\/posthorn\/postgresql-18 is full/);
  assert.match(((await explain(failure("EACCES"), "/data")) as Error).message, /cannot use the data directory \/data:/);
});

test("a path overlaps the data directory when it is inside or above it, not when only its name begins alike", () => {
  for (const path of ["/srv/data", "/srv/data/", "/srv/data/secret", "/srv", "/"])
    assert.ok(pathsOverlap(path, "/srv/data"), path);
  for (const path of ["/srv/data-tls/key.pem", "/srv/da", "/etc"]) assert.ok(!pathsOverlap(path, "/srv/data"), path);
});

test("an unknown error is returned unchanged", async () => {
  const port = Object.assign(failure("EACCES"), { syscall: "listen" });
  for (const error of [failure("EWHATEVER"), port, new Error("other"), "words", new EmbeddedError("locked", "other")])
    assert.equal(await explain(error, tmpdir()), error);
});

test("a database without disk space is reported as a full disk, however deep the cause is", async () => {
  const cause = Object.assign(new Error("could not extend file"), { code: "53100" });
  for (const error of [cause, new EmbeddedError("failed", "refused", { cause }), failure("EDQUOT")]) {
    const explained = (await explain(error, "/data")) as EmbeddedError;
    assert.equal(explained.code, "disk");
    assert.match(
      explained.message,
      /^The disk of the data directory \/data is full\. Free some space .* and start again\.$/,
    );
  }
});

test("PostgreSQL's output is reported with the matching fix", () => {
  for (const [output, code] of [
    ["FATAL: could not write: No space left on device", "disk"],
    ["version `GLIBC_2.38' not found", "unsupported"],
    ["initdb: error: could not look up effective user ID 4711", "permission"],
    ['FATAL:  lock file "postmaster.pid" already exists', "locked"],
    ["something new", "failed"],
  ] as const) {
    const explained = explainOutput("Starting PostgreSQL", `old\n`.repeat(20) + output, "/data");
    assert.equal(explained.code, code, output);
    assert.ok(code === "disk" || explained.message.includes(output));
    assert.ok(explained.message.split("\n").length < 10, "only the last lines");
  }
  assert.match(explainOutput("initdb", " \n", "/data").message, /It printed nothing/);
});
