/** The one shape of forms: fields, what was refused that no field can tell, and the act beside the way back. */
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
import { ProblemAlert } from "./problem-alert.tsx";

export function Form(props: {
  /** The name of the button that does it. */
  act: string;
  isPending: boolean;
  /** What went wrong beyond the fields; see `refusals`. */
  error?: unknown;
  onSubmit(): void;
  onCancel?: () => void;
  /** The button takes the whole width, where the form is all there is. */
  isWide?: boolean;
  children: ReactNode;
}) {
  const { act, isPending, error, onSubmit, onCancel, isWide = false, children } = props;
  const button = (
    <Button type="submit" loading={isPending}>
      {act}
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

/** What to say below which field, and the error itself where it is not about fields. */
export function refusals<E>(error: E): { fields: Record<string, string>; error: E | undefined } {
  const fields = error ? explain(error).fields : {};
  return { fields, error: Object.keys(fields).length > 0 ? undefined : (error ?? undefined) };
}

type Field<Props> = Omit<Props, "onChange" | "required"> & {
  onChange(value: string): void;
  /** The browser asks for it; every field that is not needed says "optional" instead of a star at all others. */
  isNeeded?: boolean;
};

/** `isCode`: an address or a name of machines, which nobody wants corrected. */
export function TextField({ onChange, isNeeded, isCode, ...rest }: Field<TextInputProps> & { isCode?: boolean }) {
  return (
    <TextInput
      onChange={(event) => onChange(event.currentTarget.value)}
      required={isNeeded}
      withAsterisk={false}
      {...(isCode && { autoComplete: "off", autoCapitalize: "none", spellCheck: false })}
      {...rest}
    />
  );
}

/** `what`: as in "Show or hide the password". */
export function SecretField({ onChange, isNeeded, what, ...rest }: Field<PasswordInputProps> & { what: string }) {
  return (
    <PasswordInput
      onChange={(event) => onChange(event.currentTarget.value)}
      required={isNeeded}
      withAsterisk={false}
      visibilityToggleButtonProps={{ "aria-label": `Show or hide ${what}` }}
      {...rest}
    />
  );
}
