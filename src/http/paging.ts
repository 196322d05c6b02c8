/** Paging for List methods: `pageSize` and `pageToken` mean the same in all of them. Called by the services. */
import { invalid, type Violation } from "../ops/problem.ts";

export const defaultPageSize = 20;
export const maxPageSize = 100;

/** Unset means 20, more than 100 means 100, and a negative size is an error. */
export function pageSizeOf(pageSize: number, problems: Violation[]): number {
  if (pageSize < 0)
    problems.push({
      field: "pageSize",
      description: `must not be negative, is ${pageSize}; leave it out for ${defaultPageSize}`,
    });
  return Math.min(pageSize || defaultPageSize, maxPageSize);
}

/** A keyset page: the token is the id of the last row shown, so that pages stay correct while rows are added. */
export function keysetPage(request: { pageSize: number; pageToken: string }): {
  limit: number;
  before: string | undefined;
} {
  const problems: Violation[] = [];
  const limit = pageSizeOf(request.pageSize, problems);
  const before = request.pageToken === "" ? undefined : readToken(request.pageToken);
  if (before === null)
    problems.push({
      field: "pageToken",
      description: "is not a token that this method returned; leave it out for the first page",
    });
  if (problems.length > 0) throw invalid(problems);
  return { limit, before: before ?? undefined };
}

/**
 * Cuts a result to its page. The query must fetch one row more than the page holds: that row shows whether there is a next page.
 * `resumeBefore`: where a query goes on that has stopped before its page was full.
 */
export function cutPage<T extends { id: string }>(
  rows: T[],
  limit: number,
  resumeBefore?: string,
): { rows: T[]; nextPageToken: string } {
  const shown = rows.slice(0, limit);
  const next = rows.length > limit ? shown.at(-1)!.id : resumeBefore;
  return { rows: shown, nextPageToken: next ? makeToken(next) : "" };
}

function makeToken(uuid: string): string {
  return Buffer.from(uuid.replaceAll("-", ""), "hex").toString("base64url");
}

function readToken(token: string): string | null {
  if (!/^[\w-]{22}$/.test(token)) return null;
  const hex = Buffer.from(token, "base64url").toString("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
