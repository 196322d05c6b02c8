/** Compares our reader with postal-mime's own parser, so that a difference in how parts are found shows up. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import fc from "fast-check";
import PostalMime from "postal-mime";
import { maxNesting } from "./limits.ts";
import { readMessage } from "./read.ts";
import { ShapeProblem } from "./structure.ts";

const folder = new URL("../../../test/corpus/inbound/", import.meta.url);
const corpus = readdirSync(folder)
  .filter((file) => file.endsWith(".eml"))
  .map((file) => Buffer.from(readFileSync(new URL(file, folder), "latin1").replace(/\r?\n/g, "\r\n"), "latin1"));

const tokens = [
  "Content-Type: multipart/mixed; boundary=b\r\n",
  'Content-Type: multipart/alternative; boundary="b2"\r\n',
  "Content-Type: multipart/digest; boundary=c (a comment)\r\n",
  "Content-Type: text/html\r\n",
  "Content-Type: text/plain; charset=iso-8859-1; format=flowed\r\n",
  "Content-Type: image/png; name=a.png\r\n",
  "Content-Disposition: attachment\r\n",
  "Content-Transfer-Encoding: base64\r\n",
  "Content-Transfer-Encoding: quoted-printable\r\n",
  "\r\n",
  "\r\n--b\r\n",
  "--b2\r\n",
  "--b--\r\n",
  "--b2-- \t\r\n",
  "--c\r\n",
  "--bb\r\n",
  "=C3=BC=\r\nx=Z",
  "QUJD\r\nRA==\r\nQQ",
  "a \r\nb",
];

/** Only where both read the same: postal-mime converts between text and HTML by other rules, and rewrites calendars. */
async function compare(raw: Buffer): Promise<void> {
  const theirs = await PostalMime.parse(raw, { forceRfc822Attachments: true, maxNestingDepth: maxNesting });
  let ours: ReturnType<typeof readMessage>;
  try {
    ours = readMessage(raw);
  } catch (error) {
    assert.ok(error instanceof ShapeProblem);
    return;
  }
  const clean = (text: string | undefined) => (text ?? "").replaceAll("\0", "").toWellFormed();
  assert.deepEqual(
    ours.parts.map(({ contentType, content }) => [contentType, content.toString("latin1")]),
    theirs.attachments.map(({ mimeType, content }) => [
      mimeType || "application/octet-stream",
      Buffer.from(content as ArrayBuffer).toString("latin1"),
    ]),
  );
  for (const part of ours.parts) assert.equal(part.sizeBytes, part.content.length);
  if (theirs.text && theirs.html) return;
  assert.equal(ours.text, clean(theirs.text).replaceAll("\r\n", "\n"));
  assert.equal(ours.html, clean(theirs.html));
}

test("every message of the corpus is read as postal-mime reads it", async () => {
  for (const raw of corpus) await compare(raw);
});

test("MIME parts in any order are found as postal-mime finds them", async () => {
  const messages = fc
    .array(fc.constantFrom(...tokens), { maxLength: 30 })
    .map((pieces) => Buffer.from(pieces.join("")));
  await fc.assert(fc.asyncProperty(messages, compare), { numRuns: 1500, interruptAfterTimeLimit: 8000 });
});
