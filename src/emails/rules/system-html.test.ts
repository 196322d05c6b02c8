import assert from "node:assert/strict";
import { test } from "node:test";
import { systemHtml } from "./system-html.ts";

/** What a reader sees, without the head. */
function textOf(html: string): string {
  const entities: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'" };
  const body = html.slice(html.indexOf("<body"));
  return body
    .replace(/<[^>]*>/g, " ")
    .replace(/&(\w+|#39);/g, (_, name: string) => entities[name]!)
    .replace(/\s+/g, " ");
}

test("the HTML has every word of the text", () => {
  const body =
    "Workspace: Shop\nQuota: 10 & more\nA line.\n\nA paragraph.\n\nposthorn keys rotate key_01890000-0000-7000-8000-000000000001\n";
  const html = systemHtml({ subject: "Subject", body });
  for (const words of [
    "Subject",
    "Workspace Shop",
    "Quota 10 & more",
    "A line.",
    "A paragraph.",
    "posthorn keys rotate",
  ])
    assert.ok(textOf(html).includes(words), words);
});

test("names cannot inject markup, and only the link of the mail is a link", () => {
  const name = `<img src=x onerror="a()">' https://evil.example/`;
  const link = { url: "https://mail.example/invitation#token=a&b", label: "Join" };
  const body = `${name} invites you.\nWorkspace: ${name}\n\nJoin here:\n${link.url}\nhttps://evil.example/\n`;
  const html = systemHtml({ subject: name, body, link });
  assert.doesNotMatch(html, /<img|onerror="/);
  assert.deepEqual(html.match(/href="[^"]*"/g), ['href="https://mail.example/invitation#token=a&amp;b"']);
  assert.ok(textOf(html).includes(link.url), "the address can be copied");
});

test("a mail without a link has none, and nothing is loaded from elsewhere", () => {
  const html = systemHtml({ subject: "S", body: "See https://mail.example/\n" });
  assert.doesNotMatch(html, /href|src=|url\(|@import/);
});

test("a stranger's line is not a row of the table", () => {
  const html = systemHtml({ subject: "S", body: "Invoice: Mallory invites you.\n" });
  assert.doesNotMatch(html, /<th/);
});

test("a name that begins like a command is text", () => {
  const html = systemHtml({ subject: "S", body: "posthorn keys rotate invites you to a workspace.\n" });
  assert.doesNotMatch(html, /<div class="ph-code"/);
  assert.match(html, /<p [^>]*>posthorn keys rotate invites you/);
});
