/** Fuzz targets for input of API callers and people: JSON, keys, ids, cursors, cookies, URLs, CSV. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { isPublicAddress } from "../../src/dns/address-guard.ts";
import { check } from "../../src/emails/rules/check.ts";
import { sendRequestFrom } from "../../src/emails/wire.ts";
import { readFilter } from "../../src/events/cursor.ts";
import { type SendEmailRequest, SendEmailRequestSchema } from "../../src/gen/v1/email_pb.ts";
import { keysetPage } from "../../src/http/paging.ts";
import { createRequestReader } from "../../src/http/read-json.ts";
import { keyPrefix } from "../../src/keys/store.ts";
import { readCsv } from "../../src/ops/csv.ts";
import { Problem, type Violation } from "../../src/ops/problem.ts";
import { readSessionToken } from "../../src/people/cookies.ts";
import { fromWireId, type IdKind, idPrefixes, toWireId } from "../../src/postgres/ids.ts";
import { createWebhookGuard } from "../../src/webhooks/rules/url.ts";
import { eventTypesFrom } from "../../src/webhooks/wire.ts";
import { readEmail } from "../../src/workspaces/rules.ts";
import { allMethods } from "../../test/harness/contract.ts";
import { bytes, texts } from "./inputs.ts";
import { target } from "./target.ts";

/** A caller's mistake must be a Problem. Any other error is a bug. */
function allowProblem<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    assert.ok(error.message.length < 100_000, "the error message is short, however long the request is");
    return undefined;
  }
}

const readers = (await allMethods()).map(({ input: message }) => ({ message, read: createRequestReader(message) }));
const jsonTokens = [
  ...[
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    '"',
    "null",
    "true",
    "1e999",
    "-0",
    "\\u0000",
    "\\ud800",
    '"__proto__":',
    "{}",
    "[]",
  ],
  ...[
    '"2026-99-99T00:00:00Z"',
    '"2026-02-30T00:00:00Z"',
    '"AA=="',
    '"EMAIL_STATUS_SENT"',
    '"cursor":"1"',
    '"pageSize":',
  ],
];
/** Bytes that are rarely valid JSON, as the request of a random method. */
const json = target("json", fc.tuple(fc.nat(), bytes(jsonTokens)), ([which, text]) => {
  allowProblem(() => readers[which % readers.length]!.read(text));
});

/** Sometimes a valid value, so that some requests pass; otherwise an invalid one. */
const leaf = fc.oneof(
  fc.constantFrom<unknown>(
    "a@b.test",
    "N <a@b.test>",
    "2026-11-16T00:00:00Z",
    "2026-99-99T00:00:00Z",
    "2026-02-30",
    "AA==",
    "",
    "x",
  ),
  texts(["a", "@", "b.test", "<", ">", "=", "\r\n"]),
  fc.constantFrom<unknown>(0, -1, 1e99, true, null, [], {}, [[]], Number.MAX_SAFE_INTEGER),
);
const values = fc.oneof(
  { weight: 3, arbitrary: leaf },
  { weight: 1, arbitrary: fc.array(leaf, { maxLength: 5 }) },
  { weight: 1, arbitrary: fc.dictionary(fc.string({ maxLength: 8 }), leaf, { maxKeys: 4 }) },
);
/** Objects with the method's fields, each with a random value. */
const requests = fc.nat().chain((which) => {
  const { message } = readers[which % readers.length]!;
  const names = message.fields.map(({ jsonName }) => jsonName);
  const field =
    names.length === 0 ? fc.constant("x") : fc.oneof(fc.constantFrom(...names), fc.string({ maxLength: 5 }));
  return fc.tuple(fc.constant(which), fc.dictionary(field, values, { maxKeys: 8 }));
});
const fields = target("json-fields", requests, ([which, request]) => {
  allowProblem(() => readers[which % readers.length]!.read(Buffer.from(JSON.stringify(request))));
});

const strings = texts(["a", "@", "b.test", "Name <a@b.test>", "\r\n", "X-A", "=", "AA=="]);
const lists = fc.array(strings, { maxLength: 4 });
const emails = fc.record(
  {
    from: strings,
    to: lists,
    cc: lists,
    bcc: lists,
    subject: strings,
    body: strings,
    html: strings,
    inReplyTo: strings,
    references: lists,
    replyToAddresses: lists,
    replyToEmailId: strings,
    metadata: fc.dictionary(strings, strings, { maxKeys: 3 }),
    headers: fc.dictionary(fc.oneof(strings, fc.constantFrom("X-A", "From", "List-Unsubscribe")), strings, {
      maxKeys: 3,
    }),
    attachments: fc.array(
      fc.record({
        filename: strings,
        contentType: fc.oneof(strings, fc.constant("text/plain")),
        base64Content: strings,
      }),
      { maxLength: 2 },
    ),
  },
  { requiredKeys: [] },
);
const readEmailRequest = createRequestReader(SendEmailRequestSchema);
const limits = { recipients: 50, messageBytes: 41_943_040, attachments: 100 };
/** SendEmail from its JSON to the stored form: either violations, or an email without header injection. */
const send = target("send", emails, (email) => {
  const request = allowProblem(() => readEmailRequest(Buffer.from(JSON.stringify(email)))) as
    | SendEmailRequest
    | undefined;
  if (!request) return;
  const checked = check(sendRequestFrom(request), { limits, nowMs: Date.parse("2026-11-16T00:00:00Z") });
  if (!checked.ok) assert.ok(checked.violations.length > 0);
  else assert.doesNotMatch(checked.email.subject + checked.email.headers.flat().join(""), /[\r\n\0]/);
});

const idTokens = ["em_", "dom_", "01a1e127-afa3-70f2-a23d-6d6361b63878", "-", "0", "f", "F", "latest", "9"];
const ids = target("ids-and-cursors", texts(idTokens), (text) => {
  for (const kind of Object.keys(idPrefixes) as IdKind[]) {
    const uuid = fromWireId(kind, text);
    if (uuid !== undefined) assert.equal(toWireId(kind, uuid), text.toLowerCase());
  }
  allowProblem(() => keysetPage({ pageSize: text.length, pageToken: text }));
  allowProblem(() => readFilter({ cursor: text, types: text.split(""), afterEventId: text }));
  const problems: Violation[] = [];
  eventTypesFrom(text.split(""), problems);
  assert.ok(problems.length <= 50);
});

const keys = target(
  "keys",
  texts(["ph_", "test_", "abcdefgh", "_", "0".repeat(32), "Bearer ", "posthorn.session_token="]),
  (text) => {
    assert.ok(keyPrefix(text).length <= 20 + "ph_test_".length);
    assert.equal(
      readSessionToken(text, "posthorn.session_token", ["secret"]),
      undefined,
      "a guessed cookie must not be valid",
    );
    readEmail(text);
  },
);

const guard = createWebhookGuard({ allowCidrs: [] });
const urlTokens = [
  ...[
    "https://",
    "http://",
    "//",
    "127.1",
    "0x7f000001",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "017700000001",
    "169.254.169.254",
  ],
  ...["localhost", "@", ":", "/", "?", "#", "%31", "１", ".", "example.com", "10.0.0.1", "8443", "\\"],
];
/** If the accepted host is an IP address, it must be public. */
const urls = target("webhook-urls", texts(urlTokens), (text) => {
  const read = guard.read(text);
  if (!("problem" in read) && /^[\d.]+$|:/.test(read.host)) assert.ok(isPublicAddress(read.host), read.host);
});

const csv = target("csv", texts(["address", ",", "note", "\n", '"', '""', "a@b.test", ";"]), (text) => {
  let count = 0;
  for (const record of readCsv(text)) count += record ? 1 : 0;
  assert.ok(count <= text.length + 1);
});

export const apiTargets = [json, fields, send, ids, keys, urls, csv];
