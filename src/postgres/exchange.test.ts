import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/harness/database.ts";
import { Client } from "./client.ts";

let database: TestDatabase;
let client: Client;
before(async () => {
  database = await createTestDatabase({ migrated: false });
  client = new Client({ connectionString: database.url });
  await client.connect();
  await client.query("create table kept (n int primary key)");
});
after(async () => {
  await client.end();
  await database.drop();
});

const begin = { text: "begin", name: "begin" };
const insert = (n: unknown) => ({
  text: "insert into kept values ($1) returning n",
  name: "insert",
  values: [n],
});
const kept = async () => (await client.query("select n from kept order by n")).rows.map(({ n }) => n);

test("the steps run in order in one transaction, and the rows are those of the last one", async () => {
  assert.deepEqual(await client.exchange([begin, insert(1)]), [{ n: 1 }]);
  await client.query("rollback");
  assert.deepEqual(await kept(), []);
  assert.deepEqual(await client.exchange([begin, insert(1)]), [{ n: 1 }]);
  await client.query("commit");
  assert.deepEqual(await kept(), [1]);
});

test("a failed step rejects with the server's error, later ones are skipped, and the connection can be used", async () => {
  await assert.rejects(client.exchange([begin, insert(1), insert(2)]), { code: "23505" });
  await client.query("rollback");
  await assert.rejects(client.exchange([begin, { text: "nonsense", name: "nonsense" }]), { code: "42601" });
  await client.query("rollback");
  await assert.rejects(client.exchange([begin, { text: "nonsense", name: "nonsense" }]), { code: "42601" });
  await client.query("rollback");
  assert.deepEqual(await kept(), [1]);
});

test("a statement whose values cannot be sent leaves nothing behind", async () => {
  const circular: Record<string, unknown> = {};
  circular.self = circular;
  await assert.rejects(client.exchange([begin, insert(circular)]), /circular/);
  assert.deepEqual(await client.exchange([begin, insert(3)]), [{ n: 3 }]);
  await client.query("commit");
});

test("a name is prepared once for the connection, also for later queries", async () => {
  const prepared = async () =>
    (await client.query("select name from pg_prepared_statements where name in ('begin', 'insert') order by 1")).rows;
  assert.deepEqual(await prepared(), [{ name: "begin" }, { name: "insert" }]);
  await client.query(insert(4));
  assert.deepEqual(await kept(), [1, 3, 4]);
});

test("an answer that does not arrive in time ends the wait", async () => {
  const other = new Client({ connectionString: database.url });
  await other.connect();
  await assert.rejects(other.exchange([begin, { text: "select pg_sleep(60)" }], 50), /query read timeout/i);
  other.abandon();
});
