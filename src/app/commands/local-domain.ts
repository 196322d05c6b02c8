/** Finds the domain that the arguments of a command name in the local store. Used by domains.ts and dns.ts. */
import { readDomainName } from "../../dns/name.ts";
import { type DomainRow, findDomain, getDomain } from "../../domains/store/domains.ts";
import { fromWireId } from "../../postgres/ids.ts";
import type { Sql } from "../../postgres/pool.ts";
import { UsageError } from "../command.ts";

/** The domain that the argument names, by its name or its id. */
export async function domainFrom(
  { sql, workspaceId }: { sql: Sql; workspaceId: string },
  words: readonly string[],
): Promise<DomainRow> {
  const text = oneWord(words);
  const id = fromWireId("domain", text);
  const read = readDomainName(text);
  const row = id
    ? await getDomain(sql, workspaceId, id)
    : read.ok
      ? await findDomain(sql, workspaceId, read.name.ascii)
      : undefined;
  if (!row) throw noSuchDomain(text);
  return row;
}

export function noSuchDomain(text: string): UsageError {
  return new UsageError(
    `This workspace has no domain ${JSON.stringify(text)}. See: posthorn domains list. Register it with: posthorn domains add DOMAIN`,
  );
}

/** The one positional argument. */
export function oneWord(words: readonly string[]): string {
  if (words.length !== 1 || words[0] === undefined) throw new UsageError("Give one domain, for example: example.com");
  return words[0];
}
