import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { bring, type InboundWorld, startInboundWorld, told } from "../harness/inbound.ts";

let world: InboundWorld;
before(async () => {
  world = await startInboundWorld();
});
after(async () => await world.stop());

test("an absence note is received mail with its email's id, and never a reply", async () => {
  const sent = (await world.send({})).body as { id: string; messageId: string };
  for (const name of ["auto-rfc3834", "auto-german", "auto-precedence", "reply-gmail"]) {
    const raw = readFileSync(new URL(`../corpus/inbound/${name}.eml`, import.meta.url), "utf8")
      .replaceAll("<01890000-0000-7000-8000-000000000001@sender.test>", sent.messageId)
      .replace("answer.1", name);
    await bring(world, { to: "news@sender.test", raw });
  }
  const events = await world.events();
  const notes = told(events, "email.received");
  assert.equal(notes.length, 3);
  for (const note of notes) {
    assert.equal(note.autoSubmitted, true);
    assert.equal(note.parentEmailId, sent.id);
  }
  const replies = told(events, "email.replied");
  assert.deepEqual(
    replies.map(({ newText, parentEmailId }) => [newText, parentEmailId]),
    [["Yes, please.\n\nThanks\nAnn", sent.id]],
  );
});

test("an id of ours under another name, or of an email that never was, makes no thread", async () => {
  const sent = (await world.send({})).body as { messageId: string };
  const ids = [
    sent.messageId.replace("@sender.test", "@elsewhere.test"),
    sent.messageId.replace(/^<.{8}/, "<01890000"),
  ];
  for (const [n, id] of ids.entries())
    await bring(world, {
      to: "news@sender.test",
      raw: `From: a@there.test\nSubject: forged ${n}\nIn-Reply-To: ${id}\n\nx\n`,
    });
  const forged = told(await world.events(), "email.received").filter(({ subject }) => /^forged/.test(String(subject)));
  assert.deepEqual(
    forged.map(({ parentEmailId, autoSubmitted }) => [parentEmailId, autoSubmitted]),
    [
      ["", false],
      ["", false],
    ],
  );
});
