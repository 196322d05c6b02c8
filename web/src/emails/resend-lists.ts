/** Whom a resent email goes to. Used by resend-email.tsx. */

type Lists = { to: string[]; cc: string[]; bcc: string[] };
type Sent = Lists & { recipients: readonly { address: string }[] };

/** The lists of the email without addresses that only its header names: a program that sends over SMTP may write any. Undefined: a field "To" is
 * required, and only blind copies are left, which must not learn of each other. */
export function resendLists({ to, cc, bcc, recipients }: Sent): Lists | undefined {
  const received = new Set(recipients.map(({ address }) => address.toLowerCase()));
  const sentTo = (list: readonly string[]) => list.filter((text) => received.has(addressIn(text).toLowerCase()));
  const lists = { to: sentTo(to), cc: sentTo(cc), bcc: sentTo(bcc) };
  if (lists.to.length > 0) return lists;
  if (lists.cc.length > 0) return { ...lists, to: lists.cc, cc: [] };
  return lists.bcc.length === 1 ? { ...lists, to: lists.bcc, bcc: [] } : undefined;
}

/** `Name <address>` or an address. */
function addressIn(text: string): string {
  return /<([^<>]*)>$/.exec(text)?.[1] ?? text;
}
