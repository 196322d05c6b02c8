import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, beforeEach, it } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/harness/database.ts";
import { countSealedOtherwise, resealColumn, type SealedColumn } from "./reseal.ts";
import { createSecrets } from "./sealing.ts";

const texts = { old: "the old secret of thirty-two characters", next: "the new secret of thirty-two characters" };
const old = createSecrets(texts.old);
const both = createSecrets(texts.next, texts.old);
both.follow({ active: both.held()[0]!.id, accepted: both.ids(), named: true });
const column: SealedColumn = {
  table: "boxes",
  column: "sealed",
  key: ["shelf", "id"],
  context: ([shelf, id]) => `box ${shelf} ${id}`,
};

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
  await database.sql`create table boxes (shelf uuid, id uuid, sealed text, primary key (shelf, id))`;
});
after(() => database?.drop());
beforeEach(() => database.sql`truncate boxes`);

type Box = { shelf: string; id: string; sealed: string | null };
const contextOf = ({ shelf, id }: Box) => column.context([shelf, id]);
const boxes = () => database.sql<Box[]>`select shelf, id, sealed from boxes order by shelf, id`;

async function addBoxes(count: number, seal = old.seal): Promise<void> {
  const rows = Array.from({ length: count }, () => ({ shelf: randomUUID(), id: randomUUID(), sealed: null }));
  await database.sql`insert into boxes select * from unnest(${rows.map(({ shelf }) => shelf)}::uuid[], ${rows.map(({ id }) => id)}::uuid[],
    ${rows.map((row) => seal(`content of ${row.id}`, contextOf(row)))}::text[])`;
}

const reseal = () => resealColumn(database.sql, { column, secrets: both, onBatch() {} });

it("seals every text anew, keeps its content, and leaves out texts that are null or sealed already", async () => {
  await addBoxes(250);
  await addBoxes(30, both.seal);
  await database.sql`insert into boxes values (${randomUUID()}, ${randomUUID()}, null)`;
  assert.equal(await countSealedOtherwise(database.sql, column, both.sealPrefix()), 250);
  assert.deepEqual(await reseal(), { resealed: 250, unreadable: [] });
  assert.equal(await countSealedOtherwise(database.sql, column, both.sealPrefix()), 0);
  const alone = createSecrets(texts.next);
  const rows = await boxes();
  assert.equal(rows.length, 281);
  for (const row of rows)
    if (row.sealed !== null) assert.equal(alone.open(row.sealed, contextOf(row)), `content of ${row.id}`);
  assert.deepEqual(await reseal(), { resealed: 0, unreadable: [] });
});

it("reports texts that neither secret opens, leaves them as they are, and goes on with the others", async () => {
  await addBoxes(120);
  await addBoxes(2, createSecrets("a third secret of thirty-two characters").seal);
  const { resealed, unreadable } = await reseal();
  assert.equal(resealed, 120);
  assert.equal(unreadable.length, 2);
  assert.match(unreadable[0]!, /^boxes [0-9a-f-]{36} [0-9a-f-]{36}$/);
  assert.equal(await countSealedOtherwise(database.sql, column, both.sealPrefix()), 2);
});

it("does not overwrite a text that a program has replaced meanwhile", async () => {
  await addBoxes(300);
  const seal = (row: Box) => both.seal("replaced meanwhile", contextOf(row));
  // Seals between the read of a batch and its write, because the context of a row is read there.
  const changed: Box[] = [];
  const changing: Promise<unknown>[] = [];
  const secrets = {
    ...both,
    open(sealed: string, context: string) {
      const [, shelf, id] = context.split(" ");
      const row = { shelf: shelf!, id: id!, sealed: null };
      if (changed.length < 5) {
        changed.push(row);
        changing.push(
          Promise.resolve(
            database.sql`update boxes set sealed = ${seal(row)} where shelf = ${row.shelf} and id = ${row.id}`,
          ),
        );
      }
      return both.open(sealed, context);
    },
  };
  await resealColumn(database.sql, { column, secrets, onBatch() {} });
  await Promise.all(changing);
  await reseal();
  const byId = new Map((await boxes()).map((row) => [row.id, row]));
  for (const { id } of changed) {
    const row = byId.get(id)!;
    assert.equal(both.open(row.sealed!, contextOf(row)), "replaced meanwhile");
  }
  for (const row of byId.values()) both.open(row.sealed!, contextOf(row));
});

it("two runs at once seal every text", async () => {
  await addBoxes(400);
  const runs = await Promise.all([reseal(), reseal()]);
  assert.equal(runs[0]!.resealed + runs[1]!.resealed, 400, "no text is sealed twice");
  assert.equal(await countSealedOtherwise(database.sql, column, both.sealPrefix()), 0);
  for (const row of await boxes()) both.open(row.sealed!, contextOf(row));
});
