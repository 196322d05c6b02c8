/** Hands bytes or text to the browser as a file. */

export function download(name: string, content: BlobPart, type: string): void {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // Not at once: the browser may still be starting to read.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
