/** Rules for MTA-STS policies (RFC 8461): which hosts a policy allows and how long it is stored. Used by ../mta-sts.ts and the direct
 * transport. */

export type StsPolicy = {
  /** `enforce`: only these hosts, and only with a valid certificate. `testing`: violations do not stop delivery. */
  mode: "enforce" | "testing" | "none";
  /** Host names. A leading `*.` matches one label. */
  hosts: readonly string[];
};

/** RFC 8461 §4.1: a pattern is a host name, or a wildcard for exactly one label. */
export function allowsHost(policy: StsPolicy, host: string): boolean {
  const name = host.toLowerCase().replace(/\.$/, "");
  const parent = name.slice(name.indexOf(".") + 1);
  return policy.hosts.some((pattern) =>
    pattern.startsWith("*.") ? pattern.slice(2) === parent && name.includes(".") : pattern === name,
  );
}

/** RFC 8461 §3.2: at most a year. At least a day, so that `max_age: 0` does not cause a fetch per message. */
export function policyTtlMs(maxAgeSeconds: number): number {
  const day = 86_400_000;
  return Math.min(Math.max(maxAgeSeconds * 1000, day), 366 * day);
}
