/** Decides which recipient of an email a report is about. Only a token of ours decides: everything else in a report can be forged, also by
 * another recipient of the same email. Pure; called by ../reports.ts. */

export type ReportKind = "bounce" | "complaint";

/** Why a report is about no recipient. Stored, so the words do not change. */
export const unattributedReasons = ["shared_path", "expired", "no_token", "invalid_token"] as const;
export type UnattributedReason = (typeof unattributedReasons)[number];

export type AttributableRecipient = {
  position: number;
  /** The last attempt was made too long ago for a bounce. */
  expired: boolean;
};

export type Attribution<R> = { recipient: R } | { reason: UnattributedReason };

/** `position` undefined: a return path of an earlier release, which all recipients of an email shared. */
export function attribute<R extends AttributableRecipient>(
  kind: ReportKind,
  position: number | undefined,
  recipients: readonly R[],
): Attribution<R> {
  const recipient =
    position === undefined
      ? recipients.length === 1
        ? recipients[0]
        : undefined
      : recipients.find((one) => one.position === position);
  if (!recipient) return { reason: "shared_path" };
  if (kind === "bounce" && recipient.expired) return { reason: "expired" };
  return { recipient };
}

/** For people who read the list of such reports. */
export function explainUnattributed(reason: UnattributedReason): string {
  return explanations[reason];
}

const explanations: Record<UnattributedReason, string> = {
  shared_path:
    "An earlier release sent this email with one return path for all of its recipients, so the report does not prove which recipient it is about.",
  expired: "The bounce arrived more than 30 days after the last attempt for its recipient.",
  no_token:
    "The report names the Message-ID of this email but does not contain the token of a copy, so anyone who knows the Message-ID could have written it.",
  invalid_token:
    "The report names the Message-ID of this email, but its token is not one that Posthorn issued, so the report was changed or forged.",
};
