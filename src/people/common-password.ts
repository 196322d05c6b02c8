/** Recognizes passwords that guessers try first. The list is the one of zxcvbn-ts (MIT license), about 49,000 passwords in lower case, most
 * common first. It is read on first use, because a start of the program does not need it. Called by password.ts. */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

const listFile = "@zxcvbn-ts/language-common/src/passwords.json";

/** Guessers also append years, counts and punctuation to common passwords. A longer ending can be random, and so is not ignored. */
const ignoredEnding = 6;

let reading: Promise<ReadonlySet<string>> | undefined;

/** Whether the password is on the list, as it is or without up to six digits or punctuation marks at its end. Ignores case. */
export async function isCommonPassword(password: string): Promise<boolean> {
  reading ??= readList().catch((error) => {
    reading = undefined;
    throw error;
  });
  const list = await reading;
  let text = password.toLowerCase();
  for (let removed = 0; ; removed++) {
    if (list.has(text)) return true;
    if (removed === ignoredEnding || !/[\p{Nd}\p{P}\p{S}]$/u.test(text)) return false;
    text = [...text].slice(0, -1).join("");
  }
}

async function readList(): Promise<ReadonlySet<string>> {
  const text = await readFile(fileURLToPath(import.meta.resolve(listFile)), "utf8");
  return new Set(JSON.parse(text) as string[]);
}
