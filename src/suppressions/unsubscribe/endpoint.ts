/** The endpoint behind the links of emails. POST with `List-Unsubscribe=One-Click` unsubscribes at once (RFC 8058); GET shows a page whose
 * buttons post to the same address. The token in the address is the credential: there is no cookie and no redirect, and GET changes nothing,
 * because link scanners follow every link. Called by http/dispatch.ts for every path below /unsubscribe/. */
import { Code } from "@connectrpc/connect";
import { codeToHttpStatus } from "@connectrpc/connect/protocol-connect";
import { clientAddress } from "../../http/client-address.ts";
import { type PageHandler, sendText } from "../../http/dispatch.ts";
import { toConnectError } from "../../http/errors.ts";
import { readForm } from "../../http/read-form.ts";
import { closeAfterUnreadBody } from "../../http/request-body.ts";
import type { Request, Response } from "../../http/server.ts";
import type { Clock } from "../../ops/clock.ts";
import type { Log } from "../../ops/log.ts";
import { Problem } from "../../ops/problem.ts";
import { makeUuid } from "../../postgres/ids.ts";
import type { Sql } from "../../postgres/pool.ts";
import { createBudget, runOrRefuse } from "../../shares/budget.ts";
import { createClientLimit, tooMany } from "../../shares/guessing.ts";
import { createTokenBuckets, type TokenBuckets } from "../../shares/token-bucket.ts";
import { linkPath, type UnsubscribeLinks } from "./links.ts";
import {
  doneText,
  messagePage,
  type PageAction,
  pageActions,
  pagePolicy,
  type Topics,
  topicsPage,
} from "./rules/page.ts";
import type { Link } from "./rules/token.ts";
import { allTopics, maskAddress } from "./rules/topic.ts";
import { type Changed, resubscribe, sentTopics, simulateUnsubscribe, unsubscribe } from "./store/changes.ts";
import { topicsLeft } from "./store/entries.ts";

export type UnsubscribePageDeps = {
  sql: Sql;
  log: Log;
  clock: Clock;
  links: Pick<UnsubscribeLinks, "read">;
  /** Called after an event was written. */
  onEvent(): void;
  trustedProxies: readonly string[];
};

/**
 * A token proves that the request comes from a recipient's link, so requests with valid ones are limited by recipient, never by client: all
 * users of a large mailbox provider come from a few addresses. Only wrong tokens count against the client.
 */
const perRecipient = { burst: 30, periodMs: 1000, maxKeys: 50_000 };
/** Changes by buttons of the page. Each one writes an event, and the recipient can go back and forth. */
const changesPerRecipient = { burst: 20, periodMs: 60_000, maxKeys: 50_000 };
const wrongTokens = { burst: 100, periodMs: 1000 };
/** Topics on a page. A sender can make any number of them for an address, and writing a long page would block the program. */
const maxTopics = 200;
/** Statements of this endpoint at the same time, so that a flood leaves the database to others. */
const statements = { total: 6, perOwner: 3 };
const maxWaiting = 200;

export function unsubscribePage(deps: UnsubscribePageDeps): PageHandler {
  const { sql } = deps;
  const recipients = createTokenBuckets(perRecipient);
  const changes = createTokenBuckets(changesPerRecipient);
  const wrong = createClientLimit(wrongTokens, "unsubscribe links");
  const budget = createBudget(statements);

  async function linkOf(request: Request): Promise<Link | undefined> {
    const token = (request.url ?? "").split(/[?#]/, 1)[0]!.slice(linkPath.length);
    const link = await deps.links.read(token);
    if (link) {
      takeOrRefuse(recipients, link);
      return link;
    }
    const client = clientAddress(request, deps.trustedProxies);
    wrong.check(client, performance.now());
    wrong.take(client, performance.now());
    return undefined;
  }

  async function inTurn<T>({ workspaceId: owner }: Link, task: () => Promise<T>): Promise<T> {
    return await runOrRefuse({ budget, owner, maxWaiting, refusal: busy }, task);
  }

  async function change(link: Link, topic: string, how: "one_click" | "page", back = false): Promise<Changed> {
    const { workspaceId, emailId, address } = link;
    const one = { workspaceId, emailId, address, topic, method: how, eventId: makeUuid(deps.clock.nowMs()) };
    const act = back ? resubscribe : unsubscribe;
    const changed = link.test ? !back && (await simulateUnsubscribe(sql, one)) : await act(sql, one);
    if (changed === true) deps.onEvent();
    return changed;
  }

  /** The topics that this recipient can leave or has left; undefined if the workspace was deleted. */
  async function stateOf(link: Link): Promise<Topics | undefined> {
    // One after the other: a place of the budget is for one statement.
    const sent = await sentTopics(sql, link);
    if (!sent.exists) return undefined;
    const entries = await topicsLeft(sql, { ...link, first: [link.topic, allTopics], limit: maxTopics });
    // What the recipient has really left or gets does not concern a test email.
    const left = new Set(link.test ? [] : entries);
    const known = link.test ? [] : [...sent.topics, ...left];
    const others = [...new Set(known)].filter((topic) => topic !== link.topic && topic !== allTopics);
    const topics = [link.topic, ...others.slice(0, maxTopics - 1).sort()].map((topic) => ({
      topic,
      isSubscribed: !left.has(topic),
    }));
    return { topics, hasLeftAll: left.has(allTopics) };
  }

  async function show(link: Link, response: Response, pressed?: { action: PageAction; topic: string }): Promise<void> {
    const state = await inTurn(link, () => stateOf(link));
    if (!state) return sendPage(response, 410, messagePage("This link no longer works", goneText));
    const { domain, test: isTest } = link;
    const done = pressed && !isTest ? doneText(pressed, state) : undefined;
    sendPage(response, 200, topicsPage({ domain, address: maskAddress(link.address), ...state, isTest, done }));
  }

  async function oneClick(link: Link, response: Response): Promise<void> {
    const changed = await inTurn(link, () => change(link, link.topic, "one_click"));
    if (changed === "gone") return sendText(response, 410, `${goneText}\n`);
    const done = link.test ? "This is a test email: nothing was changed." : `You are unsubscribed from ${link.topic}.`;
    sendText(response, 200, `${done}\n`);
  }

  async function press(link: Link, action: PageAction, topic: string, response: Response): Promise<void> {
    takeOrRefuse(changes, link);
    const all = action.endsWith("-all");
    // Only topics of this recipient: others would fill the workspace's list with entries that mean nothing.
    const state = all ? undefined : await inTurn(link, () => stateOf(link));
    if (state && !state.topics.some((one) => one.topic === topic))
      return sendPage(response, 400, messagePage("Unknown topic", "You have not had email with this topic."));
    const back = action.startsWith("subscribe");
    await inTurn(link, () => change(link, all ? allTopics : topic, "page", back));
    await show(link, response, { action, topic });
  }

  async function post(link: Link, request: Request, response: Response): Promise<void> {
    const form = await readForm(request, response);
    if (!form.ok) return sendText(response, form.status, `${form.reason}\n`);
    // RFC 8058 §3.2: this key and value. Some programs end the body with a line break.
    if (form.fields.get("List-Unsubscribe")?.trimEnd() === "One-Click") return await oneClick(link, response);
    const action = pageActions.find((name) => name === form.fields.get("action"));
    if (action) return await press(link, action, form.fields.get("topic") ?? "", response);
    sendText(response, 400, "The body must be List-Unsubscribe=One-Click.\n");
  }

  return async (request, response) => {
    const isRead = request.method === "GET" || request.method === "HEAD";
    if (!isRead && request.method !== "POST") {
      response.setHeader("allow", "GET, HEAD, POST");
      closeAfterUnreadBody(request, response);
      return sendText(response, 405, "Use GET to see your topics, and POST to unsubscribe.\n");
    }
    try {
      response.setHeader("x-robots-tag", "noindex, nofollow");
      const link = await linkOf(request);
      if (!link && isRead) return sendPage(response, 404, messagePage("This link does not work", unknownText));
      if (!link) {
        closeAfterUnreadBody(request, response);
        return sendText(response, 404, `${unknownText}\n`);
      }
      await (isRead ? show(link, response) : post(link, request, response));
    } catch (error) {
      closeAfterUnreadBody(request, response);
      fail(error, response);
    }
  };

  function fail(error: unknown, response: Response): void {
    const requestId = String(response.getHeader("x-request-id"));
    const failure = toConnectError(error, { log: deps.log, requestId, method: "unsubscribe" });
    for (const [key, value] of failure.metadata) response.setHeader(key, value);
    // A link can be used again at any time, so a recipient does not need to know what was stored.
    const message = failure.code === Code.Unavailable ? awayText : failure.rawMessage;
    sendText(response, failure.code === Code.Internal ? 500 : codeToHttpStatus(failure.code), `${message}\n`);
  }
}

function takeOrRefuse(buckets: TokenBuckets, { workspaceId, address }: Link): void {
  const { waitMs } = buckets.take(`${workspaceId} ${address.toLowerCase()}`, performance.now());
  if (waitMs > 0) throw tooMany("Too many requests with this link.", waitMs);
}

const unknownText =
  "The link is incomplete or was changed. Open it again from the email, or copy the whole address from there.";
const awayText = "This service cannot be used at the moment. Try again in a few minutes.";
const goneText = "The sender no longer uses this service, and sends you nothing from here.";

function busy(): Problem {
  return new Problem("resource_exhausted", "Too many requests for this sender. Try again in a few seconds.", {
    retryAfterMs: 5000,
  });
}

function sendPage(response: Response, status: number, html: string): void {
  if (response.headersSent || response.destroyed) return;
  response.statusCode = status;
  response.setHeader("content-type", "text/html; charset=utf-8");
  response.setHeader("content-security-policy", pagePolicy);
  response.setHeader("content-length", Buffer.byteLength(html));
  if (response.req.method === "HEAD") response.end();
  else response.end(html);
}
