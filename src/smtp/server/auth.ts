/** The AUTH command of a submission client (RFC 4954) with the mechanisms PLAIN (RFC 4616) and LOGIN. Used by session.ts. */

export type Login = { user: string; password: string };

export type AuthDialogue = {
  send(reply: string): void;
  /** The next line of the client; undefined when the session has ended. */
  readLine(): Promise<string | undefined>;
};

/** The AUTH keyword of the EHLO reply. */
export const authExtension = "AUTH PLAIN LOGIN";

/** Asks for what the command does not contain. Returns the login, or the reply that refuses the command; undefined when the session has ended. */
export async function readLogin(rest: string, dialogue: AuthDialogue): Promise<Login | { reply: string } | undefined> {
  const [mechanism = "", initial, ...more] = rest.trim().split(/ +/);
  if (more.length > 0) return { reply: "501 5.5.4 syntax: AUTH mechanism [initial-response]" };
  switch (mechanism.toUpperCase()) {
    case "PLAIN":
      return await readPlain(initial, dialogue);
    case "LOGIN":
      return await readLoginMechanism(initial, dialogue);
    case "":
      return { reply: "501 5.5.4 syntax: AUTH PLAIN or AUTH LOGIN" };
    default:
      return { reply: "504 5.5.4 the mechanisms are PLAIN and LOGIN" };
  }
}

async function readPlain(initial: string | undefined, dialogue: AuthDialogue) {
  const answer = initial ?? (await ask(dialogue, ""));
  if (answer === undefined) return undefined;
  if (answer === "*") return canceled;
  const parts = decode(answer)?.split("\0");
  if (parts?.length !== 3) return malformed;
  const [authorized, user, password] = parts as [string, string, string];
  // RFC 4616 §2: the first name is whom the client wants to act as.
  if (authorized !== "" && authorized !== user) return { reply: "535 5.7.8 acting as another user is not supported" };
  return { user, password };
}

async function readLoginMechanism(initial: string | undefined, dialogue: AuthDialogue) {
  const answers: string[] = [];
  for (const prompt of ["Username:", "Password:"]) {
    const isFirst = answers.length === 0;
    const answer = isFirst && initial !== undefined ? initial : await ask(dialogue, prompt);
    if (answer === undefined) return undefined;
    if (answer === "*") return canceled;
    const text = decode(answer);
    if (text === undefined) return malformed;
    answers.push(text);
  }
  const [user, password] = answers as [string, string];
  return { user, password };
}

async function ask({ send, readLine }: AuthDialogue, prompt: string): Promise<string | undefined> {
  send(`334 ${Buffer.from(prompt).toString("base64")}`);
  return (await readLine())?.trim();
}

const canceled = { reply: "501 5.7.0 authentication canceled" };
const malformed = { reply: "501 5.5.2 the response is not base64, or not of this mechanism" };

/** RFC 4954 §4: "=" is an empty response. */
function decode(text: string): string | undefined {
  if (text === "=") return "";
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text) || text.length % 4 !== 0) return undefined;
  return Buffer.from(text, "base64").toString("utf8");
}
