/** Posts a body to an endpoint: finds where it is, connects only there, and comes back within the time limit whatever the endpoint
 * does. Redirects are answers like any other. Used by the webhook role and by SendTestWebhook. */
import type { WebhookAnswer } from "../rules/webhook-retry.ts";
import type { WebhookGuard, WebhookTarget } from "../rules/webhook-url.ts";
import { createAgents } from "./agents.ts";
import { type Exchange, type Exchanged, exchange } from "./exchange.ts";
import type { TargetFinder } from "./target.ts";

export type Post = { url: string; headers: Record<string, string>; body: string };

export type Posted = { answer: WebhookAnswer; status: number | undefined; head: string; durationMs: number };

export type Poster = {
  /** Undefined when `signal` cut it off: whether it arrived is unknown. */
  post(post: Post, signal: AbortSignal): Promise<Posted | undefined>;
  stop(): void;
};

export type PosterDeps = {
  guard: WebhookGuard;
  finder: TargetFinder;
  userAgent: string;
  /** For everything together: DNS, connection, TLS, request and the whole answer. */
  timeoutMs: number;
};

/** Addresses of one host that are tried in one attempt. */
const maxAddresses = 3;
const maxErrorLength = 500;

export function createPoster(deps: PosterDeps): Poster {
  const agents = createAgents();

  async function toAddresses(target: WebhookTarget, send: Pick<Exchange, "headers" | "body" | "signal">) {
    const found = await deps.finder.addressesOf(target, send.signal);
    if (found.kind !== "found") return failed(found.error);
    const agent = target.protocol === "https:" ? agents.https : agents.http;
    let last = failed("no address");
    const addresses = found.addresses.slice(0, maxAddresses);
    for (const [i, address] of addresses.entries()) {
      const connectMs = i < addresses.length - 1 ? Math.ceil(deps.timeoutMs / maxAddresses) : undefined;
      last = await exchange({ ...send, target, address, agent, connectMs });
      if (last.unsent === "stale") last = await exchange({ ...send, target, address, agent: false, connectMs });
      if (last.unsent !== "unreached" || send.signal.aborted) break;
    }
    return last;
  }

  return {
    async post({ url, headers, body }, signal) {
      const began = performance.now();
      const target = deps.guard.read(url);
      const late = new AbortController();
      const timer = setTimeout(
        () => late.abort(new Error(`no whole answer within ${deps.timeoutMs / 1000} s`)),
        deps.timeoutMs,
      );
      try {
        const both = AbortSignal.any([late.signal, signal]);
        const result =
          "problem" in target
            ? failed(`the address of the webhook ${target.problem}`)
            : await toAddresses(target, {
                headers: { ...fixedHeaders, "user-agent": deps.userAgent, ...headers },
                body: Buffer.from(body),
                signal: both,
              }).catch((error: Error) => failed(both.aborted ? (both.reason as Error).message : error.message));
        if (signal.aborted) return undefined;
        return { ...read(result), durationMs: Math.round(performance.now() - began) };
      } finally {
        clearTimeout(timer);
      }
    },
    stop: () => agents.destroy(),
  };
}

const fixedHeaders = { "content-type": "application/json; charset=utf-8", accept: "*/*" };

/** A success counts when it is whole; of a refusal the status says enough. */
function read({ status, location, head, error }: Exchanged): Omit<Posted, "durationMs"> {
  const success = status !== undefined && status >= 200 && status < 300;
  if (status !== undefined && (error === undefined || !success))
    return { answer: { kind: "answered", status, location }, status, head };
  // A text that any store can hold: certificates may put anything into an error.
  const text = (error ?? "no answer").slice(0, maxErrorLength).toWellFormed().replaceAll("\0", "\ufffd");
  return { answer: { kind: "failed", error: text }, status, head };
}

function failed(error: string): Exchanged {
  return { status: undefined, location: undefined, head: "", error, unsent: undefined };
}
