/** Reads from the body of a delivery which addresses its event is about. */

/** Empty if the body is not known, or the event is about no address. */
export function addressesOf(payload: string): string[] {
  // The sender chooses the metadata, which may have a key "from" too.
  const { metadata: _, ...parts } = parse(payload);
  for (const value of Object.values(parts)) {
    if (typeof value !== "object" || value === null) continue;
    const { recipients, from } = value as { recipients?: unknown; from?: unknown };
    if (Array.isArray(recipients)) return recipients.filter((one) => typeof one === "string");
    if (typeof from === "string" && from !== "") return [from];
  }
  return [];
}

export function prettyJson(text: string): string {
  const event = parse(text);
  return Object.keys(event).length === 0 ? text : JSON.stringify(event, null, 2);
}

function parse(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
