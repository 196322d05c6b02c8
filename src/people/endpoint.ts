/** What the files with endpoints under /auth share. pages.ts serves the endpoints and checks their requests. */
import type { Visitor } from "./open-session.ts";

export type Reply = { status?: number; body: object; cookies?: readonly string[]; location?: string };

/** `text` returns "" for a field that is missing or not a string: each action checks the fields that it needs. */
export type Action = (
  text: (field: string) => string,
  visitor: Visitor,
  fields: Readonly<Record<string, unknown>>,
) => Promise<Reply>;

/** A GET that a browser navigates to. `query` starts with a question mark, or is empty. */
export type Redirect = (query: string, visitor: Visitor) => Promise<{ location: string; cookies: readonly string[] }>;
