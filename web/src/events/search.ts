/** What the tail is narrowed to, as it stands in the page's address. */
import { readTexts } from "../parts/search-texts.ts";

export interface EventSearch {
  /** Event types, with commas. */
  types?: string;
  email?: string;
  /** The cursor to start after. */
  from?: string;
}

export function readEventSearch(raw: Record<string, unknown>): EventSearch {
  return readTexts(raw, ["types", "email", "from"]);
}
