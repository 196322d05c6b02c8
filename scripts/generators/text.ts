/** Text for generated files: comments as paragraphs, and lines of a limited width. */

/** A comment as paragraphs of wrapped lines, for Markdown. */
export function prose(comment: string): string {
  return comment
    .split("\n\n")
    .map((paragraph) => wrap(paragraph))
    .join("\n\n");
}

/** A comment as paragraphs, each on one line. */
export function paragraphs(comment: string): string {
  return comment
    .split("\n\n")
    .map((paragraph) => paragraph.replaceAll("\n", " "))
    .join("\n\n");
}

/** Breaks a text into lines of at most `width` characters, each with the prefix. A longer word gets its own line. */
export function wrap(text: string, width = 120, prefix = ""): string {
  const lines: string[] = [];
  for (const word of text.split(/\s+/)) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > width) lines.push(`${prefix}${word}`);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines.join("\n");
}
