import assert from "node:assert/strict";
import { it } from "node:test";
import { isCommonPassword } from "./common-password.ts";

const common = [
  ...["qwertyuiop", "1234567890", "QwertyUIOP", "Password123", "password2026", "Password2026!", "dragon!12345"],
  ...["manchester", "Manchester#1999", "iloveyou....", "letmein12345"],
];

const uncommon = [
  ...[
    "correct horse battery",
    "a battery of staples",
    "manchester likes rain",
    "2026 passwords",
    "x9-zebra-quilt",
    "pässwörd",
  ],
  // Seven characters more than a common password may be random.
  ...["manchester8301946", "qwertyuiop7!3#9%2"],
];

for (const password of common)
  it(`${password} is common`, async () => assert.equal(await isCommonPassword(password), true));

for (const password of uncommon)
  it(`${password} is not common`, async () => assert.equal(await isCommonPassword(password), false));
