/** The check of DKIM keys in posthorn doctor: how many primes new keys get, which keys differ, and whether FIPS mode allows them. */
import { getFips } from "node:crypto";
import { countPrimes, type PrimesInUse } from "../../../domains/store/dkim-keys.ts";
import type { Config } from "../../config.ts";
import { withStore } from "../with-store.ts";
import type { Finding } from "./finding.ts";

export async function dkimChecks(config: Config): Promise<Finding[]> {
  const inUse = await withStore(config, ({ sql }) => countPrimes(sql));
  return dkimFindings({ primes: config.dkimPrimes, fips: getFips() === 1, inUse });
}

export function dkimFindings(state: { primes: number; fips: boolean; inUse: readonly PrimesInUse[] }): Finding[] {
  const { primes, fips, inUse } = state;
  const check = "DKIM";
  const refused = inUse.filter((one) => one.primes > 2);
  if (fips && refused.length > 0)
    return [
      {
        check,
        result: "fail",
        found: `OpenSSL runs in FIPS mode, which does not allow the keys of ${refused.map(inDomains).join(" and ")}`,
        fix: "Rotate their keys (posthorn domains rotate DOMAIN, and once more when the old key is out of use), and remove such imported keys. Until then, leave FIPS mode.",
      },
    ];
  const others = inUse.filter((one) => one.primes !== primes);
  const differing =
    others.length === 0
      ? ""
      : `; the keys of ${others.map(inDomains).join(" and ")} keep signing until a rotation replaces them`;
  const mode = fips ? ", as FIPS mode requires" : "";
  return [{ check, result: "ok", found: `new keys have ${primes} primes (POSTHORN_DKIM_PRIMES)${mode}${differing}` }];
}

function inDomains({ primes, domains }: PrimesInUse): string {
  return `${domains} ${domains === 1 ? "domain" : "domains"} with ${primes} primes`;
}
