/** A button that copies a value to the clipboard and shows the result for some seconds. CopyField uses copyText too. */
import { ActionIcon } from "@mantine/core";
import { useEffect, useRef, useState } from "react";
import { CheckIcon, CopyIcon } from "./icons.tsx";
import { placeBelow } from "./menu-place.ts";

const results = {
  copied: { text: "Copied", shownMs: 2_000 },
  failed: { text: "Copy failed: select the text and copy it", shownMs: 8_000 },
};

export function CopyButton({ value, name }: { value: string; name: string }) {
  const [result, setResult] = useState<keyof typeof results>();
  const button = useRef<HTMLButtonElement>(null);
  const tip = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    if (!result) return;
    const timer = setTimeout(() => setResult(undefined), results[result].shownMs);
    const shown = tip.current;
    if (shown && button.current) {
      const view = { width: innerWidth, height: innerHeight };
      Object.assign(shown.style, placeBelow(button.current.getBoundingClientRect(), true, view));
      shown.showPopover();
    }
    return () => {
      clearTimeout(timer);
      shown?.hidePopover();
    };
  }, [result]);
  const text = result && results[result].text;
  const label = text ?? `Copy ${name}`;
  return (
    <>
      <ActionIcon
        ref={button}
        variant="subtle"
        color={result === "copied" ? "teal" : "gray"}
        aria-label={label}
        title={text ? undefined : label}
        onClick={async () => setResult((await copyText(value)) ? "copied" : "failed")}
      >
        {result === "copied" ? <CheckIcon /> : <CopyIcon />}
      </ActionIcon>
      <span className="hidden" role="status">
        {text}
      </span>
      {/* A popover of the browser: no table cuts it off. */}
      <span ref={tip} className="tip" popover="manual" aria-hidden="true">
        {text}
      </span>
    </>
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
