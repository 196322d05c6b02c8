/** The parameters of MAIL and BDAT. Used by session.ts. */

/** The reply that refuses MAIL because of its parameters, or undefined. */
export function mailRefusal(
  parameters: ReadonlyMap<string, string>,
  about: { messageBytes: number; tooLarge: string; mayLogIn: boolean },
): string | undefined {
  for (const [name, value] of parameters) {
    if (name === "SIZE") {
      if (!/^\d{1,20}$/.test(value)) return "501 5.5.4 SIZE must be a number of octets";
      if (Number(value) > about.messageBytes) return about.tooLarge;
    } else if (name === "BODY") {
      if (!/^(7BIT|8BITMIME)$/i.test(value)) return "501 5.5.4 BODY must be 7BIT or 8BITMIME";
    } else if (name === "AUTH" && about.mayLogIn) {
      // RFC 4954 §5: a server that trusts no such statement may ignore it.
    } else if (name !== "SMTPUTF8") return `555 5.5.4 parameter ${name.slice(0, 30)} is not supported`;
  }
  return undefined;
}

/** `BDAT 1000 LAST` (RFC 3030 §2); undefined for a syntax error, after which the next octets have no meaning. */
export function readChunkSize(rest: string): { bytes: number; isLast: boolean } | undefined {
  const match = /^(\d{1,10})( +LAST)?$/i.exec(rest.trim());
  return match ? { bytes: Number(match[1]), isLast: match[2] !== undefined } : undefined;
}
