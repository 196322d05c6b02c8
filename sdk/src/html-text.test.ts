/** Text from HTML: what a reader needs is kept, and hostile or broken HTML neither fails nor takes long. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeEntities } from "./html-entities.ts";
import { htmlToText } from "./html-text.ts";

const cases: [name: string, html: string, text: string][] = [
  ["paragraphs", "<p>One\n  two</p><p>Three<br>four<br/>five</p>", "One two\n\nThree\nfour\nfive"],
  ["blank lines", "One<br><br>Two<br>\n<br />\n<br>Three", "One\n\nTwo\n\n\nThree"],
  ["blocks", "<div>One<div>Two</div></div>Three<section>Four</section>", "One\nTwo\nThree\nFour"],
  ["headings", "<h1>Title</h1>Text <b>bo</b>ld <i>it</i>alic", "Title\n\nText bold italic"],
  ["links", '<a href="https://e.test/?a=1&amp;b=2">Track</a> it', "Track <https://e.test/?a=1&b=2> it"],
  [
    "links with parameters that look like references",
    '<a href="https://e.test/?a=1&copy=2&check=3&lt=4&amp;reg=5">Go</a> &copy;&copy &lt=',
    "Go <https://e.test/?a=1&copy=2&check=3&lt=4&reg=5> ©© &lt=",
  ],
  [
    "links that show their address",
    '<a href="mailto:a@e.test">a@e.test</a>, <a href="https://e.test">https://e.test</a>',
    "a@e.test, https://e.test",
  ],
  [
    "links within the page and scripts",
    '<a href="#top">Top</a> <a href="javascript:x()">Go</a> <a name="x">Here</a>',
    "Top Go Here",
  ],
  [
    "images",
    '<a href="https://e.test"><img src="x.png" alt="Our shop"></a> <a href=https://f.test><img src="y.png"></a>',
    "Our shop <https://e.test> https://f.test",
  ],
  [
    "lists",
    "<p>Has:</p><ul><li>One<li>Two<ul><li>Deep</li></ul></li></ul><ol start=3><li>Three</li><li><p>Four</p></li></ol>",
    "Has:\n\n- One\n- Two\n  - Deep\n\n3. Three\n4. Four",
  ],
  ["quotes", "<p>He wrote:</p><blockquote><p>One</p><p>Two</p></blockquote>Bye", "He wrote:\n\n> One\n>\n> Two\n\nBye"],
  [
    "tables",
    "<table><tr><td>Coffee</td><td>3.00</td></tr><tr><th>Sum</th><td> 3.00 </td></tr></table>",
    "Coffee 3.00\nSum 3.00",
  ],
  ["preformatted text", "<pre>a  b\n\n  c</pre>", "a  b\n\n  c"],
  ["rules", "One<hr>Two", "One\n\n---\n\nTwo"],
  [
    "hidden elements",
    '<div style="display:none">Preview<div>x</div></div><span data-skip-in-text="true">y</span><div hidden>z</div>Text',
    "Text",
  ],
  [
    "heads, styles and scripts",
    "<html><head><title>T</title><style>p > a {}</style></head><body>Text<script>if (a < b) '</p>'</script></body></html>",
    "Text",
  ],
  ["comments", "One<!-- <p>x</p> > --><!--[if mso]><td>Outlook</td><![endif]-->Two<!doctype html>", "OneTwo"],
  [
    "references",
    "&lt;b&gt; &amp;amp; &euro;5&nbsp;&#8364; &#x20AC; &#150; &unknown; &copy 2030 AT&T",
    "<b> &amp; €5 € € – &unknown; © 2030 AT&T",
  ],
  ["invisible characters", "Pre\u200b\u200bview&shy;text\ufeff &#847; &zwnj;", "Previewtext \u200c"],
  ["other angle brackets", "1 < 2 <3 > 4 <- <", "1 < 2 <3 > 4 <- <"],
  ["quotes in attributes", '<p title="a > b">One</p><p class=a" b>Two</p>', "One\n\nTwo"],
  ["a tag that never ends", 'One <a href="https://e.test>Two</a>', "One"],
  ["end tags without a start", "</p></div></li></blockquote></a>One</ul>", "One"],
  ["a head that never ends", "<head><meta x>ignored<body>Text", "Text"],
  ["a head without an end and a body", "<head><title>T</title><p>Text</p>", "Text"],
  [
    "hidden cells without end tags",
    "<table><tr><td hidden>a<table><td>b</table><td>One<tr hidden><td>c<td>d<tr><td>Two<td hidden>e</table><p>Three",
    "One\nTwo\n\nThree",
  ],
  [
    "hidden paragraphs and items",
    '<p style="display: none">a<div>One</div><ul><li hidden>b<ul><li>c</ul><li>Two</li></ul><p hidden>d</p>Three<div><p hidden>e</div>Four',
    "One\n\n- Two\n\nThree\nFour",
  ],
  ["nothing", "  <p> </p><img src=x> ", ""],
];

for (const [name, html, text] of cases) {
  test(`text from HTML: ${name}`, () => assert.equal(htmlToText(html), text));
}

test("references without a character become the replacement character", () => {
  assert.equal(decodeEntities("&#0;&#xD800;&#x110000;&#129;"), "\ufffd".repeat(4));
});

test("hostile HTML takes time in proportion to its size", { timeout: 20_000 }, () => {
  const size = 50_000;
  const inputs = [
    "<ul><li>".repeat(size),
    "<blockquote>".repeat(size) + "x<br>".repeat(1000),
    "</li>".repeat(size),
    `${"<ul>".repeat(size)}${"</li>".repeat(size)}`,
    '<a "'.repeat(size),
    "<a href='".repeat(size),
    "<a =".repeat(size),
    `<a ${" ".repeat(size * 5)}x>`,
    `<a ${"b= ".repeat(size)}>`,
    "<div style='display:none'>".repeat(size),
    "<!--".repeat(size),
    "<style>".repeat(size),
    "<style></styl".repeat(size),
    "&#".repeat(size),
    "&amp".repeat(size),
    "<".repeat(size),
    "<a href=https://e.test>x".repeat(size),
    `<pre>${"\n".repeat(size)}`,
    "<br>".repeat(size),
    " \u00a0".repeat(size),
  ];
  for (const html of inputs) assert.ok(htmlToText(html).length <= html.length * 2 + 100, html.slice(0, 20));
});
