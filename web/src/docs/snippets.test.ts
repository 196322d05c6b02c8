import assert from "node:assert/strict";
import { test } from "node:test";
import { languages, type SnippetValues } from "./snippets.ts";

const values: SnippetValues = {
  origin: "https://mail.example.com",
  from: "o'hara@example.com",
  to: "ada@example.net",
  subject: "Hello #{name} $name",
  body: "It works.",
};

for (const { id, write } of languages) {
  test(`${id}: the key is read from the environment, or written into the code`, () => {
    assert.match(write(values), /POSTHORN_KEY/);
    const filled = write({ ...values, key: "ph_secret" });
    assert.match(filled, /ph_secret/);
    assert.doesNotMatch(filled, /POSTHORN_KEY|\bos\b/);
  });
}

test("quotes and signs that insert values are escaped", () => {
  const written = Object.fromEntries(languages.map(({ id, write }) => [id, write(values)]));
  assert.match(written.curl!, /"from":"o'\\''hara@example\.com"/);
  assert.match(written.php!, /'from' => 'o\\'hara@example\.com'/);
  assert.match(written.ruby!, /subject: "Hello \\#\{name\} \$name"/);
});
