/** Decoding of error details that the protobuf library encoded, and of malformed ones. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { create, toBinary } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "../../src/gen/google/rpc/error_details_pb.ts";
import { readDetails } from "./error-details.ts";

function detail(type: string, bytes: Uint8Array) {
  // Connect omits the base64 padding.
  return { type, value: Buffer.from(bytes).toString("base64").replace(/=+$/, "") };
}

test("the reason is decoded as encoded, and an empty one is left out", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), (reason) => {
      const info = toBinary(ErrorInfoSchema, create(ErrorInfoSchema, { reason, domain: "posthorn" }));
      assert.equal(readDetails([detail("google.rpc.ErrorInfo", info)]).reason, reason || undefined);
    }),
  );
});

test("the values of a reason are decoded as encoded", () => {
  const text = fc.string({ unit: "grapheme", minLength: 1 });
  fc.assert(
    fc.property(fc.dictionary(text, text), (metadata) => {
      const info = toBinary(
        ErrorInfoSchema,
        create(ErrorInfoSchema, { reason: "LOG_CUT", domain: "posthorn", metadata }),
      );
      const read = readDetails([detail("google.rpc.ErrorInfo", info)]);
      assert.deepEqual(Object.entries(read.metadata ?? {}).sort(), Object.entries(metadata).sort());
    }),
  );
});

test("violations and retry delays are decoded as encoded", () => {
  const text = fc.string({ unit: "grapheme" });
  const violations = fc.array(fc.record({ field: text, description: text }));
  fc.assert(
    fc.property(violations, fc.integer({ min: 0, max: 2 ** 40 }), (fieldViolations, delayMs) => {
      const bad = toBinary(BadRequestSchema, create(BadRequestSchema, { fieldViolations }));
      const retry = toBinary(RetryInfoSchema, create(RetryInfoSchema, { retryDelay: durationFromMs(delayMs) }));
      const read = readDetails([detail("google.rpc.BadRequest", bad), detail("google.rpc.RetryInfo", retry)]);
      assert.deepEqual(
        read.violations,
        fieldViolations.map((one) => ({ ...one })),
      );
      assert.equal(read.retryAfterMs, delayMs);
    }),
  );
});

test("malformed details do not throw", () => {
  fc.assert(
    fc.property(fc.uint8Array(), fc.anything(), (bytes, anything) => {
      readDetails([
        detail("google.rpc.BadRequest", bytes),
        detail("google.rpc.ErrorInfo", bytes),
        detail("google.rpc.RetryInfo", bytes),
        anything,
      ]);
      readDetails(anything);
    }),
  );
});
