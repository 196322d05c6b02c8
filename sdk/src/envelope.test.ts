/** Decoding of Connect frames from chunks of any size. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createUnwrapper, type Envelope, wrap } from "./envelope.ts";

test("messages are decoded correctly regardless of how the bytes are split into chunks", () => {
  const messages = fc.array(fc.string({ unit: "binary", maxLength: 300 }), { maxLength: 8 });
  fc.assert(
    fc.property(messages, fc.infiniteStream(fc.integer({ min: 1, max: 40 })), (texts, sizes) => {
      const bytes = Buffer.concat(texts.map((text) => wrap(text)));
      const unwrap = createUnwrapper();
      const seen: Envelope[] = [];
      for (let at = 0; at < bytes.length; ) {
        const size = sizes.next().value as number;
        seen.push(...unwrap(bytes.subarray(at, at + size)));
        at += size;
      }
      const decoded = texts.map((text) => new TextDecoder().decode(new TextEncoder().encode(text)));
      assert.deepEqual(
        seen.map(({ text }) => text),
        decoded,
      );
    }),
  );
});

test("the flags mark the last frame and compressed frames", () => {
  const [end, compressed] = [wrap("{}"), wrap("")];
  end[0] = 2;
  compressed[0] = 1;
  assert.deepEqual(createUnwrapper()(Buffer.concat([end, compressed])), [
    { isCompressed: false, isEnd: true, text: "{}" },
    { isCompressed: true, isEnd: false, text: "" },
  ]);
});
