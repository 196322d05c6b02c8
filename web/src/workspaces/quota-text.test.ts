import assert from "node:assert/strict";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { QuotaKind } from "../../../src/gen/v1/event_pb.ts";
import { QuotaSchema } from "../../../src/gen/v1/workspace_pb.ts";
import { bytesText, quotaNotices, wholeNumber } from "./quota-text.ts";

test("amounts are short", () => {
  assert.deepEqual([0, 1023, 1024, 1536, 1073741824, 5 * 1024 ** 5].map(bytesText), [
    "0 bytes",
    "1023 bytes",
    "1 KiB",
    "1.5 KiB",
    "1 GiB",
    "5120 TiB",
  ]);
  assert.equal(wholeNumber(1234567), "1,234,567");
});

const quota = (kind: QuotaKind, used: number, limit?: number) => create(QuotaSchema, { kind, used, limit });

test("quotas are noticed at 80 % and at 100 %, the fullest first, with the figure and what to do", () => {
  const notices = quotaNotices([
    quota(QuotaKind.EMAILS_PER_HOUR, 4, 5),
    quota(QuotaKind.EMAILS_PER_DAY, 799, 1000),
    quota(QuotaKind.STORED_BYTES, 2048, 2048),
    quota(QuotaKind.KEYS, 9),
    quota(QuotaKind.WEBHOOKS, 0, 0),
  ]);
  assert.deepEqual(
    notices.map(({ figure, isAtLimit }) => [figure, isAtLimit]),
    [
      ["Stored content: 2 KiB of 2 KiB (100 %)", true],
      ["Emails per hour: 4 of 5 (80 %)", false],
    ],
  );
  assert.match(notices[0]!.advice, /refused until old content is deleted/);
  assert.match(notices[1]!.advice, /At 100 % new emails are refused\. Send less urgent mail later/);
});

test("a notice of a higher level is another one, and 100 % is said only at the limit", () => {
  const [near] = quotaNotices([quota(QuotaKind.KEYS, 999, 1000)]);
  const [full] = quotaNotices([quota(QuotaKind.KEYS, 1001, 1000)]);
  assert.match(near!.figure, /\(99 %\)/);
  assert.match(full!.figure, /1,001 of 1,000 \(100 %\)/);
  assert.notEqual(near!.id, full!.id);
});
