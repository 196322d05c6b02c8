import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { decodeBody, decodedBytes } from "./body.ts";

test("base64 is decoded whatever line ends and other characters are in it", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), fc.integer({ min: 1, max: 76 }), (bytes, width) => {
      const lines = Buffer.from(bytes)
        .toString("base64")
        .replace(new RegExp(`.{${width}}`, "g"), "$&\r\n ");
      assert.deepEqual(decodeBody(Buffer.from(lines), "base64"), Buffer.from(bytes));
    }),
  );
});

test("quoted-printable is decoded, soft line breaks vanish, and line ends become LF", () => {
  const body = Buffer.from("caf=C3=A9 =3D 1=\r\n2\r\nend\r\n");
  assert.equal(decodeBody(body, "quoted-printable").toString(), "café = 12\nend\n");
});

test("the length without decoding is the length after decoding, for any bytes", () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 200 }),
      fc.constantFrom("base64" as const, "quoted-printable" as const, "identity" as const),
      (bytes, encoding) => {
        const body = Buffer.from(bytes);
        assert.equal(decodedBytes(body, encoding), decodeBody(body, encoding).length);
      },
    ),
  );
});
