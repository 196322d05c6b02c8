/** The form to sign in with email address and password, and the hook that all forms for accounts use. */
import { Stack } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { auth, type Session } from "../api/auth.ts";
import { signInAs } from "../api/session.ts";
import { Form, formErrors, SecretField, TextField } from "../parts/form.tsx";
import { AnchorLink } from "../parts/links.tsx";
import { ProviderButtons, useSignInOptions } from "./providers.tsx";

/** `invitation` is the token of the invitation that the person is about to accept. */
export function SignInForm({ email, invitation }: { email?: string; invitation?: string }) {
  const { byPassword } = useSignInOptions();
  return (
    <Stack>
      {byPassword && <PasswordForm email={email} />}
      <ProviderButtons invitation={invitation} />
    </Stack>
  );
}

function PasswordForm({ email: fixed }: { email?: string }) {
  const [email, setEmail] = useState(fixed ?? "");
  const [password, setPassword] = useState("");
  const { send, isPending, fields, error } = useAuth<Session>("sign-in", signInAs);
  const submit = () => send({ email: email.trim(), password });
  return (
    <Stack>
      <Form submitLabel="Sign in" isPending={isPending} error={error} onSubmit={submit} isWide>
        <TextField
          label="Email address"
          type="email"
          value={email}
          onChange={setEmail}
          error={fields.email}
          readOnly={fixed !== undefined}
          autoComplete="username"
          isRequired
        />
        <SecretField
          label="Password"
          value={password}
          onChange={setPassword}
          error={fields.password}
          autoComplete="current-password"
          what="the password"
          isRequired
        />
      </Form>
      <AnchorLink to="/forgot-password" size="sm" w="fit-content">
        Forgot your password?
      </AnchorLink>
    </Stack>
  );
}

/** Calls an /auth endpoint and returns its errors by field. `gcTime: 0` keeps passwords out of the mutation cache. */
export function useAuth<Result>(path: string, onDone: (result: Result) => unknown) {
  const call = useMutation({
    gcTime: 0,
    mutationFn: (body: Record<string, unknown>) => auth<Result>(path, body),
    onSuccess: onDone,
  });
  return { send: call.mutate, isPending: call.isPending, ...formErrors(call.error) };
}
