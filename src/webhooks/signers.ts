/** The URL and the secrets of each webhook with rows in hand, so that rows that were leased ahead are posted with those that are valid now, and
 * not at all when the webhook was disabled or deleted meanwhile. Statements that read webhooks anyway report them here. Used by loop.ts. */
import type { WebhookRef } from "./hand.ts";
import type { WebhookState } from "./store/settle.ts";
import type { WebhookSigner } from "./store/webhooks.ts";

/** A signer that was read longer ago is read again before a row is posted. */
const freshMs = 500;

export type SignerDeps = {
  /** Undefined when the webhook is disabled or deleted. */
  read(webhook: WebhookRef): Promise<WebhookSigner | undefined>;
  nowMs(): number;
};

export function createSigners(deps: SignerDeps) {
  const known = new Map<string, { signer: WebhookSigner | undefined; readMs: number }>();
  const reading = new Map<string, Promise<WebhookSigner | undefined>>();

  function note({ webhookId, signer }: WebhookState): void {
    known.set(webhookId, { signer, readMs: deps.nowMs() });
  }

  async function read(webhook: WebhookRef): Promise<WebhookSigner | undefined> {
    const { webhookId } = webhook;
    const readMs = deps.nowMs();
    const signer = await deps.read(webhook);
    known.set(webhookId, { signer, readMs });
    return signer;
  }

  return {
    note,
    /** The signer of a webhook with rows in hand; undefined when it must get no more requests. Rows of one webhook share a read. */
    async of(webhook: WebhookRef): Promise<WebhookSigner | undefined> {
      const { webhookId } = webhook;
      const found = known.get(webhookId);
      if (found && deps.nowMs() - found.readMs < freshMs) return found.signer;
      const running = reading.get(webhookId) ?? read(webhook).finally(() => reading.delete(webhookId));
      reading.set(webhookId, running);
      return await running;
    },
    /** The webhook has no more rows in hand. */
    forget(webhookId: string): void {
      known.delete(webhookId);
    },
  };
}
