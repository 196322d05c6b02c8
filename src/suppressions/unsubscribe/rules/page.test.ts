import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { doneText, messagePage, type PageAction, type PageContent, pagePolicy, topicsPage } from "./page.ts";

const content: PageContent = {
  domain: "shop.example",
  address: "a•••@example.net",
  topics: [
    { topic: "news", isSubscribed: true },
    { topic: "offers", isSubscribed: false },
  ],
  hasLeftAll: false,
  isTest: false,
};

/** The labels of the buttons, each with what it posts. */
const buttons = (html: string) =>
  [
    ...html.matchAll(
      /<form method="post">(?:<input type="hidden" name="topic" value="([^"]*)">)?<button class="\w+" name="action" value="([\w-]+)">([^<]*)</g,
    ),
  ].map(([, topic, action, label]) => [action, topic, label]);

test("each topic has the button for its other state, and one button is for all", () => {
  assert.deepEqual(buttons(topicsPage(content)), [
    ["unsubscribe", "news", "Unsubscribe from news"],
    ["subscribe", "offers", "Subscribe to offers again"],
    ["unsubscribe-all", undefined, "Unsubscribe from all topics"],
  ]);
  assert.deepEqual(buttons(topicsPage({ ...content, hasLeftAll: true })), [
    ["subscribe-all", undefined, "Subscribe again"],
  ]);
});

test("the page says whose mail it is about, and what was done", () => {
  const html = topicsPage({ ...content, done: "You are unsubscribed from news." });
  assert.match(html, /<h1>Email from shop\.example<\/h1>/);
  assert.match(html, /role="status">You are unsubscribed from news\./);
  assert.match(topicsPage({ ...content, domain: "" }), /Email from this sender/);
  assert.match(topicsPage({ ...content, isTest: true }), /belongs to a test email/);
});

test("texts are escaped", () => {
  const evil = `"><script>alert('x')</script>&`;
  for (const html of [
    topicsPage({ ...content, domain: evil, address: evil, done: evil, topics: [{ topic: evil, isSubscribed: true }] }),
    messagePage(evil, evil),
  ])
    assert.doesNotMatch(html, /<script|alert\('x'\)/);
});

test("the policy allows exactly the style of the page", () => {
  const [, style] = /<style>([\s\S]*?)<\/style>/.exec(topicsPage(content))!;
  const hash = createHash("sha256").update(style!).digest("base64");
  assert.ok(pagePolicy.includes(`style-src 'sha256-${hash}';`));
});

test("the page says what holds after a button", () => {
  const now = (hasLeftAll: boolean, ...subscribed: boolean[]) => ({
    hasLeftAll,
    topics: subscribed.map((isSubscribed, n) => ({ topic: `t${n}`, isSubscribed })),
  });
  const text = (action: PageAction, state: ReturnType<typeof now>) => doneText({ action, topic: "t0" }, state);
  assert.equal(text("unsubscribe", now(true, false)), "You are unsubscribed from t0.");
  assert.equal(text("unsubscribe-all", now(true, true)), "You are unsubscribed from all topics.");
  assert.equal(text("subscribe", now(false, true)), "You are subscribed to t0 again.");
  assert.equal(text("subscribe", now(true, true)), "You are still unsubscribed from all topics.");
  assert.equal(text("subscribe-all", now(false, true, true)), "You are subscribed to all topics again.");
  assert.match(text("subscribe-all", now(false, true, false)), /except to topics that you left one by one/);
});
