import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { openMailbox } from "./mailbox.ts";

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
