import assert from "node:assert/strict";
import { after, test } from "node:test";
import { newEmail } from "../../../test/harness/mail.ts";
import { readOutlined } from "../../emails/outgoing.ts";
import type { NewEmail } from "../../emails/store/emails.ts";
import { createBodyHashes } from "./body-hashes.ts";
import { createDigests, type Digests } from "./digests.ts";
import { createComposer } from "./pool.ts";
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
  const hashes = createBodyHashes({ composer, digests });
  const email = large();
  const scheduled = large({ scheduledAt: new Date() });
  hashes.expect([email, scheduled]);
  const known = await hashes.get(email.id);
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
  assert.equal(await hashes.get(scheduled.id), undefined, "a scheduled email is hashed when it is sent");
});

test("content beyond the limit and hashes that fail are left to the attempt; old hashes are forgotten", async () => {
  const hashes = createBodyHashes({ composer, digests });
  const many = Array.from({ length: 30 }, () => large());
  hashes.expect(many);
  const known = await Promise.all(many.map(({ id }) => hashes.get(id)));
  assert.equal(known.filter((hash) => hash !== undefined).length, Math.floor((32 * 1024 * 1024) / 1_500_000));
  hashes.expect([many.at(-1)!]);
  assert.notEqual(await hashes.get(many.at(-1)!.id), undefined, "the memory is free again");
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
  const broken = createBodyHashes({ composer, digests: failing });
  broken.expect([many[0]!]);
  assert.equal(await broken.get(many[0]!.id), undefined);
  for (let i = 0; i < 1000; i++) hashes.set(`other ${i}`, "h");
  assert.equal(await hashes.get(many[0]!.id), undefined);
  assert.equal(await hashes.get("other 0"), "h");
});
