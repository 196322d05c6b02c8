/** Validates the addresses and names that people type. Called by WorkspaceService and by sign-up, sign-in and invitations in people. */
import { parseAddress } from "../mail/address.ts";
import { Problem, type Violation } from "../ops/problem.ts";

const maxName = 100;
/** The addresses that sign-in has always accepted, slightly fewer than mail does. rules.test.ts compares the pattern with zod's. */
const signInPattern = /^(?:[\w'+-]+\.)*[\w'+-]*[\w+-]@(?:[a-z\d][a-z\d-]*\.)+[a-z]{2,}$/;

/** The address in lower case, as it is stored. Undefined for one that mail cannot be sent to or that the pattern excludes. */
export function readEmail(text: string): string | undefined {
  const read = parseAddress(text);
  if (!read.ok || read.address.name !== "" || read.address.smtputf8) return undefined;
  const email = read.address.address.toLowerCase();
  return email.length <= 254 && signInPattern.test(email) ? email : undefined;
}

export function judgeName(name: string): Violation[] {
  const length = [...name].length;
  if (length < 1 || length > maxName)
    return [{ field: "name", description: `must have 1 to ${maxName} characters, has ${length}` }];
  if (/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u.test(name) || !name.isWellFormed())
    return [{ field: "name", description: "must not contain control characters" }];
  return [];
}

export const invalidEmail: Violation = {
  field: "email",
  description: "must be an email address such as you@example.com",
};

export function noSuchWorkspace(id: string): Problem {
  return new Problem("not_found", `You have no workspace with the id ${JSON.stringify(id.slice(0, 100))}.`);
}

/** What would make a person the owner of one more workspace, and what helps instead. */
const ownerRemedies = {
  create: "Use one of them",
  join: "Ask an owner of this workspace to give your invitation another role, give up the ownership of another workspace",
  promote: "Choose another role",
} as const;

/** The refusal when a person would own too many workspaces. `email` names a person who does not make the call. */
export function tooManyOwned(limit: number, by: keyof typeof ownerRemedies, email?: string): Problem {
  const who = email === undefined ? "You own" : `${email} owns`;
  const message = `${who} as many workspaces as one person may own (limit: ${limit}). ${ownerRemedies[by]}, or ask the operator for more.`;
  return new Problem("resource_exhausted", message, {
    reason: "QUOTA_EXCEEDED",
    metadata: { quota: "workspaces", limit: String(limit) },
  });
}
