/** Decides how much mail about accounts one address gets, and how much of it one inviter and one client cause. A stranger can make this
 * service send mail to any address, from the operator's own sender. Called by account-mail.ts. */

export type AccountMailKind = "sign_up" | "reset" | "invitation";

/** Mail that is about to be sent: to whom, and who caused it. */
export type AccountMailCause = {
  kind: AccountMailKind;
  email: string;
  /** The person who invites; undefined for other kinds. */
  personId: string | undefined;
  /** The network of the client; undefined for invitations. */
  client: string | undefined;
};

/** Mail of the last day. */
export type PastMail = {
  kind: AccountMailKind;
  email: string;
  personId: string | null;
  client: string | null;
  ageMs: number;
};

/** `by`: the limit that is reached. */
export type AccountMailRefusal = { by: "address" | "inviter" | "client"; retryAfterMs: number };

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** A reset link is valid for an hour. Three an hour and ten a day keep a stranger from using up the links of a person for long. */
export const accountMailLimits = {
  perAddressAndHour: 3,
  perAddressAndDay: { sign_up: 5, reset: 10, invitation: 5 },
  perInviterAndDay: 30,
  perClientAndDay: 100,
} as const;

/** Undefined: the mail may be sent. The inviter's and the client's own limits come first, because these callers hear of them. */
export function judgeAccountMail(
  mail: AccountMailCause,
  past: readonly PastMail[],
  limits: typeof accountMailLimits = accountMailLimits,
): AccountMailRefusal | undefined {
  const toAddress = past.filter(({ email, kind }) => email === mail.email && kind === mail.kind);
  const byInviter = past.filter(({ personId }) => personId !== null && personId === mail.personId);
  const byClient = past.filter(({ client }) => client !== null && client === mail.client);
  return (
    refusal("inviter", byInviter, limits.perInviterAndDay, dayMs) ??
    refusal("client", byClient, limits.perClientAndDay, dayMs) ??
    refusal("address", toAddress, limits.perAddressAndHour, hourMs) ??
    refusal("address", toAddress, limits.perAddressAndDay[mail.kind], dayMs)
  );
}

function refusal(
  by: AccountMailRefusal["by"],
  past: readonly PastMail[],
  most: number,
  windowMs: number,
): AccountMailRefusal | undefined {
  const ages = past.map(({ ageMs }) => ageMs).filter((ageMs) => ageMs < windowMs);
  if (ages.length < most) return undefined;
  // The window has room again when all but `most - 1` of this mail have left it.
  const leaves = ages.toSorted((a, b) => b - a)[ages.length - most]!;
  return { by, retryAfterMs: Math.max(1000, Math.ceil(windowMs - leaves)) };
}
