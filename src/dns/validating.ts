/** The resolver of deliveries with DANE: asks servers that validate DNSSEC, so that answers say whether they are secure. While these servers
 * do not answer, names that were insecure before are looked up at the ordinary resolver; all other lookups fail. */
import { canonicalName, type Lookup, type LookupType } from "./record.ts";
import { createResolver, type LookupOptions, type Resolver, type ResolverOptions } from "./resolver.ts";
import type { ServerAddress } from "./servers.ts";

export type ValidatingOptions = {
  servers: readonly ServerAddress[];
  /** Looks up names that are known to be insecure while the validating servers do not answer. */
  ordinary: Pick<Resolver, "lookup">;
  now?: () => number;
} & Pick<ResolverOptions, "queryTimeoutMs" | "totalTimeoutMs">;

/** How long a name counts as insecure after the last insecure answer. Zones are rarely signed for the first time during an outage. */
const insecureMs = 24 * 3600_000;
const maxInsecure = 50_000;
/** How long known names skip servers that did not answer, so that mail does not wait for a timeout per lookup. */
const awayMs = 5_000;

export function createValidatingResolver({ ordinary, ...options }: ValidatingOptions): Resolver {
  const { now = () => performance.now() } = options;
  let repliedAt = Number.NEGATIVE_INFINITY;
  let awayUntil = 0;
  /** One lookup finds out whether the servers are back; known names do not wait for its timeout. */
  let probing = false;
  const validating = createResolver({
    ...options,
    validated: true,
    onReply: () => {
      repliedAt = now();
      awayUntil = 0;
    },
  });
  /** By name and type: until when the name counts as insecure. The oldest entry comes first. */
  const insecure = new Map<string, number>();

  function remember(key: string, answer: Lookup): void {
    insecure.delete(key);
    if (!("chain" in answer) || answer.secure) return;
    insecure.set(key, now() + insecureMs);
    const [oldest] = insecure.keys();
    if (insecure.size > maxInsecure) insecure.delete(oldest!);
  }

  return {
    async lookup<T extends LookupType>(name: string, type: T, caller: LookupOptions = {}): Promise<Lookup<T>> {
      const key = `${canonicalName(name)} ${type}`;
      const known = (insecure.get(key) ?? 0) > now();
      if (known && awayUntil > 0 && (probing || awayUntil > now())) return ordinary.lookup(name, type, caller);
      const isProbe = awayUntil > 0 && !probing;
      if (isProbe) probing = true;
      const askedAt = now();
      const answer = await validating.lookup(name, type, caller).finally(() => {
        if (isProbe) probing = false;
      });
      // If the servers replied to other lookups meanwhile, the failure belongs to this name.
      if (isUnanswered(answer) && repliedAt < askedAt) {
        awayUntil = now() + awayMs;
        return known ? ordinary.lookup(name, type, caller) : answer;
      }
      // SERVFAIL is how a validating server reports an invalid signature, so it never leads to the ordinary resolver.
      if ("chain" in answer) remember(key, answer);
      return answer;
    },
    stop: () => validating.stop(),
  };
}

function isUnanswered(answer: Lookup): boolean {
  return answer.kind === "timeout" || (answer.kind === "servfail" && answer.reason === "unreachable");
}
