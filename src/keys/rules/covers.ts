/** What a key may do compared with another: a key never creates, changes, rotates or revokes a key that may do more than itself. Called by
 * ../service.ts. */
import { containsRange } from "./addresses.ts";
import { containsRecipients } from "./recipients.ts";

/** What a key may do. A limit that is not set allows everything. */
export type Power = {
  permission: "full" | "send" | "read" | "scoped";
  test: boolean;
  limits?: {
    scopes?: readonly string[];
    domains?: readonly string[];
    recipients?: readonly string[];
    addresses?: readonly string[];
    expiresAt?: Date;
  };
};

/** The first thing that the key may do and the caller's key may not, in words; undefined if there is none. */
export function excessOf(key: Power, caller: Power): string | undefined {
  const [own, wanted] = [caller.limits ?? {}, key.limits ?? {}];
  if (caller.test && !key.test) return "it is a live key and this one is a test key";
  const methods = excessMethods(key, caller);
  if (methods) return methods;
  if (keyCanSend(key)) {
    const domains = excessEntry(wanted.domains, own.domains, (outer, inner) => outer === inner);
    if (domains) return `it may send from ${domains === "any" ? "any domain" : domains}`;
    const recipients = excessEntry(wanted.recipients, own.recipients, containsRecipients);
    if (recipients) return `it may send to ${recipients === "any" ? "any recipient" : recipients}`;
  }
  const addresses = excessEntry(wanted.addresses, own.addresses, containsRange);
  if (addresses) return `it may be used from ${addresses === "any" ? "any address" : addresses}`;
  if (own.expiresAt && !(wanted.expiresAt && wanted.expiresAt <= own.expiresAt))
    return `it is valid for longer than this key, which expires at ${own.expiresAt.toISOString()}`;
  return undefined;
}

/** Whether limits on sending mean anything for the key. */
export function keyCanSend({ permission, limits }: Pick<Power, "permission" | "limits">): boolean {
  return permission === "full" || permission === "send" || limits?.scopes?.includes("send") === true;
}

/** A `send` key may do what the scope `send` allows. No list of scopes allows what a `full` or a `read` key may do, now and in later
 * versions. */
function excessMethods(key: Power, caller: Power): string | undefined {
  if (caller.permission === "full") return undefined;
  const own = caller.permission === "send" ? ["send"] : (caller.limits?.scopes ?? []);
  const wanted = key.permission === "send" ? ["send"] : (key.limits?.scopes ?? []);
  if (key.permission === "full" || key.permission === "read") return `it has the permission ${key.permission}`;
  const more = wanted.find((scope) => !own.includes(scope));
  return more && `it has the scope ${more}`;
}

/** An entry that no entry of the caller's list contains. An empty list would allow nothing: no key has one. */
function excessEntry(
  wanted: readonly string[] | undefined,
  own: readonly string[] | undefined,
  contains: (outer: string, inner: string) => boolean,
): string | undefined {
  if (!own) return undefined;
  return wanted ? wanted.find((inner) => !own.some((outer) => contains(outer, inner))) : "any";
}
