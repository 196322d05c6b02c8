/** The cost of storing and reading 5 MiB of content in each form that was considered (docs/decisions/0062-large-mail.md): CPU time of PostgreSQL and
 * of this process. Run: npx node bench/content.ts */
import { randomBytes, randomUUID } from "node:crypto";
import { byteaArray, textArray } from "../src/postgres/arrays.ts";
import { copyOut } from "../src/postgres/copy-out.ts";
import { createTestDatabase, startTestServer } from "../test/harness/database.ts";
import { withChildrenMs } from "./lib/cost.ts";

const times = 20;
const bytes = randomBytes(5 * 1024 * 1024);
const base64 = bytes.toString("base64");
const workspace = randomUUID();

const server = await startTestServer();
const database = await createTestDatabase({ server });
const client = await database.sql.pool.connect();
const key = "w uuid, e uuid, piece int, primary key (w, e, piece)";
await client.query(`create table as_text (${key}, data text);
  create table as_octets (${key}, data bytea); alter table as_octets alter column data set storage external;
  create table as_rows (${key}, data bytea); alter table as_rows alter column data set storage plain`);

await compare("as_text", { piece: 256 * 1024, read: "select" });
await compare("as_octets", { piece: 256 * 1024, read: "select" });
await compare("as_octets", { piece: 256 * 1024, read: "copy" });
await compare("as_octets", { piece: 64 * 1024, read: "copy" });
await compare("as_rows", { piece: 7980, read: "copy" });

client.release();
await database.drop();
await server.stop();

async function compare(table: string, { piece, read }: { piece: number; read: "select" | "copy" }): Promise<void> {
  const ids = Array.from({ length: times }, () => randomUUID());
  const perStatement = Math.ceil((1024 * 1024) / piece);
  const pieces = slices(table === "as_text" ? base64 : bytes, piece);
  await measure(`${table}, pieces of ${piece}: write`, async (i) => {
    await client.query("begin");
    for (let from = 0; from < pieces.length; from += perStatement) {
      const some = pieces.slice(from, from + perStatement);
      const [type, values] =
        table === "as_text" ? ["text", textArray(some as string[])] : ["bytea", byteaArray(some as Buffer[])];
      const text = `insert into ${table} select $1, $2, $3::int + n, data from unnest($4::${type}[]) with ordinality as p(data, n)`;
      await client.query({ name: `w ${table} ${piece}`, text, values: [workspace, ids[i], from - 1, values] });
    }
    await client.query("commit");
  });
  const atOnce = Math.ceil((512 * 1024) / piece);
  await measure(`${table}, pieces of ${piece}: ${read}`, async (i) => {
    for (let from = 0; from < pieces.length; from += atOnce) {
      const where = `w = '${workspace}' and e = '${ids[i]}' and piece >= ${from} and piece < ${from + atOnce} order by piece`;
      if (read === "select") await client.query(`select data from ${table} where ${where}`);
      else await copyOut(client, `copy (select data from ${table} where ${where}) to stdout (format binary)`);
    }
  });
}

function slices(content: string | Buffer, piece: number): (string | Buffer)[] {
  const count = Math.ceil(content.length / piece);
  return Array.from({ length: count }, (_, i) => content.slice(i * piece, (i + 1) * piece));
}

async function measure(what: string, work: (i: number) => Promise<void>): Promise<void> {
  await client.query("checkpoint");
  const before = { database: withChildrenMs(server.pid()!), own: process.cpuUsage() };
  for (let i = 0; i < times; i++) await work(i);
  const { user, system } = process.cpuUsage(before.own);
  const databaseMs = (withChildrenMs(server.pid()!) - before.database) / times;
  process.stdout.write(
    `${what.padEnd(44)} PostgreSQL ${databaseMs.toFixed(1).padStart(6)} ms, Node ${((user + system) / 1000 / times).toFixed(1).padStart(6)} ms\n`,
  );
}
