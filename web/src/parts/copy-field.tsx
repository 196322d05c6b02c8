/** A value to take away: shown in full, selectable, with a button that copies it and says so. */
import { Button, Group, TextInput } from "@mantine/core";
import { useRef, useState } from "react";

export function CopyField({ label, value }: { label: string; value: string }) {
  const input = useRef<HTMLInputElement>(null);
  const [said, setSaid] = useState("");
  const copy = async () => {
    const isCopied = await write(value, input.current!);
    setSaid(isCopied ? "Copied" : "Press Ctrl+C to copy");
  };
  return (
    <Group align="flex-end" gap="xs" wrap="nowrap">
      <TextInput
        ref={input}
        label={label}
        value={value}
        readOnly
        flex={1}
        styles={{ input: { fontFamily: "var(--mantine-font-family-monospace)" } }}
        onFocus={(event) => event.currentTarget.select()}
      />
      <Button variant="light" onClick={copy} aria-live="polite" miw={92}>
        {said || "Copy"}
      </Button>
    </Group>
  );
}

/** Off https a page has no clipboard: then the text is selected, and the old command does it where it still exists. */
async function write(value: string, input: HTMLInputElement): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(value);
    return true;
  } catch {
    input.focus();
    input.select();
    return document.execCommand("copy");
  }
}
