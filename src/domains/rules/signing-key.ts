/** Which DKIM key signs the mail of a domain. store/sending.ts asks for delivery, own-keys.ts for the list of keys. */

/** The bits of the keys that we make. */
export const ownKeyBits = 2048;

export type Candidate = { selector: string };

/**
 * The keys that may sign, the one to use first: imported keys whose records are found, then those of ours that receivers can find, or any
 * of ours, for mail that was accepted before the records disappeared. Both lists have the newest first.
 */
export function signingKeys<Own extends Candidate, Imported extends Candidate>(candidates: {
  imported: readonly Imported[];
  own: readonly Own[];
  /** 1 for ph1, 2 for ph2. */
  foundSlots: readonly number[];
}): (Own | Imported)[] {
  const { imported, own, foundSlots } = candidates;
  const findable = own.filter(({ selector }) => foundSlots.some((slot) => selector === `ph${slot}`));
  return [...imported, ...(findable.length > 0 ? findable : own)];
}
