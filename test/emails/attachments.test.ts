import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { after, before, test } from "node:test";
import { needs } from "../harness/foreign.ts";
import { leaves, parseWithPython } from "../harness/python.ts";
import { accepted, getEmail, untilFinished } from "../harness/sending.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";

const skip = needs("python3");

let testbed: Testbed;
before(async () => {
  if (!skip) testbed = await startTestbed();
});
after(async () => await testbed?.stop());

const sha256 = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");
const base64 = (bytes: Buffer) => bytes.toString("base64");

test("attachments of every type arrive unchanged, under their own names", { skip }, async () => {
  const files = [
    { filename: "plain.bin", contentType: "application/octet-stream", content: randomBytes(1000) },
    { filename: "Angebot für Ärzte – №7.pdf", contentType: "application/pdf", content: randomBytes(70_001) },
    {
      filename: "見積書 🧾.txt",
      contentType: "text/plain; charset=utf-16",
      content: Buffer.from("\ufeffzwölf", "utf16le"),
    },
    { filename: 'quo"te\\back.csv', contentType: "text/csv", content: Buffer.from("a;b\r\n.\r\n1;2\n") },
    { filename: `${"long ".repeat(45)}name.dat`, contentType: "", content: Buffer.from([0, 13, 10, 46, 13, 10, 255]) },
    { filename: "empty.txt", contentType: "text/plain", content: Buffer.alloc(0) },
  ];
  const attachments = files.map(({ content, ...label }) => ({ ...label, base64Content: base64(content) }));
  const id = await accepted(testbed, { to: ["files@there.test"], html: "<p>Files</p>", attachments });
  const parsed = await parseWithPython(testbed.sink.received("files@there.test")[0]!.data);
  assert.deepEqual(parsed.defects, []);
  assert.equal(parsed.type, "multipart/mixed");
  assert.deepEqual(
    parsed.parts.map(({ type }) => type),
    ["multipart/alternative", ...files.map((file) => file.contentType.split(";")[0] || "application/octet-stream")],
  );
  for (const [i, file] of files.entries()) {
    const part = parsed.parts[i + 1]!;
    assert.equal(part.filename, file.filename);
    assert.equal(part.disposition, "attachment");
    assert.equal(part.sha256, sha256(file.content), file.filename);
  }
  const { attachments: listed } = await getEmail(testbed, id);
  assert.deepEqual(
    (listed as { filename: string; sizeBytes: number }[]).map(({ filename, sizeBytes }) => [filename, sizeBytes]),
    files.map(({ filename, content }) => [filename, content.length]),
  );
});

test("an image with a content id is in a multipart/related part with the html that shows it", { skip }, async () => {
  const logo = randomBytes(3000);
  await accepted(testbed, {
    to: ["inline@there.test"],
    body: "See the logo",
    html: '<img src="cid:logo@there">',
    attachments: [
      { filename: "logo.png", contentType: "image/png", contentId: "logo@there", base64Content: base64(logo) },
      { filename: "terms.txt", contentType: "text/plain", base64Content: base64(Buffer.from("terms")) },
    ],
  });
  const parsed = await parseWithPython(testbed.sink.received("inline@there.test")[0]!.data);
  assert.deepEqual(parsed.defects, []);
  const [alternative, terms] = parsed.parts;
  assert.equal(terms!.filename, "terms.txt");
  const [text, related] = alternative!.parts;
  assert.equal(text!.text, "See the logo");
  assert.equal(related!.type, "multipart/related");
  const [page, image] = related!.parts;
  assert.equal(page!.text, '<img src="cid:logo@there">');
  assert.equal(image!.contentId, "<logo@there>");
  assert.equal(image!.disposition, "inline");
  assert.equal(image!.sha256, sha256(logo));
});

test("a 12 MiB attachment arrives unchanged, and small emails are delivered at the same time", {
  skip,
}, async () => {
  const large = randomBytes(12 * 1024 * 1024 + 1);
  const attachments = [{ filename: "large.bin", contentType: "application/zip", base64Content: base64(large) }];
  const [id] = await Promise.all([
    accepted(testbed, { to: ["large@there.test"], attachments, async: true }),
    ...Array.from({ length: 20 }, () => accepted(testbed, { to: ["small@other.test"] })),
  ]);
  const email = await untilFinished(testbed, id!);
  assert.equal(email.status, "EMAIL_STATUS_SENT");
  assert.equal(testbed.sink.received("small@other.test").length, 20);
  const parsed = await parseWithPython(testbed.sink.received("large@there.test")[0]!.data);
  const file = leaves(parsed).find((part) => part.filename === "large.bin")!;
  assert.equal(file.size, large.length);
  assert.equal(file.sha256, sha256(large));
});
