import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { until } from "../../test/harness/wait.ts";
import { silentLog } from "../ops/log.ts";
import { createSweep, openMailbox } from "./mailbox.ts";

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "posthorn-mailbox-"));
});
after(async () => await rm(folder, { recursive: true }));

const message = {
  emailId: "em_1",
  returnPath: "rp-x@bounce.test",
  recipient: "a/../../b@there.test",
  raw: Buffer.from("Subject: hi\r\n\r\nhello\r\n"),
};

test("a message lies whole in new/, under a name no address can lead astray, and a second attempt replaces it", async () => {
  const mailbox = await openMailbox(folder);
  const path = await mailbox.deliver(message);
  assert.equal(await mailbox.deliver(message), path);
  assert.deepEqual(await readdir(join(folder, "tmp")), []);
  assert.equal((await readdir(join(folder, "new"))).length, 1);
  assert.equal(
    await readFile(path, "utf8"),
    "Return-Path: <rp-x@bounce.test>\r\nDelivered-To: a/../../b@there.test\r\nSubject: hi\r\n\r\nhello\r\n",
  );
});

test("old mail is swept, new mail stays", async () => {
  const mailbox = await openMailbox(folder);
  await mailbox.deliver(message);
  assert.equal(await mailbox.sweep(Date.now() - 60_000), 0);
  assert.equal(await mailbox.sweep(Date.now() + 60_000), 1);
});

test("the sweep runs by itself, at the start and again, and survives a folder that is gone", async () => {
  const mailbox = await openMailbox(folder);
  await mailbox.deliver(message);
  const sweep = createSweep({ mailbox, log: silentLog(), keptDays: -1, everyMs: 10 });
  sweep.start();
  const left = async () => (await readdir(join(folder, "new"))).length;
  await until("an empty mailbox", async () => (await left()) === 0);
  await mailbox.deliver(message);
  await until("an empty mailbox again", async () => (await left()) === 0);
  await rm(join(folder, "cur"), { recursive: true });
  await sweep.stop();
});
