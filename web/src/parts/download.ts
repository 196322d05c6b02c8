/** Downloads bytes or text as a file. */

export function download(name: string, content: BlobPart, type: string): void {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // Not immediately: the browser may not have started to read the URL yet.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
