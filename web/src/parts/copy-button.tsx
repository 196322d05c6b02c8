/** A button that copies a value to the clipboard and shows the result for two seconds. CopyField uses copyText too. */
import { ActionIcon, Tooltip } from "@mantine/core";
import { useEffect, useState } from "react";
import { CheckIcon, CopyIcon } from "./icons.tsx";

const resultShownMs = 2_000;

export function CopyButton({ value, name }: { value: string; name: string }) {
  const [result, setResult] = useState<"copied" | "failed">();
  useEffect(() => {
    if (!result) return;
    const timer = setTimeout(() => setResult(undefined), resultShownMs);
    return () => clearTimeout(timer);
  }, [result]);
  const label =
    result === "copied" ? "Copied" : result === "failed" ? "Copy failed: select the text and copy it" : `Copy ${name}`;
  return (
    <Tooltip label={label} opened={result ? true : undefined}>
      <ActionIcon
        variant="subtle"
        color={result === "copied" ? "teal" : "gray"}
        aria-label={label}
        onClick={async () => setResult((await copyText(value)) ? "copied" : "failed")}
      >
        {result === "copied" ? <CheckIcon /> : <CopyIcon />}
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

/** Copies text to the clipboard. The clipboard API exists only on secure origins (https, localhost); elsewhere a selection is copied. */
export async function copyText(value: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(value);
    return true;
  } catch {
    return copyBySelection(value);
  }
}

/** Uses the deprecated copy command on a temporary field. */
function copyBySelection(value: string): boolean {
  const before = document.activeElement;
  const field = document.createElement("textarea");
  field.value = value;
  field.readOnly = true;
  field.style.position = "fixed";
  field.style.opacity = "0";
  // An open dialog traps the focus, so the field must be inside it.
  (before?.closest("[role=dialog]") ?? document.body).append(field);
  field.select();
  const isCopied = document.execCommand("copy");
  field.remove();
  if (before instanceof HTMLElement) before.focus();
  return isCopied;
}
