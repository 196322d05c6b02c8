/** The field for a code of the authenticator app, or for a recovery code. */
import { useEffect, useRef } from "react";
import { TextField } from "../parts/form.tsx";

export function CodeField(props: {
  isRecovery?: boolean;
  label?: string;
  description?: string;
  value: string;
  onChange(value: string): void;
  error?: string;
  /** Moves the focus to the field when it appears. Dialogs do that themselves. */
  takesFocus?: boolean;
}) {
  const { isRecovery = false, takesFocus = false } = props;
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (takesFocus) field.current?.focus();
  }, [takesFocus]);
  return (
    <TextField
      ref={field}
      label={props.label ?? (isRecovery ? "Recovery code" : "Code")}
      description={
        props.description ??
        (isRecovery ? "Each recovery code works once." : "The six digits in your authenticator app.")
      }
      value={props.value}
      onChange={props.onChange}
      error={props.error}
      placeholder={isRecovery ? "xxxx-xxxx-xxxx-xxxx" : undefined}
      autoComplete={isRecovery ? "off" : "one-time-code"}
      inputMode={isRecovery ? "text" : "numeric"}
      maxLength={40}
      autoCapitalize="none"
      spellCheck={false}
      data-autofocus
      isRequired
    />
  );
}
