/** A webhook handler for Express 4 and 5. Imported as "posthorn/express". */
import {
  checkOptions,
  type NodeRequest,
  type NodeResponse,
  nodeDeliveryOf,
  receiveOrThrow,
  type WebhookHandlerOptions,
  writeReply,
} from "./webhook-receive.ts";

export type { NodeRequest, NodeResponse, WebhookHandlerOptions } from "./webhook-receive.ts";

const advice =
  "Mount the handler before express.json(), or keep the raw body: express.json({ verify: (request, _response, raw) => { request.rawBody = raw; } }).";

/**
 * Verifies each webhook and calls the handler of its event: `app.post("/hooks/posthorn", webhookHandler({ secret, onBounced }))`. It
 * needs the raw body: mount it before `express.json()`. Without `onError`, errors of your handlers are passed to `next`.
 */
export function webhookHandler(
  options: WebhookHandlerOptions,
): (request: NodeRequest, response: NodeResponse, next: (error?: unknown) => void) => Promise<void> {
  checkOptions(options);
  return async (request, response, next) => {
    try {
      writeReply(response, await receiveOrThrow(options, nodeDeliveryOf(request, options, advice)));
    } catch (error) {
      next(error);
    }
  };
}
