/** Links from a number to the emails behind it: the email log with the filters of the number. */
import { type Timestamp, timestampDate } from "@bufbuild/protobuf/wkt";
import type { EmailSearch } from "../emails/search.ts";

export type Behind = {
  from?: Timestamp;
  to?: Timestamp;
  outcome?: "delivered,sent" | "bounced" | "complained";
} & Pick<EmailSearch, "domain" | "destination" | "site" | "sender" | "key" | "value">;

/** The log selects by the time of acceptance, statistics by the time of the event: mail from the end of the previous hour may be missing. */
export function emailsBehind({ from, to, ...filters }: Behind): { to: "/emails"; search: EmailSearch } {
  return {
    to: "/emails",
    search: {
      ...filters,
      ...(from && { from: timestampDate(from).toISOString() }),
      ...(to && { until: timestampDate(to).toISOString() }),
    },
  };
}
