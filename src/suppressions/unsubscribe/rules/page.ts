/** Writes the page that a recipient sees behind the link of an email. Plain HTML without scripts and remote content, so that it works in
 * every browser and loads nothing else. Called by ../endpoint.ts. Pure. */
import { createHash } from "node:crypto";

export type TopicState = { topic: string; isSubscribed: boolean };

export type Topics = {
  /** The topic of the email with this link, and then the other topics. */
  topics: readonly TopicState[];
  /** The recipient has unsubscribed from all topics, also later ones. */
  hasLeftAll: boolean;
};

export type PageContent = Topics & {
  /** The sending domain. Empty: unknown. */
  domain: string;
  /** The masked address of the recipient. */
  address: string;
  isTest: boolean;
  /** What the recipient has just done. */
  done?: string;
};

/** The values of the field `action`. */
export const pageActions = ["unsubscribe", "subscribe", "unsubscribe-all", "subscribe-all"] as const;
export type PageAction = (typeof pageActions)[number];

/** What the page says after a button, which may be that of an old tab. `now` is the state after it. */
export function doneText({ action, topic }: { action: PageAction; topic: string }, now: Topics): string {
  if (action === "unsubscribe") return `You are unsubscribed from ${topic}.`;
  if (action === "unsubscribe-all") return "You are unsubscribed from all topics.";
  if (now.hasLeftAll) return "You are still unsubscribed from all topics.";
  if (action === "subscribe") return `You are subscribed to ${topic} again.`;
  return now.topics.every(({ isSubscribed }) => isSubscribed)
    ? "You are subscribed to all topics again."
    : "You are subscribed again, except to topics that you left one by one.";
}

export function topicsPage(content: PageContent): string {
  const sender = content.domain === "" ? "this sender" : content.domain;
  const [own, ...others] = content.topics;
  const parts = [
    `<h1>Email from ${text(sender)}</h1>`,
    `<p>For <strong>${text(content.address)}</strong></p>`,
    content.isTest
      ? `<p class="note">This link belongs to a test email. The buttons write an event, and change nothing else.</p>`
      : "",
    content.done === undefined ? "" : `<p class="done" role="status">${text(content.done)}</p>`,
    content.hasLeftAll ? leftAll(sender) : topicLists(own!, others, sender),
  ];
  return htmlPage(`Email from ${sender}`, parts.join("\n"));
}

function topicLists(own: TopicState, others: readonly TopicState[], sender: string): string {
  const lists = [`<ul>${topicRow(own, true)}</ul>`];
  if (others.length > 0)
    lists.push(`<h2>Other topics</h2>\n<ul>${others.map((one) => topicRow(one, false)).join("\n")}</ul>`);
  const all = form("unsubscribe-all", undefined, "Unsubscribe from all topics", "quiet");
  const scope = `All topics of ${text(sender)}, also later ones. You still get email that is not about a topic, such as receipts.`;
  return `${lists.join("\n")}\n<h2>All topics</h2>\n<p>${scope}</p>\n${all}`;
}

function leftAll(sender: string): string {
  return `<p>You have unsubscribed from all topics of ${text(sender)}. You still get email that is not about a topic, such as receipts.</p>
${form("subscribe-all", undefined, "Subscribe again", "quiet")}`;
}

function topicRow({ topic, isSubscribed }: TopicState, isOwn: boolean): string {
  const button = isSubscribed
    ? form("unsubscribe", topic, `Unsubscribe from ${topic}`, isOwn ? "main" : "quiet")
    : form("subscribe", topic, `Subscribe to ${topic} again`, "quiet");
  const state = isSubscribed ? "Subscribed" : "Unsubscribed";
  return `<li><div><strong>${text(topic)}</strong><span>${state}</span></div>${button}</li>`;
}

/** Without an address of its own, so that it posts to the address of the page. */
function form(action: PageAction, topic: string | undefined, label: string, style: "main" | "quiet"): string {
  const field = topic === undefined ? "" : `<input type="hidden" name="topic" value="${text(topic)}">`;
  return `<form method="post">${field}<button class="${style}" name="action" value="${action}">${text(label)}</button></form>`;
}

export function messagePage(title: string, message: string): string {
  return htmlPage(title, `<h1>${text(title)}</h1>\n<p>${text(message)}</p>`);
}

function htmlPage(title: string, main: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex, nofollow">
<meta name="color-scheme" content="light dark">
<title>${text(title)}</title>
<style>${style}</style>
</head>
<body>
<main>
${main}
</main>
</body>
</html>
`;
}

const style = `
:root { color-scheme: light dark; --text: #1b1f24; --soft: #57606a; --back: #f6f7f9; --card: #ffffff; --line: #d0d7de; --main: #0b5cad; --on-main: #ffffff; --done: #e7f5ec; }
@media (prefers-color-scheme: dark) { :root { --text: #e9edf1; --soft: #a5b0bb; --back: #14181c; --card: #1d2329; --line: #3a434c; --main: #7cb7f5; --on-main: #0d1117; --done: #17331f; } }
* { box-sizing: border-box; }
body { margin: 0; padding: 2rem 1rem; background: var(--back); color: var(--text); font: 1rem/1.5 system-ui, sans-serif; }
main { max-width: 36rem; margin: 0 auto; padding: 1.5rem; background: var(--card); border: 1px solid var(--line); border-radius: 0.75rem; overflow-wrap: anywhere; }
h1 { margin: 0 0 0.5rem; font-size: 1.4rem; line-height: 1.25; }
h2 { margin: 2rem 0 0.5rem; font-size: 1.05rem; }
p { margin: 0 0 1rem; color: var(--soft); }
p strong { color: var(--text); }
.done, .note { padding: 0.75rem 1rem; border: 1px solid var(--line); border-radius: 0.5rem; color: var(--text); }
.done { background: var(--done); }
ul { margin: 0; padding: 0; list-style: none; border-top: 1px solid var(--line); }
li { display: flex; flex-wrap: wrap; align-items: center; justify-content: space-between; gap: 0.75rem; padding: 0.875rem 0; border-bottom: 1px solid var(--line); }
li div { min-width: 0; }
li span { display: block; color: var(--soft); font-size: 0.875rem; }
form { margin: 0; }
button { max-width: 100%; min-height: 2.75rem; padding: 0.5rem 1rem; border: 1px solid var(--line); border-radius: 0.5rem; background: transparent; color: var(--text); font: inherit; overflow-wrap: anywhere; cursor: pointer; }
button.main { border-color: var(--main); background: var(--main); color: var(--on-main); font-weight: 600; }
button:focus-visible { outline: 3px solid var(--main); outline-offset: 2px; }
`;

/** The page has one style and forms to itself. Nothing else is loaded or run. */
export const pagePolicy = `default-src 'none'; style-src 'sha256-${createHash("sha256").update(style).digest("base64")}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`;

function text(value: string): string {
  return value.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
}
