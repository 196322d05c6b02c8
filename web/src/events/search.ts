/** The filters of the event log, read from the page's URL. */
import { readTextParams } from "../parts/search-params.ts";

export interface EventSearch {
  /** Event types, separated by commas. */
  types?: string;
  email?: string;
  /** The cursor to start after. */
  from?: string;
}

export function readEventSearch(raw: Record<string, unknown>): EventSearch {
  return readTextParams(raw, ["types", "email", "from"]);
}
