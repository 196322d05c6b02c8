/** The number of emails by outcome, for the filters of the log. */
import { useQuery } from "@connectrpc/connect-query";
import { type CountEmailsResponse, type EmailOutcome, EmailService } from "../../../src/gen/v1/email_pb.ts";
import type { toRequest } from "./search.ts";

const pollMs = 10_000;

/** Of all outcomes, whichever one the list is limited to. */
export function useCounts(request: ReturnType<typeof toRequest>) {
  return useQuery(
    EmailService.method.countEmails,
    { filter: { ...request, outcomes: [] } },
    { refetchInterval: pollMs, placeholderData: (before) => before },
  );
}

/** "1,204", or "10,000+" when there are more. */
export function countText(counts: CountEmailsResponse | undefined, outcome: EmailOutcome | undefined): string {
  if (!counts) return "";
  const found = outcome === undefined ? undefined : counts.counts.find((one) => one.outcome === outcome);
  const [emails, atLeast] =
    outcome === undefined ? [counts.total, counts.atLeast] : [found?.emails ?? 0, found?.atLeast ?? false];
  return `${emails.toLocaleString("en")}${atLeast ? "+" : ""}`;
}
