/** Reads the commands of an SMTP client for our server: the verb, the path and the parameters, with nothing guessed. */

export type Command = { verb: string; rest: string };

/** Undefined: not UTF-8 (RFC 6531 §3.3 allows no other charset in a command). */
export function readCommand(line: Buffer): Command | undefined {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(line);
  } catch {
    return undefined;
  }
  const match = /^([A-Za-z]+)(?: (.*))?$/s.exec(text.trimEnd());
  return match ? { verb: match[1]!.toUpperCase(), rest: match[2] ?? "" } : { verb: "", rest: text };
}

export type Path = { address: string; parameters: Map<string, string> };

/** `FROM:<a@b> SIZE=10` after MAIL, `TO:<c@d>` after RCPT. Undefined: a syntax error. The empty path is "". */
export function readPath(rest: string, keyword: "FROM" | "TO"): Path | undefined {
  // A space after the colon is unlawful and common; RFC 5321 §4.1.1.2 wants none.
  const match = new RegExp(`^${keyword}: ?<([^<>\\s]{0,320})>((?: [^ ]+)*)$`, "i").exec(rest.trimEnd());
  if (!match) return undefined;
  const parameters = new Map<string, string>();
  for (const word of match[2]!.split(" ").filter((w) => w !== "")) {
    const [name = "", value = ""] = word.split(/=(.*)/s);
    if (!/^[A-Za-z0-9][A-Za-z0-9-]*$/.test(name) || parameters.has(name.toUpperCase())) return undefined;
    parameters.set(name.toUpperCase(), value);
  }
  return { address: match[1]!, parameters };
}

/** A client's name in HELO or EHLO: anything printable is taken, for it is a claim and nothing more. */
export function readGreetingName(rest: string): string | undefined {
  const name = rest.trim();
  return /^[!-~]{1,255}$/.test(name) ? name : undefined;
}
