/** What a recipient domain's MTA-STS policy (RFC 8461) asks of us. */

export type StsPolicy = {
  /** `enforce`: only these hosts, only with a valid certificate. `testing`: the same is looked at, nothing is refused. */
  mode: "enforce" | "testing" | "none";
  /** Host names, `*.` in front for one label. */
  hosts: readonly string[];
};

/** RFC 8461 §4.1: a name as it is, or a wildcard for exactly one label. */
export function allowsHost(policy: StsPolicy, host: string): boolean {
  const name = host.toLowerCase().replace(/\.$/, "");
  const parent = name.slice(name.indexOf(".") + 1);
  return policy.hosts.some((pattern) =>
    pattern.startsWith("*.") ? pattern.slice(2) === parent && name.includes(".") : pattern === name,
  );
}

/** RFC 8461 §3.2: up to a year; a day at least spares a receiver that says 0 from being asked for every message. */
export function keptForMs(maxAgeSeconds: number): number {
  const day = 86_400_000;
  return Math.min(Math.max(maxAgeSeconds * 1000, day), 366 * day);
}
