import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { needs } from "../harness/foreign.ts";
import { headerOf, leaves, parseWithPython } from "../harness/python.ts";
import { accepted } from "../harness/sending.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";

const skip = needs("python3");

let testbed: Testbed;
before(async () => {
  if (!skip) testbed = await startTestbed();
});
after(async () => await testbed?.stop());

/** Normalizes line endings to CRLF: the text is compared without regard to them. */
const canonical = (text: string) => text.replace(/\r\n|\r|\n/g, "\r\n");

const texts = {
  "lone dots": "first\n.\n..\n.hidden\nlast\n.",
  "bare CR and LF": "one\rtwo\nthree\r\nfour\r\rsix\n\n",
  "a line of 100 KB": `start\n${"x".repeat(100_000)}\nend`,
  "other scripts and emoji": "Grüße, 你好, שלום, 👩‍👩‍👧\n",
  "spaces at line ends and From": "trailing  \t\nFrom here on\n-- \nbye",
  "lines that look like a boundary": "--=_0123\n--=_0123--\n",
};

for (const [name, text] of Object.entries(texts)) {
  test(`text and html with ${name} arrive unchanged`, { skip }, async () => {
    const to = `${Object.keys(texts).indexOf(name)}@there.test`;
    const html = `<pre>${text}</pre>`;
    await accepted(testbed, { to: [to], subject: `About ${name}`, body: text, html });
    const { raw, data } = testbed.sink.received(to)[0]!;
    assert.doesNotMatch(raw.toString("latin1"), /[^\r]\n|\r[^\n]/);
    for (const line of data.toString("latin1").split("\r\n")) assert.ok(line.length <= 998, "a line over 998 octets");
    assert.ok(
      data.every((octet) => octet < 128),
      "an octet above 127",
    );
    const parsed = await parseWithPython(data);
    assert.deepEqual(parsed.defects, []);
    const [plain, page] = leaves(parsed);
    assert.equal(canonical(plain!.text!), canonical(text));
    assert.equal(canonical(page!.text!), canonical(html));
  });
}

test("a body of spaces is sent unchanged", { skip }, async () => {
  await accepted(testbed, { to: ["empty@there.test"], subject: "", body: "  " });
  const parsed = await parseWithPython(testbed.sink.received("empty@there.test")[0]!.data);
  assert.equal(parsed.type, "text/plain");
  assert.equal(parsed.text!.replace(/\r\n$/, ""), "  ");
  assert.equal(headerOf(parsed, "Subject"), "");
});

test("names, subjects and custom headers arrive with all their characters", { skip }, async () => {
  const subject = `Très long – ${"日本語のタイトル ".repeat(20)}end`;
  await accepted(testbed, {
    from: '"Dörte, Büro" <news@sender.test>',
    to: ["Łukasz Żółć <named@there.test>", "Ann <ann@there.test>"],
    cc: ["J. Doe <cc@there.test>"],
    replyToAddresses: ["Support <help@sender.test>"],
    subject,
    headers: { "List-Unsubscribe": "<https://sender.example/u?id=1>", "X-Order": "Größe 7" },
  });
  const parsed = await parseWithPython(testbed.sink.received("named@there.test")[0]!.data);
  assert.deepEqual(parsed.defects, []);
  assert.equal(headerOf(parsed, "Subject"), subject);
  assert.equal(headerOf(parsed, "From"), '"Dörte, Büro" <news@sender.test>');
  assert.equal(headerOf(parsed, "To"), "Łukasz Żółć <named@there.test>, Ann <ann@there.test>");
  assert.match(headerOf(parsed, "Cc")!, /^"?J\. Doe"? <cc@there\.test>$/);
  assert.equal(headerOf(parsed, "Reply-To"), "Support <help@sender.test>");
  assert.equal(headerOf(parsed, "List-Unsubscribe"), "<https://sender.example/u?id=1>");
  assert.equal(headerOf(parsed, "X-Order"), "Größe 7");
});
