import assert from "node:assert/strict";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
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
  prefix: "X-Posthorn-Copy: rp-x\r\n",
  raw: Buffer.from("Subject: hi\r\n\r\nhello\r\n"),
};

test("a message is written to new/ under a safe name for any address, and a second attempt replaces it", async () => {
  const mailbox = await openMailbox(folder, Date.now);
  const path = await mailbox.deliver(message);
  assert.equal(await mailbox.deliver(message), path);
  assert.deepEqual(await readdir(join(folder, "tmp")), []);
  assert.equal((await readdir(join(folder, "new"))).length, 1);
  assert.equal(
    await readFile(path, "utf8"),
    "Return-Path: <rp-x@bounce.test>\r\nDelivered-To: a/../../b@there.test\r\nX-Posthorn-Copy: rp-x\r\nSubject: hi\r\n\r\nhello\r\n",
  );
});

test("other accounts cannot read the mailbox or its mail, even if the folder was readable before", async () => {
  const made = join(folder, "made");
  const path = await (await openMailbox(made, Date.now)).deliver(message);
  const modeOf = async (file: string) => (await stat(file)).mode & 0o777;
  const folders = [made, ...["tmp", "new", "cur"].map((part) => join(made, part))];
  for (const one of folders) assert.equal(await modeOf(one), 0o700, one);
  assert.equal(await modeOf(path), 0o600);
  for (const one of folders) await chmod(one, 0o755);
  await openMailbox(made, Date.now);
  for (const one of folders) assert.equal(await modeOf(one), 0o700, one);
});

test("the mode of a folder behind a symbolic link is not changed", async () => {
  const shared = join(folder, "shared");
  await mkdir(shared);
  await chmod(shared, 0o750);
  await symlink(shared, join(folder, "link"));
  await openMailbox(join(folder, "link"), Date.now);
  assert.equal((await stat(shared)).mode & 0o777, 0o750);
});

test("a sweep removes old mail and keeps new mail, by service time", async () => {
  // Years before this machine's clock, as after a jump of that clock.
  let serviceMs = Date.UTC(2020, 0, 1);
  const mailbox = await openMailbox(folder, () => serviceMs);
  await mailbox.deliver(message);
  serviceMs += 59_000;
  assert.equal(await mailbox.sweep(60_000), 0);
  serviceMs += 2_000;
  assert.equal(await mailbox.sweep(60_000), 1);
});

test("a sweep removes the mail of deleted emails, but no mail whose result may not be stored yet", async () => {
  let serviceMs = Date.UTC(2020, 0, 1);
  const mailbox = await openMailbox(folder, () => serviceMs);
  const [existing, gone] = ["01a1eadb-467c-716c-af37-af93868a0ae9", "01a1eadb-467c-716c-af37-af93868a0ae8"];
  for (const id of [existing, gone]) await mailbox.deliver({ ...message, emailId: `em_${id}` });
  const findExisting = async (ids: readonly string[]) => new Set(ids.filter((id) => id === existing));
  assert.equal(await mailbox.sweep(86_400_000, findExisting), 0);
  serviceMs += 3_601_000;
  assert.equal(await mailbox.sweep(86_400_000, findExisting), 1);
  assert.deepEqual(
    (await readdir(join(folder, "new"))).map((name) => name.slice(3, 39)),
    [existing],
  );
  await rm(join(folder, "new", (await readdir(join(folder, "new")))[0]!));
});

test("the sweep runs at the start and periodically, and continues when a folder is missing", async () => {
  const mailbox = await openMailbox(folder, Date.now);
  await mailbox.deliver(message);
  const sweep = createSweep({ mailbox, log: silentLog(), keptDays: -1, everyMs: 10 });
  sweep.start();
  const left = async () => (await readdir(join(folder, "new"))).length;
  await until("an empty mailbox", async () => (await left()) === 0);
  // Written directly: this sweep removes everything, and `deliver` would lose its draft in tmp/.
  await writeFile(join(folder, "new", "second.eml"), message.raw);
  await until("an empty mailbox again", async () => (await left()) === 0);
  await rm(join(folder, "cur"), { recursive: true });
  await sweep.stop();
});
