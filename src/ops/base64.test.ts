import assert from "node:assert/strict";
import { test } from "node:test";
import { provideToBase64 } from "./base64.ts";

type Encoder = { toBase64(options?: object): string };

test("bytes are encoded with both alphabets, with and without padding", () => {
  provideToBase64();
  const bytes = new Uint8Array([0, 251, 239, 255, 254]).subarray(1) as unknown as Encoder;
  assert.equal(bytes.toBase64(), "++///g==");
  assert.equal(bytes.toBase64({ omitPadding: true }), "++///g");
  assert.equal(bytes.toBase64({ alphabet: "base64url", omitPadding: true }), "--___g");
});
