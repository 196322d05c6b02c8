/** One attempt to deliver one event to one webhook: written, signed with the secrets that live, posted, judged. */
import { judgeAnswer, type WebhookVerdict } from "../rules/webhook-retry.ts";
import type { StoredEvent } from "../store/events.ts";
import { toWireId } from "../store/ids.ts";
import type { Secrets } from "../store/secrets.ts";
import { secretContext, type WebhookSigner } from "../store/webhooks.ts";
import type { Poster } from "./post.ts";
import { signHeaders } from "./sign.ts";

export type Attempted = WebhookVerdict & {
  responseStatus: number | undefined;
  responseHead: string;
  durationMs: number;
};

/** Undefined when `signal` cut it off: whether it arrived is unknown. */
export type Attempt = (
  signer: WebhookSigner,
  event: StoredEvent,
  signal: AbortSignal,
) => Promise<Attempted | undefined>;

export type AttemptDeps = {
  poster: Poster;
  secrets: Secrets;
  /** The event as its stream shows it, as JSON. */
  render(event: StoredEvent): string;
  nowMs: () => number;
};

export function createAttempt(deps: AttemptDeps): Attempt {
  return async (signer, event, signal) => {
    const body = deps.render(event);
    const secrets = signer.sealedSecrets.map((sealed) => deps.secrets.open(sealed, secretContext(signer.id)));
    const headers = signHeaders({ id: toWireId("event", event.id), body, nowMs: deps.nowMs(), secrets });
    const posted = await deps.poster.post({ url: signer.url, headers, body }, signal);
    if (!posted) return undefined;
    const { status, head, durationMs } = posted;
    return { ...judgeAnswer(posted.answer), responseStatus: status, responseHead: head, durationMs };
  };
}
