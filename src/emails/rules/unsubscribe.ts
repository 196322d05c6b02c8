/** Checks what an email says about unsubscribing, for check.ts and submitted.ts. */
import { topicProblem } from "../../suppressions/unsubscribe/rules/topic.ts";
import type { SendRequest } from "./request.ts";

type Wrong = (field: string, description: string) => void;

export function checkUnsubscribe(request: SendRequest, wrong: Wrong): void {
  const recipients = request.to.length + request.cc.length + request.bcc.length;
  checkTopic(request.unsubscribe, { recipients, field: "unsubscribe" }, wrong);
  if (!request.unsubscribe) return;
  for (const name of Object.keys(request.headers)) {
    if (!/^list-unsubscribe(-post)?$/i.test(name)) continue;
    wrong(`headers[${JSON.stringify(name)}]`, "cannot be combined with unsubscribe, which sets it; keep one of them");
  }
}

/** `recipients`: how many addresses the email is for, counted as given. */
export function checkTopic(
  unsubscribe: { topic: string } | undefined,
  { recipients, field }: { recipients: number; field: string },
  wrong: Wrong,
): void {
  if (!unsubscribe) return;
  const problem = topicProblem(unsubscribe.topic);
  if (problem) wrong(field === "unsubscribe" ? "unsubscribe.topic" : field, problem);
  // Each copy needs a link of its own, and all recipients of an email get the same signed message.
  if (recipients > 1)
    wrong(
      field,
      `needs exactly one recipient, and to, cc and bcc together have ${recipients}; send one email to each with SendEmailBatch`,
    );
}
