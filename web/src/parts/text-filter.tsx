/** A text field that filters a list. It applies the filter when typing pauses. */
import { TextInput, type TextInputProps } from "@mantine/core";
import { useEffect, useRef, useState } from "react";

const pauseMs = 300;

export function TextFilter({
  value,
  onChange,
  ...rest
}: Omit<TextInputProps, "value" | "onChange"> & { value: string; onChange(value: string): void }) {
  const [typed, setTyped] = useState(value);
  const applied = useRef(value);
  // The value can change from outside, for example with "Clear filters".
  useEffect(() => {
    if (value !== applied.current) setTyped(value);
    applied.current = value;
  }, [value]);
  useEffect(() => {
    if (typed.trim() === applied.current) return;
    const page = location.pathname;
    const timer = setTimeout(() => {
      // The person has followed a link, and the next page is still loading: the filter would lead back to this one.
      if (location.pathname !== page) return;
      applied.current = typed.trim();
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
