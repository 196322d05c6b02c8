/** The field for a new password, with the length limits from the server. */
import { useAuthState } from "../api/auth.ts";
import { SecretField } from "../parts/form.tsx";

export function NewPassword(props: { label?: string; value: string; onChange(value: string): void; error?: string }) {
  const { minLength, maxLength } = useAuthState().data?.password ?? { minLength: 10, maxLength: 128 };
  return (
    <SecretField
      label={props.label ?? "Password"}
      description={`At least ${minLength} characters. A few unrelated words are easy to remember and hard to guess.`}
      value={props.value}
      onChange={props.onChange}
      error={props.error}
      autoComplete="new-password"
      minLength={minLength}
      maxLength={maxLength}
      what="the password"
      isRequired
    />
  );
}
