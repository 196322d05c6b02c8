/** The form of all pages: fields, errors that do not belong to a field, and buttons to submit and cancel. */
import {
  Button,
  Group,
  PasswordInput,
  type PasswordInputProps,
  Stack,
  TextInput,
  type TextInputProps,
} from "@mantine/core";
import type { ReactNode } from "react";
import { explain } from "../api/problem.ts";
import { ProblemAlert } from "./states.tsx";

export function Form(props: {
  /** Label of the submit button, such as "Create key". */
  submitLabel: string;
  isPending: boolean;
  /** An error that does not belong to a field; see `formErrors`. */
  error?: unknown;
  onSubmit(): void;
  onCancel?: () => void;
  /** True: the submit button has the full width. For cards that contain only a form. */
  isWide?: boolean;
  children: ReactNode;
}) {
  const { submitLabel, isPending, error, onSubmit, onCancel, isWide = false, children } = props;
  const button = (
    <Button type="submit" loading={isPending}>
      {submitLabel}
    </Button>
  );
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
    >
      <Stack>
        {children}
        {error !== undefined && error !== null && <ProblemAlert error={error} />}
        {isWide ? (
          button
        ) : (
          <Group justify="flex-end">
            {onCancel && (
              <Button variant="default" onClick={onCancel}>
                Cancel
              </Button>
            )}
            {button}
          </Group>
        )}
      </Stack>
    </form>
  );
}

/** Splits an error into messages by field, or returns the error itself when it does not name fields. */
export function formErrors<E>(error: E): { fields: Record<string, string>; error: E | undefined } {
  const fields = error ? explain(error).fields : {};
  return { fields, error: Object.keys(fields).length > 0 ? undefined : (error ?? undefined) };
}

type Field<Props> = Omit<Props, "onChange" | "required"> & {
  onChange(value: string): void;
  /** The browser requires a value. Required fields have no asterisk; the description of an optional field says "Optional". */
  isRequired?: boolean;
};

/** `isCode`: for email addresses, host names and the like, without autocorrection and autocompletion. */
export function TextField({ onChange, isRequired, isCode, ...rest }: Field<TextInputProps> & { isCode?: boolean }) {
  return (
    <TextInput
      onChange={(event) => onChange(event.currentTarget.value)}
      required={isRequired}
      withAsterisk={false}
      {...(isCode && { autoComplete: "off", autoCapitalize: "none", spellCheck: false })}
      {...rest}
    />
  );
}

/** `what` completes the label "Show or hide …", for example "the password". */
export function SecretField({ onChange, isRequired, what, ...rest }: Field<PasswordInputProps> & { what: string }) {
  return (
    <PasswordInput
      onChange={(event) => onChange(event.currentTarget.value)}
      required={isRequired}
      withAsterisk={false}
      visibilityToggleButtonProps={{ "aria-label": `Show or hide ${what}` }}
      {...rest}
    />
  );
}
