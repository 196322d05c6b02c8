/** Returns the name of an enum value in lower case. A newer server may return values that this page does not know. */

export function enumName(values: Record<string, number>, value: number): string {
  const name = Object.entries(values).find(([, known]) => known === value)?.[0];
  return name?.toLowerCase().replaceAll("_", " ") ?? `value ${value}`;
}
