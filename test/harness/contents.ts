/** Reads the stored content of emails with all parts in memory, in the form in which newEmail in mail.ts has them. */
import { type ContentKey, readContents } from "../../src/emails/store/content.ts";
import { wholePart } from "../../src/emails/store/parts.ts";
import type { Sql } from "../../src/postgres/pool.ts";

/** Large parts as base64, except for part 0, which is text. Undefined: the content was deleted. */
export async function readParts(sql: Sql, key: ContentKey): Promise<string[] | undefined> {
  const parts = (await readContents(sql, [key])).get(key.emailId);
  if (!parts) return undefined;
  return await Promise.all(
    parts.map(async (part, i) =>
      typeof part === "string" ? part : (await wholePart(part)).toString(i === 0 ? "utf8" : "base64"),
    ),
  );
}
