/** Webhook endpoints for a user's server: one for servers that use Request and Response, one for node:http and Express. */
import type { Request, Response } from "./platform.ts";
import {
  deliveryOf,
  type NodeRequest,
  type NodeResponse,
  nodeDeliveryOf,
  receive,
  toResponse,
  type WebhookHandlerOptions,
  writeReply,
} from "./webhook-receive.ts";

export type { NodeRequest, NodeResponse, WebhookHandlerOptions } from "./webhook-receive.ts";

/** A handler for every server that uses Request and Response: Deno, Bun, Hono, Next.js, Cloudflare Workers. */
export function fetchWebhookHandler(options: WebhookHandlerOptions): (request: Request) => Promise<Response> {
  const advice = "Call the handler before request.json() or request.text().";
  return async (request) => toResponse(await receive(options, deliveryOf(request, options, advice)));
}

/** A handler for `node:http` and Express. With Express, mount it before `express.json()`, or after `express.raw({ type: () => true })`. */
export function nodeWebhookHandler(
  options: WebhookHandlerOptions,
): (request: NodeRequest, response: NodeResponse) => Promise<void> {
  const advice = "It seems to be parsed already: call the handler before any body parser.";
  return async (request, response) =>
    writeReply(response, await receive(options, nodeDeliveryOf(request, options, advice)));
}
