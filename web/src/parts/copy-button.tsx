/** A small button that copies a value and says so for a moment. */
import { ActionIcon, Tooltip } from "@mantine/core";
import { useEffect, useState } from "react";
import { copyText } from "./clipboard.ts";
import { CheckIcon, CopyIcon } from "./icons.tsx";

const saidForMs = 2_000;

export function CopyButton({ value, name }: { value: string; name: string }) {
  const [said, setSaid] = useState<"copied" | "failed">();
  useEffect(() => {
    if (!said) return;
    const timer = setTimeout(() => setSaid(undefined), saidForMs);
    return () => clearTimeout(timer);
  }, [said]);
  const label = said === "copied" ? "Copied" : said === "failed" ? "Not copied: select the text" : `Copy ${name}`;
  return (
    <Tooltip label={label} opened={said ? true : undefined}>
      <ActionIcon
        variant="subtle"
        color={said === "copied" ? "teal" : "gray"}
        aria-label={label}
        onClick={async () => setSaid((await copyText(value)) ? "copied" : "failed")}
      >
        {said === "copied" ? <CheckIcon /> : <CopyIcon />}
      </ActionIcon>
    </Tooltip>
  );
}

/** A value in fixed-width type with its copy button. */
export function Copyable({ value, name }: { value: string; name: string }) {
  return (
    <span className="copyable">
      <code className="wrap">{value}</code>
      <CopyButton value={value} name={name} />
    </span>
  );
}
