import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { blankReason, isBlank, suggestField } from "./blank.ts";
import type { SendRequest } from "./request.ts";

const file = { base64Content: "", filename: "a.txt", contentType: "text/plain", contentId: "" };
const email = (content: Partial<SendRequest>) => ({ body: "", html: "", attachments: [], ...content }) as never;

test("body, html or an attachment counts as content, and so does a body of spaces", () => {
  assert.ok(isBlank(email({})));
  for (const content of [{ body: "a" }, { body: " " }, { html: "<p>" }, { attachments: [file] }])
    assert.ok(!isBlank(email(content)), JSON.stringify(content));
});

test("field names of other services get our field name as advice", () => {
  const cases: [right: string, ...names: string[]][] = [
    ["body", "text", "Text", "TextBody", "text_body", "content", "message", "TextPart", "plain_text", "text-body"],
    ["html", "html_body", "htmlBody", "HtmlBody", "htmlContent", "HTML", "HTMLPart"],
    ["replyToAddresses", "reply_to", "replyTo", "ReplyTo", "reply_to_list"],
    ["attachments", "attachment", "files", "Attachments"],
    ["metadata", "tags", "Tag", "custom_args", "Metadata"],
    ["scheduledAt", "send_at", "sendAt", "ScheduledAt"],
    ["to", "recipients", "toAddresses"],
    ["from", "sender", "fromEmailAddress"],
  ];
  for (const [right, ...names] of cases)
    for (const name of names) assert.equal(suggestField(name), `use ${right}`, name);
  for (const name of ["template", "template_id", "TemplateModel"])
    assert.match(suggestField(name)!, /render .* use html/);
});

test("a misspelled name gets the closest field as advice, and an unrelated name gets none", () => {
  for (const [name, right] of [
    ["bdoy", "body"],
    ["boddy", "body"],
    ["htm", "html"],
    ["attachmnets", "attachments"],
    ["shceduledAt", "scheduledAt"],
    ["sbject", "subject"],
  ])
    assert.equal(suggestField(name!), `use ${right}`, name);
  for (const name of ["x", "t", "priority", "trackOpens", "", "🔑", "constructor", "__proto__"])
    assert.equal(suggestField(name), undefined, name);
});

test("the reason lists the unknown fields, quotes unusual names, and stays short", () => {
  assert.equal(blankReason([]), "is required: an email needs body, html or an attachment");
  assert.equal(
    blankReason(["text"]),
    "is required: an email needs body, html or an attachment. The request has an unknown field: text (use body)",
  );
  assert.match(blankReason(["html_body", "priority"]), /has unknown fields: html_body \(use html\), priority$/);
  assert.match(blankReason(["a\nb"]), /: "a\\nb"$/);
  assert.match(blankReason(Array.from({ length: 30 }, (_, i) => `x${i}y`)), /, and 20 more$/);
});

test("the reason stays short with any field names", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ maxLength: 300, unit: "binary" }), { maxLength: 40 }), (names) => {
      assert.ok(blankReason(names).length < 10 * 450 + 200);
    }),
  );
});
