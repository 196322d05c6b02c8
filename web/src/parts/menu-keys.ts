/** The keys of an open menu: arrows, Home and End, and the first letter of an item. */

/** The item that a key leads to; undefined for a key without a meaning here. `current` is -1 if no item has the focus. */
export function nextItem(key: string, labels: readonly string[], current: number): number | undefined {
  const count = labels.length;
  if (count === 0) return undefined;
  switch (key) {
    case "ArrowDown":
      return (current + 1) % count;
    case "ArrowUp":
      return (Math.max(current, 0) - 1 + count) % count;
    case "Home":
      return 0;
    case "End":
      return count - 1;
  }
  // Space activates the item.
  if ([...key].length !== 1 || key === " ") return undefined;
  const after = labels.map((_, n) => (current + 1 + n) % count);
  return after.find((n) => labels[n]!.trim().toLowerCase().startsWith(key.toLowerCase()));
}
