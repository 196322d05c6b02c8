/** The field for a new password, with the bounds that the server sets. */
import { PasswordInput } from "@mantine/core";
import { useAuthState } from "../api/auth.ts";

export function NewPassword(props: { label?: string; value: string; onChange(value: string): void; error?: string }) {
  const { minLength, maxLength } = useAuthState().data?.password ?? { minLength: 10, maxLength: 128 };
  return (
    <PasswordInput
      label={props.label ?? "Password"}
      description={`At least ${minLength} characters. A few unrelated words are easy to keep and hard to guess.`}
      value={props.value}
      onChange={(event) => props.onChange(event.currentTarget.value)}
      error={props.error}
      autoComplete="new-password"
      minLength={minLength}
      maxLength={maxLength}
      visibilityToggleButtonProps={{ "aria-label": "Show or hide the password" }}
      required
      withAsterisk={false}
    />
  );
}
