// Answers --help, --version, completion and unknown commands from bin/command-line.json, without loading the server or starting Node 24.
// Called by bin/posthorn.js.
import { readFileSync } from "node:fs";

/** The text to print and the exit code; undefined if a command must run. Exit code 2: a mistake, printed to standard error. */
export function answer(args) {
  const facts = JSON.parse(readFileSync(new URL("./command-line.json", import.meta.url), "utf8"));
  const print = (lines) => ({ text: `${lines.join("\n")}\n`, code: 0 });
  const end = args.indexOf("--");
  const asksHelp =
    args[0] === "help" || (end < 0 ? args : args.slice(0, end)).some((arg) => ["--help", "-h"].includes(arg));
  const firstOption = args.findIndex((arg) => arg.startsWith("-"));
  const words = args.slice(args[0] === "help" ? 1 : 0, firstOption < 0 ? args.length : firstOption);
  if (words.length === 0 && (asksHelp || args.length === 0)) return print(facts.help[""]);
  if (["--version", "-v"].includes(args[0])) return print([facts.version]);
  if (words.length === 0) return mistake(`Write a command before ${args[0]}. See: posthorn --help`);

  const [first, second] = words;
  const name = [`${first} ${second}`, first].find((known) => Object.hasOwn(facts.help, known));
  if (name === undefined) return mistake(unknown(first, Object.keys(facts.help).filter(isOneWord), ""));
  const seconds = Object.hasOwn(facts.groups, name) ? facts.groups[name] : undefined;
  if (seconds && second !== undefined) return mistake(unknown(second, seconds, `${name} `));
  if (asksHelp) return print(facts.help[name]);
  if (seconds) return mistake(facts.help[name].join("\n"));
  if (name !== "completion") return undefined;
  const shells = Object.keys(facts.completion);
  if (words.length === 2 && args.length === 2 && shells.includes(second)) return print(facts.completion[second]);
  return mistake(`Name a shell: posthorn completion ${shells.join("|")}`);
}

function mistake(text) {
  return { text: `${text}\n`, code: 2 };
}

const isOneWord = (name) => /^\S+$/.test(name);

function unknown(typed, names, group) {
  const near = names.filter((name) => distance(typed, name) <= Math.ceil(name.length / 3));
  const hint =
    near.length > 0 ? `Did you mean: ${near.map((name) => `posthorn ${group}${name}`).join(", ")}?` : undefined;
  const all =
    group === "" ? "See: posthorn --help" : `Available: ${names.map((name) => `posthorn ${group}${name}`).join(", ")}.`;
  return `posthorn has no command ${JSON.stringify(group + typed)}. ${hint ?? all}`;
}

/** Characters to add, remove or replace (Levenshtein distance). */
function distance(a, b) {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++)
      next[j] = Math.min(next[j - 1] + 1, row[j] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1));
    row = next;
  }
  return row[b.length];
}
