/** Runs a command on domains: opens the store, starts DNS for local names, and finds the workspace and domain that the arguments name. */
import { readDomainName } from "../../dns/name.ts";
import { type DomainRow, findDomain, getDomain } from "../../domains/store/domains.ts";
import { silentLog } from "../../ops/log.ts";
import { fromWireId } from "../../postgres/ids.ts";
import { createDomains, type DomainsPart, startDns } from "../assemble/domains.ts";
import { type Option, UsageError } from "../command.ts";
import type { Config } from "../config.ts";
import type { Store } from "../open-store.ts";
import { workspaceFrom } from "./keys.ts";
import { withStore } from "./with-store.ts";

export type DomainsContext = Store & { nowMs(): number; domains: DomainsPart; workspaceId: string };

export async function withDomains<T>(
  config: Config,
  workspace: string | boolean | undefined,
  work: (context: DomainsContext) => Promise<T>,
): Promise<T> {
  return await withStore(config, async (store) => {
    const { sql, secrets, nowMs } = store;
    const log = silentLog();
    const workspaceId = await workspaceFrom(sql, workspace, nowMs());
    const dns = await startDns({ config, sql, log, nowMs, serve: false });
    const domains = createDomains({ config, sql, log, nowMs, secrets, dns });
    try {
      return await work({ ...store, domains, workspaceId });
    } finally {
      await domains.stop();
      await dns.stop();
    }
  });
}

/** The domain that the argument names, by its name or its id. */
export async function domainFrom(context: DomainsContext, words: readonly string[]): Promise<DomainRow> {
  const text = oneWord(words);
  const id = fromWireId("domain", text);
  const read = readDomainName(text);
  const row = id
    ? await getDomain(context.sql, context.workspaceId, id)
    : read.ok
      ? await findDomain(context.sql, context.workspaceId, read.name.ascii)
      : undefined;
  if (!row)
    throw new UsageError(
      `This workspace has no domain ${JSON.stringify(text)}. See: posthorn domains list. Register it with: posthorn domains add DOMAIN`,
    );
  return row;
}

/** The one positional argument. */
export function oneWord(words: readonly string[]): string {
  if (words.length !== 1 || words[0] === undefined) throw new UsageError("Give one domain, for example: example.com");
  return words[0];
}

export const jsonOption: Option = { type: "boolean", help: "print the API's JSON" };
