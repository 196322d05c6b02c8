import assert from "node:assert/strict";
import { test } from "node:test";
import { attachmentPart, checkAttachment } from "./attachment.ts";

test("all problems with name, type and content id are reported at once", () => {
  assert.deepEqual(
    checkAttachment({ filename: "bill.pdf", contentType: "application/pdf", contentId: "logo@example.com" }),
    [],
  );
  const problems = checkAttachment({ filename: `${"x".repeat(256)}\n`, contentType: "no type", contentId: "a b" });
  assert.equal(problems.length, 4);
  assert.match(problems[0]!, /257 characters; at most 255/);
  assert.match(problems[1]!, /control character/);
  assert.match(problems[3]!, /content id/);
});

test("the part's header is ASCII and contains a file name in any script", () => {
  const [head] = attachmentPart(
    { filename: "Rechnung für Ä.pdf", contentType: "", base64: "QQ==", contentId: "logo" },
    "inline",
  );
  assert.match(head, /^Content-Type: application\/octet-stream;/);
  assert.match(head, /Content-Disposition: inline;\s+filename\*=utf-8''Rechnung%20f%C3%BCr%20%C3%84\.pdf/i);
  assert.match(head, /Content-ID: <logo>\r\n/);
  assert.match(head, /Content-Transfer-Encoding: base64\r\n\r\n$/);
  assert.match(head, /^[\r\n -~]*$/);
});

test("content that could inject lines, and a detached buffer, throw", () => {
  const labels = { filename: "a", contentType: "text/plain" };
  assert.throws(() => attachmentPart({ ...labels, base64: "QQ==\r\n--x" }, "attachment"), /not canonical base64/);
  const detached = new Uint8Array(Buffer.from("QUJD"));
  structuredClone(detached.buffer, { transfer: [detached.buffer] });
  assert.throws(() => attachmentPart({ ...labels, base64: detached }, "attachment"), /already transferred/);
  assert.throws(() => attachmentPart({ ...labels, filename: "a\r\nb", base64: "" }, "attachment"), /control character/);
});
