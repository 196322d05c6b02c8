/** Fuzz target for messages that programs submit over SMTP. */
import assert from "node:assert/strict";
import { isAscii } from "node:buffer";
import { SubmittedProblem, splitMessage } from "../../src/mail/submitted/fields.ts";
import { prepare, type Submitted } from "../../src/mail/submitted/prepare.ts";
import { bytes } from "./inputs.ts";
import { target } from "./target.ts";

const tokens = [
  "From: Shop <shop@b.test>\r\n",
  'From: "a, b" <a@b.test> (c)\r\n',
  "From: =?utf-8?q?=C3=BC?= <a@b.test>\r\n",
  "To: a@b.test, \u00fc <\u00fc@b.test>\r\n",
  "To: undisclosed-recipients:;\r\n",
  "Bcc: hidden@b.test\r\n",
  "bcc : hidden@b.test\r\n",
  "Subject: Gr\u00fc\u00dfe\r\n folded\r\n",
  "Message-ID: <a@b.test>\r\n",
  "Date: Mon, 02 Nov 2026 10:00:00 +0000\r\n",
  "X-Posthorn-Metadata-a: b\r\n",
  "X-Posthorn-Idempotency-Key: k\r\n",
  "X-Posthorn-Scheduled-At: 2030-01-01T00:00:00Z\r\n",
  "Content-Type: text/plain; charset=utf-8\r\n",
  "Content-Type: multipart/mixed; boundary=b\r\n",
  'Content-Type: multipart/signed; boundary="b"\r\n',
  "Content-Type: message/rfc822\r\n",
  'Content-Type: application/pdf; name="\u00fc.pdf"\r\n',
  "Content-Transfer-Encoding: 8bit\r\n",
  "Content-Transfer-Encoding: base64\r\n",
  "Content-Transfer-Encoding: quoted-printable\r\n",
  "\r\n",
  "\r\n\r\n",
  "\r\n--b\r\n",
  "\r\n--b--\r\n",
  "\u00fc",
  "\u00ff".repeat(1200),
  "x".repeat(1200),
  "=",
  ".\r\n",
];

const recipients = ["a@b.test"];

/** The message is refused with a reason, or written so that every server transfers it unchanged, without what it must not show. */
export const submitted = target("submitted", bytes(tokens), (raw) => {
  const message = withLines(raw);
  const prepared = tryPrepare(message);
  if (!prepared) return;
  const { fields } = splitMessage(prepared.message);
  const count = (key: string) => fields.filter((field) => field.key === key).length;
  assert.equal(count("from"), 1);
  assert.equal(count("bcc"), 0);
  assert.ok(!fields.some(({ key }) => key.startsWith("x-posthorn-")));
  assert.ok(!/(?<!\r)\n|\r(?!\n)/.test(prepared.message.toString("latin1")), "every line ends with CRLF");
  assert.ok(prepared.eightBit || isAscii(prepared.message));
  // Without the fields that are written later, a list of recipients would be added.
  if (prepared.later.some((name) => name === "To" || name === "Cc")) return;
  const again = tryPrepare(prepared.message);
  assert.ok(again?.message.equals(prepared.message), "a prepared message needs no change");
});

function tryPrepare(raw: Buffer): Submitted | undefined {
  try {
    return prepare(raw, recipients);
  } catch (error) {
    assert.ok(error instanceof SubmittedProblem, (error as Error).stack);
    assert.match(`${error.status} ${error.message}`, /^5\.\d\.\d [\x20-\x7e]+$/);
    return undefined;
  }
}

/** The server accepts no other line ends. */
function withLines(raw: Buffer): Buffer {
  return Buffer.from(raw.toString("latin1").replace(/\r\n|\r|\n/g, "\r\n"), "latin1");
}
