/** The name of a value of the contract's enums, in small letters; a newer server may know values that this page does not. */

export function enumName(values: Record<string, number>, value: number): string {
  const name = Object.entries(values).find(([, known]) => known === value)?.[0];
  return name?.toLowerCase().replaceAll("_", " ") ?? `value ${value}`;
}
