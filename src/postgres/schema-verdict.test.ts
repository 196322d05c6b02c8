import assert from "node:assert/strict";
import { test } from "node:test";
import { type DatabaseLocation, judgeSchema, SchemaError } from "./schema-verdict.ts";

const known = [
  { version: 1, name: "0001_core.sql", checksum: "a" },
  { version: 2, name: "0002_b.sql", checksum: "b" },
  { version: 3, name: "0003_c.sql", checksum: "c" },
];
const applied = (upTo: number, serves = 1) => known.slice(0, upTo).map((row) => ({ ...row, serves }));
const newer = (serves: number) => [...applied(3), { version: 4, name: "0004_d.sql", checksum: "d", serves }];
const embedded: DatabaseLocation = { kind: "embedded", dataDir: "/srv/posthorn" };
const external: DatabaseLocation = { kind: "external" };

function refusal(rows: Parameters<typeof judgeSchema>[1], location: DatabaseLocation): string {
  try {
    judgeSchema(known, rows, location);
  } catch (error) {
    assert.ok(error instanceof SchemaError);
    return error.message;
  }
  assert.fail("the schema was accepted");
}

test("an empty, an older and an equal schema are accepted", () => {
  for (const upTo of [0, 1, 2, 3])
    assert.deepEqual(judgeSchema(known, applied(upTo), external), { version: upTo, serves: 1 });
});

test("a newer schema is accepted while it serves this program", () => {
  for (const serves of [1, 2, 3]) assert.deepEqual(judgeSchema(known, newer(serves), external), { version: 4, serves });
  // The highest `serves` of all migrations counts.
  assert.throws(() =>
    judgeSchema(known.slice(0, 2), [...applied(2), { ...known[2]!, serves: 3 }, { ...newer(1)[3]! }], external),
  );
});

test("a newer schema that does not serve this program is refused, with a fix for the embedded and one for an external database", () => {
  const several = refusal(newer(4), external);
  assert.match(
    several,
    /schema version 4 \(0004_d\.sql\), which needs a program of version 4 or newer; this program has version 3/,
  );
  assert.match(
    several,
    /another node on this database runs a newer release.*Upgrade this node to the release that the other nodes run, or restore/s,
  );
  const one = refusal(newer(4), embedded);
  assert.match(
    one,
    /a newer release of Posthorn ran on \/srv\/posthorn.*Start that newer release again, or restore the backup/s,
  );
  assert.doesNotMatch(one, /node/);
});

test("a different 0001 is data from before the first release: the error has the cause and fixes that lose no data", () => {
  const rows = [{ ...applied(1)[0]!, checksum: "12a34139bf4d1de64f5a7c368edd7108b917388bb3c7fcc6ff0c4b6547f396f4" }];
  const one = refusal(rows, embedded);
  assert.match(
    one,
    /created by a development version from before the first release \(commit 5c4cebe runs on it\), whose 0001_core\.sql was different/,
  );
  assert.match(one, /start commit 5c4cebe \(git worktree add .*\) on \/srv\/posthorn, let it send the queued mail/);
  assert.match(one, /set POSTHORN_DATA_DIR to a new directory\. \/srv\/posthorn is not changed/);
  assert.doesNotMatch(one, /node|DATABASE_URL/);
  const several = refusal([{ ...rows[0]!, checksum: "x" }], external);
  assert.match(
    several,
    /start the commit that created it with this DATABASE_URL.*put its address into DATABASE_URL on every node/s,
  );
  assert.doesNotMatch(several, /POSTHORN_DATA_DIR/);
});

test("a different later migration is reported as a changed one", () => {
  const rows = [applied(1)[0]!, { ...applied(2)[1]!, checksum: "x" }];
  assert.match(refusal(rows, external), /0002_b\.sql in the database differs.*Run the same release on every node/s);
  assert.match(
    refusal(rows, embedded),
    /0002_b\.sql in the database differs.*Start the version that created this data/s,
  );
  assert.doesNotMatch(refusal(rows, embedded), /every node/);
});

test("a record with a gap is refused", () => {
  assert.match(refusal([applied(1)[0]!, applied(3)[2]!], external), /lacks version 2 \(0002_b\.sql\)/);
});
