import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { newEmail } from "../../../test/harness/mail.ts";
import { readOutlined } from "../../emails/outgoing.ts";
import type { NewEmail } from "../../emails/store/emails.ts";
import { type LargePart, wholePart } from "../../emails/store/parts.ts";
import type { ObjectRef } from "../../objects/store/objects.ts";
import { createDigests, type Digests } from "./digests.ts";
import { createComposer } from "./pool.ts";
import { createRecentMail } from "./recent-mail.ts";
import { bodyHashOf } from "./streamed.ts";

const composer = createComposer();
const digests = createDigests();
after(async () => {
  await composer.stop();
  await digests.end();
});

function large(extra: Partial<NewEmail> = {}): NewEmail {
  const bytes = Buffer.alloc(1_500_000, 5);
  const email = newEmail("01932c5e-7b1a-7abc-8def-0123456789ab", ["a@there.test"], {
    sizeBytes: bytes.length,
    parts: [JSON.stringify({ text: "x", html: "" }), { bytes }],
    ...extra,
  });
  const attachments = [{ filename: "f", contentType: "", sizeBytes: bytes.length }];
  return { ...email, envelope: { ...email.envelope, attachments } };
}

test("the hash of a new email is that of the pass before its attempt, and its content stays as it is", async () => {
  const hashes = createRecentMail({ composer, digests });
  const email = large();
  const scheduled = large({ scheduledAt: new Date() });
  hashes.expect([email, scheduled]);
  const known = await hashes.hashOf(email.id);
  const [texts, content] = email.parts as [string, { bytes: Buffer }];
  assert.deepEqual(content.bytes, Buffer.alloc(1_500_000, 5));
  const stored = {
    bytes: content.bytes.length,
    async *read() {
      yield Buffer.from(content.bytes);
    },
  };
  const parts = [texts, stored];
  const outline = await composer.outline({ email: await readOutlined({ ...email, date: new Date() }, parts) });
  assert.equal(known, await bodyHashOf({ outline, parts, signal: new AbortController().signal }, digests));
  assert.equal(await hashes.hashOf(scheduled.id), undefined, "a scheduled email is hashed when it is sent");
});

test("content is in memory until its first attempt ends; what does not fit is left to the store", async () => {
  const recent = createRecentMail({ composer, digests });
  const many = Array.from({ length: 30 }, () => large());
  recent.expect(many);
  const opened = many.map(({ id }) => recent.open(id));
  const held = opened.filter((content) => content !== undefined);
  // A single workspace leaves a part of the 32 MiB to others.
  assert.ok(held.length >= 10 && held.length <= Math.floor((32 * 1024 * 1024) / 1_500_000), `${held.length} are held`);
  const other = large();
  const stranger = { ...other, workspaceId: "01932c5e-7b1a-7abc-8def-ffffffffffff" };
  recent.expect([stranger]);
  assert.notEqual(recent.open(stranger.id), undefined, "another workspace has its share");

  const [first] = held;
  const second = recent.open(many[0]!.id)!;
  first!.close();
  first!.close();
  assert.deepEqual(await wholePart(second.parts[1] as LargePart), Buffer.alloc(1_500_000, 5));
  assert.notEqual(recent.open(many[0]!.id), undefined, "one reader is left");
  for (const content of held.slice(1)) content.close();
  await Promise.all(many.map(({ id }) => recent.hashOf(id)));
  await setImmediate();
  assert.equal(recent.open(many[1]!.id), undefined, "read once");
  const [, freed] = many[1]!.parts as [string, { bytes: Buffer }];
  assert.equal(freed.bytes.length, 0, "its memory is free at once");
  await assert.rejects(wholePart(held[1]!.parts[1] as LargePart), /no longer in memory/);
  const last = large();
  recent.expect([last]);
  assert.notEqual(recent.open(last.id), undefined, "the memory is free again");
});

test("a small email is kept without a hash, in memory of its own", async () => {
  const recent = createRecentMail({ composer, digests });
  const small = () =>
    newEmail("01932c5e-7b1a-7abc-8def-0123456789ab", ["a@there.test"], { parts: ["x".repeat(100_000)] });
  const many = Array.from({ length: 100 }, small);
  const email = large();
  recent.expect([...many, email]);
  assert.deepEqual(recent.open(many[0]!.id)?.parts, many[0]!.parts);
  assert.equal(await recent.hashOf(many[0]!.id), undefined);
  assert.equal(recent.open(many.at(-1)!.id), undefined, "8 MiB are used up");
  assert.notEqual(recent.open(email.id), undefined, "large mail has the rest");
  await recent.hashOf(email.id);
  const scheduled = { ...small(), scheduledAt: new Date() };
  const empty = createRecentMail({ composer, digests });
  empty.expect([scheduled]);
  assert.equal(empty.open(scheduled.id), undefined);
});

test("large texts count, although they are not sent in pieces", () => {
  const recent = createRecentMail({ composer, digests });
  const texts = { bytes: Buffer.from(JSON.stringify({ text: "x".repeat(20 * 1024 * 1024), html: "" })) };
  const [first, second] = [1, 2].map(() => large({ parts: [texts, { bytes: Buffer.alloc(1_500_000) }] }));
  recent.expect([first!, second!]);
  assert.notEqual(recent.open(first!.id), undefined);
  assert.equal(recent.open(second!.id), undefined);
});

test("content that was uploaded to object storage is kept if it is still in memory", () => {
  const recent = createRecentMail({ composer, digests });
  const object = { id: "01932c5e-7b1a-7abc-8def-0123456789ac", bytes: 1_500_000 } as ObjectRef;
  const uploaded = large({ parts: ["{}", { object, octets: Buffer.alloc(1_500_000) }] });
  const elsewhere = large({ parts: ["{}", { object }] });
  recent.expect([uploaded, elsewhere]);
  assert.notEqual(recent.open(uploaded.id), undefined);
  assert.equal(recent.open(elsewhere.id), undefined);
});

test("hashes that fail are left to the attempt; old hashes are forgotten", async () => {
  const hashes = createRecentMail({ composer, digests });
  const email = large();
  hashes.expect([email]);
  assert.notEqual(await hashes.hashOf(email.id), undefined);
  const failing: Digests = {
    open: () => ({
      add: async () => {
        throw new Error("the thread has exited");
      },
      hash: async () => "",
      drop() {},
    }),
    end: async () => {},
  };
  const broken = createRecentMail({ composer, digests: failing });
  broken.expect([email]);
  assert.equal(await broken.hashOf(email.id), undefined);
  for (let i = 0; i < 1000; i++) hashes.setHash(`other ${i}`, "h");
  assert.equal(await hashes.hashOf(email.id), undefined);
  assert.equal(await hashes.hashOf("other 0"), "h");
});
