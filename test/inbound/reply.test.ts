import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { needs } from "../harness/foreign.ts";
import { eventsOfType, type InboundTestbed, startInboundTestbed } from "../harness/inbound.ts";
import { runPeer } from "../harness/peer.ts";

const skip = needs("swaks");

let testbed: InboundTestbed;
let directory: string;
before(async () => {
  if (skip) return;
  testbed = await startInboundTestbed();
  directory = await mkdtemp(join(tmpdir(), "posthorn-swaks-"));
});
after(async () => {
  if (skip) return;
  await testbed.stop();
  await rm(directory, { recursive: true, force: true });
});

test("a reply with attachments that swaks sends over STARTTLS is reported with its parent email", {
  skip,
}, async () => {
  const sent = (await testbed.send({ metadata: { order: "42" } })).body as { id: string; messageId: string };
  const picture = Buffer.from("89504e470d0a1a0a0001", "hex");
  await writeFile(join(directory, "photo.png"), picture);
  await writeFile(join(directory, "notes.txt"), "one\ntwo\n");
  const output = await runPeer("swaks", [
    ...["--server", "127.0.0.1", "--port", String(testbed.smtpPort), "--tls", "--helo", "mx.there.test"],
    ...["--from", "ann@there.test", "--to", "news@sender.test"],
    ...["--h-Subject", "Re: Hello", "--h-From", "Ann Smith <ann@there.test>"],
    ...["--add-header", `In-Reply-To: ${sent.messageId}`, "--add-header", `References: <x@y.test> ${sent.messageId}`],
    ...["--body", "Yes please.\n\nOn Monday, News <news@sender.test> wrote:\n> Hello there\n"],
    ...["--attach-type", "image/png", "--attach-name", "photo.png", "--attach", `@${join(directory, "photo.png")}`],
    ...["--attach-type", "text/plain", "--attach-name", "notes.txt", "--attach", `@${join(directory, "notes.txt")}`],
  ]);
  assert.match(output, /TLS started/);
  assert.match(output, /250 2\.0\.0 accepted/);
  const events = await testbed.untilEvents("the reply", (all) => eventsOfType(all, "email.replied").length > 0);
  const [reply] = eventsOfType(events, "email.replied");
  assert.equal(reply!.from, "Ann Smith <ann@there.test>");
  assert.deepEqual(reply!.to, ["news@sender.test"]);
  assert.equal(reply!.subject, "Re: Hello");
  assert.match(reply!.body as string, /> Hello there/);
  assert.equal(reply!.newText, "Yes please.");
  assert.equal(reply!.parentEmailId, sent.id);
  assert.equal(reply!.inReplyTo, sent.messageId);
  assert.equal(reply!.event.emailId, sent.id);
  assert.equal(reply!.event.messageId, sent.messageId);
  assert.deepEqual(reply!.event.metadata, { order: "42" });
  const attachments = reply!.attachments as { id: string; filename: string; contentType: string; sizeBytes: number }[];
  assert.deepEqual(
    attachments.map(({ filename, contentType, sizeBytes }) => [filename, contentType, sizeBytes]),
    [
      ["photo.png", "image/png", 10],
      ["notes.txt", "text/plain", 8],
    ],
  );
});
