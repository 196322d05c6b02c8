/** Runs a command on domains: the store, a DNS of its own for local names, and the workspace and domain that its words name. */
import { readDomainName } from "../../mail/dns-name.ts";
import { silentLog } from "../../ops/log.ts";
import { type DomainRow, findDomain, getDomain } from "../../store/domains.ts";
import { fromWireId } from "../../store/ids.ts";
import { createDomains, type Domains, startDns } from "../assemble-domains.ts";
import { type Option, UsageError } from "../command.ts";
import type { Config } from "../config.ts";
import type { Store } from "../open-store.ts";
import { workspaceFrom } from "./keys.ts";
import { withStore } from "./with-store.ts";

export type DomainsAtHand = Store & { nowMs(): number; domains: Domains; workspaceId: string };

export async function withDomains<T>(
  config: Config,
  workspace: string | boolean | undefined,
  work: (at: DomainsAtHand) => Promise<T>,
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

/** The domain that a person named, by its name or by its id. */
export async function domainFrom(at: DomainsAtHand, words: readonly string[]): Promise<DomainRow> {
  const text = oneWord(words);
  const id = fromWireId("domain", text);
  const read = readDomainName(text);
  const row = id
    ? await getDomain(at.sql, at.workspaceId, id)
    : read.ok
      ? await findDomain(at.sql, at.workspaceId, read.name.ascii)
      : undefined;
  if (!row)
    throw new UsageError(
      `This workspace has no domain ${JSON.stringify(text)}. See: posthorn domains list; register it with: posthorn domains add DOMAIN`,
    );
  return row;
}

export function oneWord(words: readonly string[]): string {
  if (words.length !== 1 || words[0] === undefined) throw new UsageError("Name one domain, for example: example.com");
  return words[0];
}

export const jsonOption: Option = { type: "boolean", help: "print JSON, as the API shows it" };
