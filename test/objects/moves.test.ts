/** Content that moves between the database and object storage, and is deleted, with the real program and its commands. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, test } from "node:test";
import { forgetDroppedObjects } from "../../src/objects/retention.ts";
import { deleteUnused } from "../../src/objects/unused.ts";
import { deliverInbound, type InboundTestbed, startInboundTestbed } from "../harness/inbound.ts";
import { createTestContents } from "../harness/object-contents.ts";
import { startObjectStore, type TestStore } from "../harness/object-store.ts";
import { blocksOf, pages } from "../harness/pages.ts";
import { runCommand } from "../harness/program.ts";
import { accepted, untilFinished } from "../harness/sending.ts";
import { until } from "../harness/wait.ts";

let store: TestStore;
let testbed: InboundTestbed;
before(async () => {
  store = await startObjectStore();
  testbed = await startInboundTestbed({ env: store.env });
});
afterEach(() => {
  store.mode("serve");
  store.onRequest(() => {});
});
after(async () => {
  await testbed?.stop();
  await store?.stop();
});

const file = randomBytes(1_200_000);
const attached = { filename: "film.bin", contentType: "video/mp4", base64Content: file.toString("base64") };
const objects = async () => (await store.names()).filter((name) => name.startsWith("objects/"));

async function content(...args: string[]) {
  const { databaseUrl, dataDir } = { databaseUrl: testbed.database.url, dataDir: testbed.program.dataDir };
  return await runCommand(["content", ...args], { databaseUrl, dataDir, env: { ...testbed.nodeEnv, ...store.env } });
}

async function contentOf(id: string): Promise<string> {
  const { status, body } = await testbed.call("EmailService/GetEmailContent", { id });
  assert.equal(status, 200, JSON.stringify(body));
  return Buffer.from(String(body.raw), "base64").toString("latin1").replaceAll("\r\n", "");
}

const isWhole = async (id: string) => assert.ok((await contentOf(id)).includes(attached.base64Content));

async function receive(subject: string): Promise<{ id: string; raw: string }> {
  const raw = `From: ann@there.test\r\nTo: us@sender.test\r\nSubject: ${subject}\r\nMessage-ID: <${subject}@there.test>\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\nHello\r\n--b\r\nContent-Type: application/octet-stream; name=film.bin\r\nContent-Disposition: attachment; filename=film.bin\r\nContent-Transfer-Encoding: base64\r\n\r\n${attached.base64Content.replace(/.{76}/g, "$&\r\n")}\r\n--b--\r\n`;
  assert.match(await deliverInbound(testbed, { to: "us@sender.test", raw: Buffer.from(raw) }), /^250/);
  const id = await until("the message", async () => {
    const { body } = await testbed.call("InboundService/ListInbound", {});
    return (body.data as { id: string; subject: string }[]).find((one) => one.subject === subject)?.id;
  });
  return { id, raw };
}

async function isReceived({ id, raw }: { id: string; raw: string }): Promise<void> {
  const { body } = await testbed.call("InboundService/GetInboundContent", { id });
  assert.ok(Buffer.from(String(body.raw), "base64").toString("latin1").endsWith(raw.slice(-100_000)));
  const { body: found } = await testbed.call("InboundService/GetInbound", { id });
  const [attachment] = (found.inbound as { attachments: { id: string }[] }).attachments;
  const { body: part } = await testbed.call("InboundService/GetInboundAttachment", {
    id,
    attachmentId: attachment!.id,
  });
  assert.deepEqual(Buffer.from(String(part.content), "base64"), file);
}

test("a large received message is an object, and its attachment is read from it", async () => {
  const message = await receive("large");
  assert.equal((await objects()).length, 1);
  await isReceived(message);
});

test("while the store is away, a large received message gets 451, and a small one is received", async () => {
  store.mode({ status: 403, code: "AccessDenied" });
  await assert.rejects(receive("refused"), /451 4\.3\.0 the object storage/);
  const small =
    "From: ann@there.test\r\nTo: us@sender.test\r\nSubject: small\r\nMessage-ID: <small@there.test>\r\n\r\nHello\r\n";
  assert.match(await deliverInbound(testbed, { to: "us@sender.test", raw: small }), /^250/);
  store.mode("serve");
  await until("the store to be noticed", async () => {
    const answer = await fetch(`${testbed.program.opsUrl}/readyz`);
    return ((await answer.json()) as { checks: Record<string, string> }).checks["object storage"] === "ok";
  });
});

/** The commands of docs/storage.md, without `posthorn content`. */
function movesInDocs(): string[][] {
  const { text } = pages().find(({ path }) => path === "docs/storage.md")!;
  const blocks = blocksOf(text).filter(({ language }) => language === "sh");
  assert.equal(blocks.length, 1);
  return [...blocks[0]!.text.matchAll(/^npx posthorn content ([^#\n]+)/gm)].map(([, words]) =>
    words!.trim().split(" "),
  );
}

test("content moves to the database and back, and is readable and delivered all the time", async () => {
  const [toObjects, toDatabase] = movesInDocs() as [string[], string[]];
  const ids = await Promise.all(
    [1, 2, 3].map((n) => accepted(testbed, { to: [`n${n}@there.test`], attachments: [attached] })),
  );
  const message = await receive("moves");
  const moved = await content(...toDatabase, "--json");
  assert.equal(moved.code, 0, moved.stderr);
  assert.ok((JSON.parse(moved.stdout) as { moved: number }).moved >= 4);
  const left = await testbed.database.sql`select 1 from content_objects`;
  assert.equal(left.length, 0);
  for (const id of ids) await isWhole(id);
  await isReceived(message);

  let reading = true;
  const reads = (async () => {
    while (reading) for (const id of ids) await isWhole(id);
  })();
  const back = await content(...toObjects, "--json");
  reading = false;
  await reads;
  assert.equal(back.code, 0, back.stderr);
  assert.ok((JSON.parse(back.stdout) as { moved: number }).moved >= 4);
  const inDatabase = await testbed.database.sql`select 1 from email_contents where bytes is not null`;
  assert.equal(inDatabase.length, 0);
  for (const id of ids) await isWhole(id);
  await isReceived(message);
  for (const id of ids) await untilFinished(testbed, id);
  const again = await content("move", "--to", "objects", "--json");
  assert.equal((JSON.parse(again.stdout) as { moved: number }).moved, 0);
  // The objects of the first round are no longer used.
  const contents = createTestContents(testbed.database.sql, store);
  await deleteUnused({ sql: testbed.database.sql, contents, afterMinutes: -1 });
  await contents.stop();
  const rows = await testbed.database.sql<{ id: string }[]>`select id from content_objects`;
  assert.deepEqual((await objects()).map((name) => name.split("/").at(-1)).sort(), rows.map(({ id }) => id).sort());
  for (const id of ids) await isWhole(id);
});

test("a move that fails on the way leaves every part readable, and the next one continues", async () => {
  const ids = await Promise.all(
    [1, 2, 3, 4].map((n) => accepted(testbed, { to: [`f${n}@there.test`], attachments: [attached] })),
  );
  await content("move", "--to", "database");
  let puts = 0;
  store.onRequest(({ method }) => {
    if (method === "PUT" && ++puts > 2) store.mode({ status: 403, code: "AccessDenied" });
  });
  const failed = await content("move", "--to", "objects");
  assert.equal(failed.code, 1, failed.stderr);
  assert.match(failed.stderr, /denies access.*To continue, run posthorn content move --to objects again/);
  store.mode("serve");
  store.onRequest(() => {});
  await until("the store to be noticed", async () => {
    const { status } = await testbed.call("EmailService/GetEmailContent", { id: ids[0] });
    return status === 200;
  });
  for (const id of ids) await isWhole(id);
  assert.equal((await content("move", "--to", "objects")).code, 0);
  for (const id of ids) await isWhole(id);
});

test("an export has content from object storage", async () => {
  const folder = await mkdtemp(join(tmpdir(), "posthorn-export-"));
  const { databaseUrl, dataDir } = { databaseUrl: testbed.database.url, dataDir: testbed.program.dataDir };
  const { code, stderr } = await runCommand(
    ["workspaces", "export", `ws_${testbed.workspaceId}`, join(folder, "out")],
    {
      databaseUrl,
      dataDir,
      env: { ...testbed.nodeEnv, ...store.env },
    },
  );
  assert.equal(code, 0, stderr);
  const files = (await readdir(join(folder, "out"), { recursive: true })).filter((name) => name.endsWith("film.bin"));
  assert.ok(files.length > 0);
  for (const name of files) assert.deepEqual(await readFile(join(folder, "out", name)), file);
  const messages = (await readdir(join(folder, "out"), { recursive: true })).filter((name) => name.endsWith(".eml"));
  const texts = await Promise.all(messages.map((name) => readFile(join(folder, "out", name), "latin1")));
  assert.ok(
    texts.some((text) => text.includes("Subject: large") && text.includes(attached.base64Content.slice(0, 76))),
  );
  await rm(folder, { recursive: true });
});

test("the status shows the store and its objects", async () => {
  const { code, stdout } = await content("status");
  assert.equal(code, 0);
  assert.match(stdout, /State: ok\. The store belongs to this database\.\n/);
  assert.match(stdout, /Parts in object storage: \d+ \([\d.]+ MiB\)/);
});

test("after a restore the sweep deletes nothing, until posthorn content adopt makes the database the owner", async () => {
  const mark = "posthorn-mark.json";
  let own: Buffer;
  await store.replace(mark, (octets) => {
    own = octets;
    return Buffer.from(JSON.stringify({ ...JSON.parse(String(octets)), cut: "an earlier one" }));
  });
  const [before, swept, unasked] = [await content("status"), await content("sweep"), await content("adopt")];
  assert.match(before.stdout, /before a restore or a failover.*posthorn content adopt/);
  assert.equal(swept.code, 1, swept.stderr);
  assert.match(swept.stderr, /posthorn content adopt/);
  assert.equal(unasked.code, 2);
  assert.match(unasked.stderr, /Repeat the command with --yes/);
  const adopted = await content("adopt", "--yes");
  assert.deepEqual([adopted.code, adopted.stdout], [0, "The store belongs to this database.\n"]);
  await store.replace(mark, (octets) => {
    assert.deepEqual(octets, own);
    return octets;
  });
  assert.equal((await content("sweep")).code, 0);
});

test("retention deletes the rows of a day whose partition is gone, and then their objects", async () => {
  const { sql } = testbed.database;
  const id = await accepted(testbed, { to: ["old@there.test"], attachments: [attached] });
  await untilFinished(testbed, id);
  const contents = createTestContents(sql, store);
  await deleteUnused({ sql, contents, afterMinutes: -1 });
  const before = await objects();
  const day = "2020-01-02";
  await sql`update content_objects set day = ${day}::date where owner_id = ${id.slice(3)}`;
  assert.equal(await forgetDroppedObjects(sql), 1);
  const { status } = await testbed.call("EmailService/GetEmailContent", { id });
  assert.equal(status, 404);
  await deleteUnused({ sql, contents, afterMinutes: -1 });
  await contents.stop();
  assert.equal((await objects()).length, before.length - 1);
});

test("a deleted workspace leaves no object", async () => {
  const { databaseUrl, dataDir } = { databaseUrl: testbed.database.url, dataDir: testbed.program.dataDir };
  const env = { ...testbed.nodeEnv, ...store.env };
  const { sql } = testbed.database;
  const { code, stderr } = await runCommand(["workspaces", "delete", `ws_${testbed.workspaceId}`, "--yes"], {
    databaseUrl,
    dataDir,
    env,
  });
  if (code !== 0) {
    // The first workspace cannot be deleted: its rows are deleted as the deletion does.
    assert.match(stderr, /first workspace/i);
    await sql`delete from content_objects where workspace_id = ${testbed.workspaceId}`;
  }
  const contents = createTestContents(sql, store);
  await deleteUnused({ sql, contents, afterMinutes: -1 });
  await contents.stop();
  assert.deepEqual(await objects(), []);
});
