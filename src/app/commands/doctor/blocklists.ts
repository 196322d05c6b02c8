/** The check of POSTHORN_BLOCKLISTS in posthorn doctor: whether each list answers this machine's resolvers, and only for what it lists. */
import { interpretListing } from "../../../deliverability/blocklists.ts";
import type { LookupFunction } from "../../../dns/record.ts";
import type { Config } from "../../config.ts";
import type { Finding } from "./finding.ts";
import { withResolver } from "./network.ts";

const check = "blocklists";
const timeoutMs = 4_000;

/** RFC 5782 §5: names that each list must have, and others that it must not. Not all lists of domains have the first one. */
const testNames = {
  addresses: { listed: "2.0.0.127", unlisted: "1.0.0.127" },
  domains: { listed: undefined, unlisted: "invalid" },
} as const;

export async function blocklistChecks(config: Config): Promise<Finding[]> {
  const { blocklists, delivery } = config;
  if (delivery === "capture") return [{ check, result: "ok", found: "not needed in capture mode" }];
  // The addresses of a relay are unknown, so no list is asked about them.
  const addresses = delivery === "relay" ? [] : blocklists.addresses;
  const lists = [
    ...addresses.map((list) => ({ list, names: testNames.addresses })),
    ...blocklists.domains.map((list) => ({ list, names: testNames.domains })),
  ];
  if (lists.length === 0) return [{ check, result: "ok", found: "no list is asked" }];
  return await withResolver(config, async (resolver) => {
    const lookup: LookupFunction = (name, type) => resolver.lookup(name, type, { timeoutMs });
    const problems = await Promise.all(
      lists.map(async ({ list, names }) => ({ list, problem: await problemOf(list, names, lookup) })),
    );
    const good = problems.filter(({ problem }) => problem === undefined).map(({ list }) => list);
    return [
      ...(good.length > 0 ? [{ check, result: "ok" as const, found: `answered by ${good.join(", ")}` }] : []),
      ...problems.flatMap(({ list, problem }) => (problem === undefined ? [] : [warning(list, problem)])),
    ];
  });
}

async function problemOf(
  list: string,
  { listed, unlisted }: { listed: string | undefined; unlisted: string },
  lookup: LookupFunction,
): Promise<string | undefined> {
  const ask = async (name: string) => interpretListing(await lookup(`${name}.${list}`, "A"));
  const [wanted, unwanted] = await Promise.all([listed === undefined ? undefined : ask(listed), ask(unlisted)]);
  for (const { answer, detail } of [wanted ?? unwanted, unwanted])
    if (answer === "refused" || answer === "unanswered") return detail;
  if (unwanted.answer === "listed") return "lists everything, so it has shut down";
  if (wanted?.answer === "not_listed")
    return "does not list its test address 127.0.0.2, so it has shut down or has another name";
  return undefined;
}

function warning(list: string, problem: string): Finding {
  return {
    check,
    result: "warn",
    found: `${list}: ${problem}; deliverability checks cannot say whether it lists you`,
    fix: "Lists refuse public resolvers: set POSTHORN_RESOLVERS to a resolver of your own. Or take the list out of POSTHORN_BLOCKLISTS.",
  };
}
