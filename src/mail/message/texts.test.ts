import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ShapeProblem, structureOf } from "./structure.ts";
import { collectTexts } from "./texts.ts";

function texts(raw: Buffer, maxLines?: number): { text: string; html: string } {
  const { leaves, lines } = structureOf(raw, maxLines);
  return collectTexts(raw, leaves, lines);
}

const message = (...lines: string[]) => Buffer.from(lines.join("\r\n"));
/** A multipart of parts, each with its header fields and its body. */
const multipart = (subtype: string, ...parts: string[][]) => [
  `Content-Type: multipart/${subtype}; boundary=${subtype}`,
  "",
  ...parts.flatMap((part) => [`--${subtype}`, ...part]),
  `--${subtype}--`,
];
const plain = (...lines: string[]) => ["", ...lines];
const html = (...lines: string[]) => ["Content-Type: text/html", "", ...lines];

test("a message with one kind of text has an empty string for the other", () => {
  assert.deepEqual(texts(message(...plain("Hello", "you"))), { text: "Hello\nyou\n", html: "" });
  assert.deepEqual(texts(message(...html("<p>Hello</p>"))), { text: "", html: "<p>Hello</p>\n" });
  assert.deepEqual(texts(message("Content-Type: image/png", "", "x")), { text: "", html: "" });
  assert.deepEqual(texts(Buffer.alloc(0)), { text: "", html: "" });
});

test("the versions of a multipart/alternative are not converted", () => {
  const raw = message(...multipart("alternative", plain("the text"), html("<p>the HTML</p>")));
  assert.deepEqual(texts(raw), { text: "the text\n", html: "<p>the HTML</p>\n" });
});

test("parts of both kinds in a row are joined, and each is converted to the other kind", () => {
  const raw = message(...multipart("mixed", plain("1 < 2 & \"3\" > '4'", "next"), html("<p>a &amp; b</p>")));
  const result = texts(raw);
  assert.match(result.text, /^1 < 2 & "3" > '4'\nnext\n\s*a & b\s*$/);
  assert.equal(result.html, "<div>1 &#60; 2 &#38; &#34;3&#34; &#62; &#39;4&#39;<br />next</div>\n<p>a &amp; b</p>\n");
});

test("a footer after a multipart/alternative is added to both versions", () => {
  const body = multipart("alternative", plain("text"), html("<p>HTML</p>"));
  const raw = message(...multipart("mixed", body, plain("footer")));
  assert.deepEqual(texts(raw), { text: "text\n\nfooter\n", html: "<p>HTML</p>\n\n<div>footer</div>" });
});

test("attached texts and other types are left out", () => {
  const attached = ["Content-Disposition: attachment; filename=a.txt", "", "attached"];
  const invitation = ["Content-Type: text/calendar", "", "BEGIN:VCALENDAR"];
  assert.deepEqual(texts(message(...multipart("mixed", attached, plain("shown"), invitation))), {
    text: "shown\n",
    html: "",
  });
});

test("each part is decoded by its own encoding and charset", () => {
  const latin = [
    "Content-Type: text/plain; charset=iso-8859-1",
    "Content-Transfer-Encoding: quoted-printable",
    "",
    "gr=FC=",
  ];
  const utf8 = ["Content-Transfer-Encoding: base64", "", Buffer.from("größer").toString("base64")];
  const unknown = ["Content-Type: text/plain; charset=no-such-charset", "", "x"];
  assert.equal(texts(message(...multipart("mixed", latin, utf8, unknown))).text, "grü\ngrößer\nx\n");
});

test("the lines of an encoded text count after decoding", () => {
  const raw = message("Content-Transfer-Encoding: base64", "", Buffer.from("\n".repeat(50)).toString("base64"));
  // The two lines of the header, and the decoded ones.
  assert.equal(texts(raw, 52).text, "\n".repeat(50));
  assert.throws(() => texts(raw, 51), new ShapeProblem("more than 51 lines"));
});

test("the lines of all encoded parts count together", () => {
  const part = ["Content-Transfer-Encoding: quoted-printable", "", "=0A".repeat(10)];
  const raw = message(...multipart("mixed", part, part));
  // 6 of the headers, 2 boundary lines, 2 encoded lines and 22 decoded ones.
  const needed = 32;
  assert.equal(texts(raw, needed).text.split("\n").length, 24);
  assert.throws(() => texts(raw, needed - 1), ShapeProblem);
});

test("any text survives base64, and no markup in plain text becomes markup in the HTML", () => {
  const piece = fc.oneof(
    fc.constantFrom("<", ">", "&", '"', "'", "\n", " "),
    fc.string({ unit: "binary", maxLength: 3 }),
  );
  const text = fc.array(piece, { maxLength: 20 }).map((pieces) => pieces.join(""));
  fc.assert(
    fc.property(text, (text) => {
      const encoded = [
        "Content-Type: text/plain; charset=utf-8",
        "Content-Transfer-Encoding: base64",
        "",
        Buffer.from(text).toString("base64"),
      ];
      const result = texts(message(...multipart("mixed", encoded, html("<hr>"))));
      const kept = text.replace(/^\ufeff/, "");
      assert.ok(result.text.startsWith(`${kept}\n`), JSON.stringify(result.text));
      const [, inside] = /^<div>(.*)<\/div>\n<hr>\n$/s.exec(result.html)!;
      assert.doesNotMatch(inside!.replaceAll("<br />", ""), /[<>"']/);
    }),
  );
});
