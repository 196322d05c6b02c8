/** Names of prepared statements, by their text. sql.ts asks for one before it runs a statement; pool.ts replaces connections as often as names end. */

/** A name that was not used for so long is given up. The pool replaces its connections as often, and their prepared statements with them. */
export const nameKeptMs = 86_400_000;

/**
 * Names for prepared statements. The program has few distinct texts, and a few more each week, which name its partitions. Beyond 500 they stay
 * unnamed, because a text that is generated for each call would fill the server's memory with prepared statements.
 */
export function createNames(nowMs: () => number = () => performance.now()) {
  /** In the order of their last use. */
  const names = new Map<string, { name: string; usedMs: number }>();
  let count = 0;
  const use = (text: string, name: string) => {
    names.delete(text);
    names.set(text, { name, usedMs: nowMs() });
    return name;
  };
  const makeRoom = () => {
    for (const [text, { usedMs }] of names) {
      if (names.size < 500 || nowMs() - usedMs < nameKeptMs) break;
      names.delete(text);
    }
    return names.size < 500;
  };
  return {
    of(text: string): string | undefined {
      const known = names.get(text);
      if (known) return use(text, known.name);
      return makeRoom() ? use(text, `s${++count}`) : undefined;
    },
    /** Gives the text a new name; false when it has none. */
    renew: (text: string): boolean => names.has(text) && use(text, `s${++count}`) !== undefined,
  };
}
