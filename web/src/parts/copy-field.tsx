/** A value to take away: shown in full, selectable, with a button that copies it and says so. */
import { Button, Stack, Textarea } from "@mantine/core";
import { useRef, useState } from "react";

export function CopyField({ label, value }: { label: string; value: string }) {
  const field = useRef<HTMLTextAreaElement>(null);
  const [said, setSaid] = useState("");
  const copy = async () => {
    const isCopied = await write(value, field.current!);
    setSaid(isCopied ? "Copied" : "Press Ctrl+C to copy the selected text");
  };
  return (
    <Stack gap="xs">
      <Textarea
        ref={field}
        label={label}
        value={value}
        readOnly
        rows={2}
        spellCheck={false}
        styles={{ input: { fontFamily: "var(--mantine-font-family-monospace)", overflowWrap: "anywhere" } }}
        onFocus={(event) => event.currentTarget.select()}
      />
      <Button variant="light" onClick={copy} aria-live="polite">
        {said || "Copy"}
      </Button>
    </Stack>
  );
}

/** Off https a page has no clipboard: then the text is selected, and the old command does it where it still exists. */
async function write(value: string, field: HTMLTextAreaElement): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(value);
    return true;
  } catch {
    field.focus();
    field.select();
    return document.execCommand("copy");
  }
}
