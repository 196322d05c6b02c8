/** How long the client waits in each phase; operators may shorten them, the defaults are RFC 5321 §4.5.3.2 where it speaks. */

export const defaultTimeouts = {
  connectMs: 30_000,
  bannerMs: 5 * 60_000, // §4.5.3.2.1
  ehloMs: 5 * 60_000,
  tlsMs: 60_000,
  authMs: 2 * 60_000,
  mailMs: 5 * 60_000, // §4.5.3.2.2
  rcptMs: 5 * 60_000, // §4.5.3.2.3
  dataMs: 2 * 60_000, // §4.5.3.2.4
  bodyMs: 3 * 60_000, // §4.5.3.2.5, for each piece
  dotMs: 10 * 60_000, // §4.5.3.2.6
  quitMs: 5_000,
  /** From connect to ready for the first MAIL. */
  openMs: 10 * 60_000,
  /** One transaction, from MAIL to the reply to the final dot. */
  transactionMs: 30 * 60_000,
} as const;

export type Timeouts = { readonly [name in keyof typeof defaultTimeouts]: number };
