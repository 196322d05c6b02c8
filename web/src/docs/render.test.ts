import assert from "node:assert/strict";
import { test } from "node:test";
import { renderPage } from "./render.ts";

const html = (text: string) => renderPage("docs/page.md", text).html;

test("headings have the anchors that GitHub gives them, repeated ones a number", () => {
  const { headings, title } = renderPage("docs/page.md", "# The `page`\n\n## A & B: c_d\n\n## Twice\n\n## Twice\n");
  assert.equal(title, "The page");
  assert.deepEqual(
    headings.map(({ anchor }) => anchor),
    ["the-page", "a--b-c_d", "twice", "twice-1"],
  );
});

test("links to pages become addresses, and links to other files of the repository plain text", () => {
  assert.match(html("[keys](keys.md#limits)"), /<a href="\/docs\/keys#limits">keys<\/a>/);
  assert.match(html("[image](../Dockerfile)"), /^<p>image<\/p>/);
  assert.match(html("[out](https://example.com/)"), /<a href="https:\/\/example.com\/" rel="noreferrer">/);
  assert.match(html("![plot](bench.svg)"), /<img src="\/docs\/bench.svg" alt="plot"/);
  assert.match(html("![log](pictures/after/emails.webp)"), /<img src="\/docs\/pictures\/after\/emails.webp" alt="log"/);
});

test("a link that is written as a file name shows the title of the page", () => {
  const titles = new Map([["docs/reference/key.md", "KeyService"]]);
  const { html } = renderPage("docs/page.md", "[reference/key.md](reference/key.md#createkey)", titles);
  assert.match(html, /<a href="\/docs\/reference\/key#createkey">KeyService<\/a>/);
});

test("code is escaped, labelled and reachable by keyboard", () => {
  const block = html('```sh\necho "<b>" && x\n```');
  assert.match(block, /<figcaption>Shell<\/figcaption>/);
  assert.match(block, /<pre tabindex="0"[^>]*><code>echo &quot;&lt;b&gt;&quot; &amp;&amp; x<\/code><\/pre>/);
});

test("adjacent blocks in different languages form one group, others do not", () => {
  assert.match(html("```ts\na\n```\n\n```python\nb\n```\n"), /<div class="languages">/);
  assert.doesNotMatch(html("```sh\na\n```\n\n```sh\nb\n```\n"), /languages/);
  assert.doesNotMatch(html("```ts\na\n```\n\nand\n\n```python\nb\n```\n"), /languages/);
});

test("a diagram of states becomes a list of transitions", () => {
  const list = html("```mermaid\nstateDiagram-v2\n  [*] --> queued\n  queued --> sent: accepted\n```");
  assert.equal(list.match(/<li>/g)?.length, 2);
  assert.match(list, /<code>queued<\/code>.*<code>sent<\/code> <span class="faint">accepted<\/span>/);
});

test("the parts for the search hold the text below each heading without markup", () => {
  const text =
    "# One\n\nSome **bold** `a<b`.\n\n| x | y |\n|---|---|\n| 1 | [two](keys.md) |\n\n## Two\n\n- first\n- second\n";
  assert.deepEqual(renderPage("docs/page.md", text).parts, [
    { heading: "One", anchor: "one", text: "Some bold a<b. x y 1 two" },
    { heading: "Two", anchor: "two", text: "first second" },
  ]);
});
