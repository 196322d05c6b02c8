/** The names of objects: their line, the day of their upload and their id. */

export type ObjectPlace = { id: string; line: string };

/** All objects, without the mark. */
export const objectsFolder = "objects/";

/** The id is a UUIDv7, so the day needs no column. */
export function objectName({ id, line }: ObjectPlace): string {
  return `${objectsFolder}${line}/${new Date(timeOfId(id)).toISOString().slice(0, 10)}/${id}`;
}

/** Undefined: Posthorn gives no object such a name. */
export function readObjectName(name: string): (ObjectPlace & { atMs: number }) | undefined {
  const match =
    /^objects\/([0-9a-f]{12})\/\d{4}-\d\d-\d\d\/([0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12})$/.exec(
      name,
    );
  const place = match && { line: match[1]!, id: match[2]! };
  return place && objectName(place) === name ? { ...place, atMs: timeOfId(place.id) } : undefined;
}

function timeOfId(id: string): number {
  return Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16);
}

export const dayMs = 86_400_000;

/**
 * Whether the sweep may delete an object that no row refers to. Both the store's clock and the time in the name must say that it is older
 * than a day: a commit follows its upload within minutes, but each clock may be wrong.
 */
export function isOldEnough({ ageMs, atMs, nowMs }: { ageMs: number; atMs: number; nowMs: number }): boolean {
  return ageMs > dayMs && nowMs - atMs > dayMs;
}
