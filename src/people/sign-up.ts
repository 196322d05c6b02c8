/** Who may sign up, and how: the first person, by a link, by an invitation, or anybody, as POSTHORN_SIGNUP says. */
import { invalid, Problem, type Violation } from "../rules/problem.ts";
import type { Sql } from "../store/db.ts";
import { findInvite } from "../store/members.ts";
import {
  addFirstPerson,
  addPerson,
  addPersonByInvite,
  addPersonByLink,
  findPerson,
  hasPeople,
  type Person,
} from "../store/people.ts";
import { addLink, findLink, makeToken } from "../store/people-links.ts";
import type { Secrets } from "../store/secrets.ts";
import { createCounter } from "./attempts.ts";
import { judgeName, noAddress, readEmail } from "./input.ts";
import { knownLetter, signUpLetter } from "./letters.ts";
import { isFirstToken, linkForMs, linkTo, looksLikeToken } from "./links.ts";
import type { SystemMail } from "./mail.ts";
import { type Hasher, judgePassword } from "./password.ts";

export type SignUpMode = "first" | "open" | "closed";
/** How a new person without a link would sign up at this moment. */
export type SignUpBy = "form" | "mail" | "link" | "closed";

export type SignUpInput = { email: string; name: string; password: string; token: string };
export type Newcomer = { address: string };

export type SignUpDeps = {
  sql: Sql;
  secrets: Pick<Secrets, "mac">;
  mode: SignUpMode;
  mail: SystemMail;
  hasher: Hasher;
  base(): string;
  nowMs(): number;
  /** Work that nobody waits for, but a stopping program does. */
  later(work: Promise<void>): void;
  /** A person was added: from now on the first person's link is void. */
  onPerson(): Promise<void>;
};

export function createSignUp(deps: SignUpDeps) {
  const { sql } = deps;
  const tries = createCounter({ burst: 50, perMs: 20_000 });
  const letters = createCounter({ burst: 3, perMs: 600_000 });

  async function waysIn(): Promise<{ by: SignUpBy; first: boolean }> {
    const first = !(await hasPeople(sql));
    if (deps.mode === "closed") return { by: "closed", first };
    // On loopback too: every account of the machine and every page in its browsers can reach that.
    if (first) return { by: "link", first };
    if (deps.mode === "first") return { by: "closed", first };
    return { by: (await deps.mail.canSend()) ? "mail" : "form", first };
  }

  /** The person, or undefined when a mail was sent in its place. */
  async function signUp(input: SignUpInput, newcomer: Newcomer): Promise<Person | undefined> {
    tries.check(newcomer.address, deps.nowMs());
    tries.take(newcomer.address, deps.nowMs());
    if (input.token !== "") return await announced(byToken(input));
    const { by } = await waysIn();
    if (by === "closed" || by === "link") throw refused(by);
    const email = readEmail(input.email);
    if (by === "mail") {
      if (!email) throw invalid([noAddress]);
      deps.later(sendLetter(email));
      return undefined;
    }
    const problems = judge(input);
    if (!email) problems.unshift(noAddress);
    if (!email || problems.length > 0) throw invalid(problems);
    return await announced(prepare(input).then(async (person) => found(await addPerson(sql, { ...person, email }))));
  }

  async function announced(adding: Promise<Person>): Promise<Person> {
    const person = await adding;
    await deps.onPerson();
    return person;
  }

  async function byToken(input: SignUpInput): Promise<Person> {
    const problems = judge(input);
    if (!looksLikeToken(input.token)) throw noLink();
    if (isFirstToken(deps.secrets, input.token)) {
      if (deps.mode === "closed" || (await hasPeople(sql))) throw noLink();
      const email = readEmail(input.email);
      if (!email) problems.unshift(noAddress);
      if (!email || problems.length > 0) throw invalid(problems);
      return await addFirst(email, input);
    }
    const invitation = await findInvite(sql, input.token);
    if (!invitation && (await findLink(sql, input.token))?.kind !== "sign_up") throw noLink();
    if (problems.length > 0) throw invalid(problems);
    const person = await prepare(input);
    return found(
      invitation
        ? await addPersonByInvite(sql, person, { token: input.token, email: invitation.email })
        : await addPersonByLink(sql, person, input.token),
    );
  }

  async function addFirst(email: string, input: SignUpInput): Promise<Person> {
    const person = await addFirstPerson(sql, { ...(await prepare(input)), email });
    if (!person) throw refused("closed");
    return person;
  }

  async function prepare({ name, password }: SignUpInput) {
    return { name: name.trim(), passwordHash: await deps.hasher.hash(password), nowMs: deps.nowMs() };
  }

  /** Nobody waits for it: the answer and its time are the same whether the address has an account or not. */
  async function sendLetter(email: string): Promise<void> {
    try {
      letters.check(email, deps.nowMs());
    } catch {
      return;
    }
    letters.take(email, deps.nowMs());
    if (await findPerson(sql, email)) return await deps.mail.send({ to: email, ...knownLetter(deps.base()) });
    const token = makeToken();
    await addLink(sql, { token, kind: "sign_up", email, forMs: linkForMs.sign_up });
    await deps.mail.send({ to: email, ...signUpLetter(linkTo(deps.base(), "sign_up", token)) });
  }

  return { waysIn, signUp };
}

function judge({ name, password }: SignUpInput): Violation[] {
  return [...judgeName(name.trim()), ...judgePassword(password, "password")];
}

function found(person: Person | "no link" | "has account" | undefined): Person {
  if (person === "no link") throw noLink();
  if (person === undefined || person === "has account")
    throw new Problem("already_exists", "This address has an account. Sign in with it, or ask for a new password.");
  return person;
}

export function noLink(): Problem {
  return new Problem("not_found", "This link is unknown, was used before, or has expired. Ask for a new one.");
}

function refused(by: "closed" | "link"): Problem {
  return new Problem("permission_denied", waysInWords[by]);
}

export const waysInWords: Record<SignUpBy, string> = {
  form: "Sign up with your address, your name and a password.",
  mail: "Sign up with your address: a link to go on is sent there.",
  link: "The first person signs up with a one-time link. It is in the file first-sign-up in the server's data directory; the command posthorn people first-link prints it too. Open it in this browser.",
  closed: "Sign-up is closed here. Ask an owner of a workspace for an invitation.",
};
