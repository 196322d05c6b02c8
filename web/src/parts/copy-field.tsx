/** A read-only field that shows a value in full, with a button that copies it. */
import { Button, Stack, Textarea } from "@mantine/core";
import { useRef, useState } from "react";
import { copyText } from "./copy-button.tsx";

export function CopyField({ label, value }: { label: string; value: string }) {
  const field = useRef<HTMLTextAreaElement>(null);
  const [result, setResult] = useState("");
  const copy = async () => {
    const isCopied = await copyText(value);
    if (!isCopied) field.current?.select();
    setResult(isCopied ? "Copied" : "Press Ctrl+C to copy the selected text");
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
        {result || "Copy to clipboard"}
      </Button>
    </Stack>
  );
}
