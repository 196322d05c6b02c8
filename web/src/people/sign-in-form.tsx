/** Signs a person in with their address and password. */
import { Alert, Button, PasswordInput, Stack, TextInput } from "@mantine/core";
import { type FormEvent, useState } from "react";
import type { Session } from "../api/auth.ts";
import { signInAs } from "../api/session.ts";
import { AnchorLink } from "../parts/links.tsx";
import { useAuth } from "./use-auth.ts";

export function SignInForm({ email: fixed }: { email?: string }) {
  const [email, setEmail] = useState(fixed ?? "");
  const [password, setPassword] = useState("");
  const { send, isPending, fields, error } = useAuth<Session>("sign-in", signInAs);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    send({ email: email.trim(), password });
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <TextInput
          label="Email address"
          type="email"
          value={email}
          onChange={(event) => setEmail(event.currentTarget.value)}
          error={fields.email}
          readOnly={fixed !== undefined}
          autoComplete="username"
          required
          withAsterisk={false}
        />
        <PasswordInput
          label="Password"
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
          error={fields.password}
          autoComplete="current-password"
          visibilityToggleButtonProps={{ "aria-label": "Show or hide the password" }}
          required
          withAsterisk={false}
        />
        {error && (
          <Alert color="red" role="alert">
            {error.message}
          </Alert>
        )}
        <Button type="submit" loading={isPending}>
          Sign in
        </Button>
        <AnchorLink to="/forgot-password" size="sm" w="fit-content">
          Forgot your password?
        </AnchorLink>
      </Stack>
    </form>
  );
}
