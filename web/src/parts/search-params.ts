/** Reads the filters of a list from the page's URL. The URL is untrusted: only short texts with known names are used. */

export function readTextParams<Name extends string>(
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
