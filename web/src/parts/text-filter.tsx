/** A field that narrows a list: it waits until typing pauses before it asks. */
import { TextInput, type TextInputProps } from "@mantine/core";
import { useEffect, useRef, useState } from "react";

const pauseMs = 300;

export function TextFilter({
  value,
  onChange,
  ...rest
}: Omit<TextInputProps, "value" | "onChange"> & { value: string; onChange(value: string): void }) {
  const [typed, setTyped] = useState(value);
  const settled = useRef(value);
  // Changed from elsewhere, such as by "Clear": the field follows.
  useEffect(() => {
    if (value !== settled.current) setTyped(value);
    settled.current = value;
  }, [value]);
  useEffect(() => {
    if (typed.trim() === settled.current) return;
    const timer = setTimeout(() => {
      settled.current = typed.trim();
      onChange(typed.trim());
    }, pauseMs);
    return () => clearTimeout(timer);
  }, [typed, onChange]);
  return (
    <TextInput
      {...rest}
      value={typed}
      onChange={(event) => setTyped(event.currentTarget.value)}
      autoComplete="off"
      spellCheck={false}
    />
  );
}
