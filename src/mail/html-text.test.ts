import assert from "node:assert/strict";
import { test } from "node:test";
import { htmlToText } from "./html-text.ts";

const cases: [html: string, text: string][] = [
  ["<p>One</p><p>Two</p>", "One\nTwo"],
  ["One<br>two<br><br>three", "One\ntwo\n\nthree"],
  ["<div>  a \n b  </div>c", "a b\nc"],
  ["<style>p { color: red }</style><p>x</p><script>alert(1)</script>", "x"],
  ["<blockquote>old<blockquote>older</blockquote></blockquote>new", "> old\n> > older\nnew"],
  ["Caf&eacute; &amp; &#8364; &#x20AC; &nope; &#0;", "Café & € € &nope;"],
  ["a<!-- <p>hidden</p> -->b", "ab"],
  ["<ul><li>a</li><li>b</li></ul>", "a\nb"],
  ["a   <br>b\t<br>", "a\nb"],
  ["&lt;script&gt; stays text", "<script> stays text"],
  ["<p>cut off <a href=", "cut off"],
  ["<!-- never closed", ""],
  ["", ""],
];

for (const [html, text] of cases)
  test(`${JSON.stringify(html)} becomes ${JSON.stringify(text)}`, () => assert.equal(htmlToText(html), text));
