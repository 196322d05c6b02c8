/** Parses a raw message: its header and its attachments. The MIME parser is loaded on first use. */

export interface RawAttachment {
  filename: string;
  contentType: string;
  contentId: string;
  content: Uint8Array<ArrayBuffer>;
}

/** Everything before the first empty line. Folded lines stay folded. */
export function headerOf(raw: Uint8Array): string {
  const text = new TextDecoder().decode(raw);
  const end = /\r?\n\r?\n/.exec(text)?.index ?? text.length;
  return text.slice(0, end);
}

export async function attachmentsOf(raw: Uint8Array): Promise<RawAttachment[]> {
  const { default: PostalMime } = await import("postal-mime");
  const { attachments } = await PostalMime.parse(raw, { attachmentEncoding: "arraybuffer" });
  return attachments.map(({ filename, mimeType, contentId, content }) => ({
    filename: filename ?? "attachment",
    contentType: mimeType,
    contentId: (contentId ?? "").replace(/^<|>$/g, ""),
    content: new Uint8Array(content as ArrayBuffer),
  }));
}

/** Inline images by content id, as data URLs. */
export function inlineImages(attachments: readonly RawAttachment[]): Map<string, string> {
  const images = attachments.filter(
    ({ contentId, contentType }) => contentId !== "" && /^image\/(png|jpeg|gif|webp)$/i.test(contentType),
  );
  return new Map(
    images.map(({ contentId, contentType, content }) => [contentId, `data:${contentType};base64,${toBase64(content)}`]),
  );
}

export function toBase64(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 32_768) text += String.fromCharCode(...bytes.subarray(at, at + 32_768));
  return btoa(text);
}
