/** Frames come out whole, whatever pieces the network cuts them into. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createUnwrapper, type Envelope, wrap } from "./envelope.ts";

test("any cutting of any messages gives the same messages", () => {
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

test("the flags tell the end and compression", () => {
  const [end, packed] = [wrap("{}"), wrap("")];
  end[0] = 2;
  packed[0] = 1;
  assert.deepEqual(createUnwrapper()(Buffer.concat([end, packed])), [
    { isCompressed: false, isEnd: true, text: "{}" },
    { isCompressed: true, isEnd: false, text: "" },
  ]);
});
