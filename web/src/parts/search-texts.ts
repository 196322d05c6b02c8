/** Reads what a list is narrowed to from the page's address. Anything may stand there: only short texts under known names are taken. */

export function readTexts<Name extends string>(
  raw: Record<string, unknown>,
  names: readonly Name[],
): Partial<Record<Name, string>> {
  const found = names.flatMap((name): [Name, string][] => {
    const value = raw[name];
    const text = ["string", "number", "boolean"].includes(typeof value) ? String(value) : "";
    return text === "" ? [] : [[name, text.slice(0, 1_024)]];
  });
  return Object.fromEntries(found) as Partial<Record<Name, string>>;
}
