import assert from "node:assert/strict";
import { test } from "node:test";
import { judgeSchema, type Place, SchemaError } from "./schema-verdict.ts";

const known = [
  { version: 1, name: "0001_core.sql", checksum: "a" },
  { version: 2, name: "0002_b.sql", checksum: "b" },
  { version: 3, name: "0003_c.sql", checksum: "c" },
];
const applied = (upTo: number, serves = 1) => known.slice(0, upTo).map((row) => ({ ...row, serves }));
const newer = (serves: number) => [...applied(3), { version: 4, name: "0004_d.sql", checksum: "d", serves }];
const embedded: Place = { kind: "embedded", dataDir: "/srv/posthorn" };
const external: Place = { kind: "external" };

function refusal(rows: Parameters<typeof judgeSchema>[1], place: Place): string {
  try {
    judgeSchema(known, rows, place);
  } catch (error) {
    assert.ok(error instanceof SchemaError);
    return error.message;
  }
  assert.fail("it was let in");
}

test("an empty, an older and an equal schema are let in", () => {
  for (const upTo of [0, 1, 2, 3])
    assert.deepEqual(judgeSchema(known, applied(upTo), external), { version: upTo, serves: 1 });
});

test("a newer schema is let in for as long as it serves this program", () => {
  for (const serves of [1, 2, 3]) assert.deepEqual(judgeSchema(known, newer(serves), external), { version: 4, serves });
  // The highest demand counts, whichever migration made it.
  assert.throws(() =>
    judgeSchema(known.slice(0, 2), [...applied(2), { ...known[2]!, serves: 3 }, { ...newer(1)[3]! }], external),
  );
});

test("a newer schema that does not is refused: on one node with the embedded database, and on one of several", () => {
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

test("another 0001 is data from before the first release: the cause and the ways out, none of which loses data", () => {
  const rows = [{ ...applied(1)[0]!, checksum: "12a34139bf4d1de64f5a7c368edd7108b917388bb3c7fcc6ff0c4b6547f396f4" }];
  const one = refusal(rows, embedded);
  assert.match(
    one,
    /made by a development version from before the first release \(commit 5c4cebe runs on it\), whose 0001_core\.sql differed/,
  );
  assert.match(one, /start commit 5c4cebe \(git worktree add .*\) on \/srv\/posthorn, let it send what is queued/);
  assert.match(one, /set POSTHORN_DATA_DIR to a new directory\. \/srv\/posthorn stays as it is/);
  assert.doesNotMatch(one, /node|DATABASE_URL/);
  const several = refusal([{ ...rows[0]!, checksum: "x" }], external);
  assert.match(
    several,
    /start the commit that made it with this DATABASE_URL.*put its address into DATABASE_URL on every node/s,
  );
  assert.doesNotMatch(several, /POSTHORN_DATA_DIR/);
});

test("another later migration is a changed one", () => {
  const rows = [applied(1)[0]!, { ...applied(2)[1]!, checksum: "x" }];
  assert.match(refusal(rows, external), /0002_b\.sql in the database differs.*Run the same release on every node/s);
  assert.match(refusal(rows, embedded), /0002_b\.sql in the database differs.*Start the version that made this data/s);
  assert.doesNotMatch(refusal(rows, embedded), /every node/);
});

test("a record with a gap is refused", () => {
  assert.match(refusal([applied(1)[0]!, applied(3)[2]!], external), /lacks version 2 \(0002_b\.sql\)/);
});
