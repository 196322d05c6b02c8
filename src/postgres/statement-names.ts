/** Names of prepared statements, by their text. sql.ts asks for one before it runs a statement; pool.ts replaces connections as often as names end. */

/** A name that was not used for so long is given up. The pool replaces its connections as often, and their prepared statements with them. */
export const nameKeptMs = 86_400_000;

const mostNames = 500;
/** A text that was used so often without a name gets that of the text that was not used for the longest time. */
const oftenUsed = 100;
/** So often while names are kept, because the server keeps the prepared statements of names that were given up. */
const mostTaken = 100;

/**
 * Names for prepared statements. The program has few distinct texts, and a few more each week, which name its partitions. Beyond 500 they stay
 * unnamed, because a text that is generated for each call would fill the server's memory with prepared statements. Callers of lists choose
 * among thousands of texts with their filters, so frequent texts, such as those of a new week, can take a name from rare ones.
 */
export function createNames(nowMs: () => number = () => performance.now()) {
  /** In the order of their last use. */
  const names = new Map<string, { name: string; usedMs: number }>();
  let count = 0;
  /** How often texts were used without a name, in the order of their last use. */
  const unnamed = new Map<string, number>();
  let taken = 0;
  let takenSinceMs = nowMs();
  const use = (text: string, name: string) => {
    names.delete(text);
    names.set(text, { name, usedMs: nowMs() });
    return name;
  };
  const makeRoom = () => {
    for (const [text, { usedMs }] of names) {
      if (names.size < mostNames || nowMs() - usedMs < nameKeptMs) break;
      names.delete(text);
    }
    return names.size < mostNames;
  };
  const takeRarest = (text: string) => {
    const uses = (unnamed.get(text) ?? 0) + 1;
    unnamed.delete(text);
    if (uses < oftenUsed) {
      if (unnamed.size >= mostNames) unnamed.delete(firstOf(unnamed));
      unnamed.set(text, uses);
      return false;
    }
    if (nowMs() - takenSinceMs >= nameKeptMs) [taken, takenSinceMs] = [0, nowMs()];
    if (taken >= mostTaken) return false;
    taken++;
    return names.delete(firstOf(names));
  };
  return {
    of(text: string): string | undefined {
      const known = names.get(text);
      if (known) return use(text, known.name);
      return makeRoom() || takeRarest(text) ? use(text, `s${++count}`) : undefined;
    },
    /** Gives the text a new name; false when it has none. */
    renew: (text: string): boolean => names.has(text) && use(text, `s${++count}`) !== undefined,
  };
}

function firstOf(texts: ReadonlyMap<string, unknown>): string {
  return texts.keys().next().value!;
}
