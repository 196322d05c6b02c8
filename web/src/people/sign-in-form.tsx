/** Signs a person in with their address and password. */
import { Stack } from "@mantine/core";
import { useState } from "react";
import type { Session } from "../api/auth.ts";
import { signInAs } from "../api/session.ts";
import { Form, SecretField, TextField } from "../parts/form.tsx";
import { AnchorLink } from "../parts/links.tsx";
import { useAuth } from "./use-auth.ts";

export function SignInForm({ email: fixed }: { email?: string }) {
  const [email, setEmail] = useState(fixed ?? "");
  const [password, setPassword] = useState("");
  const { send, isPending, fields, error } = useAuth<Session>("sign-in", signInAs);
  const submit = () => send({ email: email.trim(), password });
  return (
    <Stack>
      <Form act="Sign in" isPending={isPending} error={error} onSubmit={submit} isWide>
        <TextField
          label="Email address"
          type="email"
          value={email}
          onChange={setEmail}
          error={fields.email}
          readOnly={fixed !== undefined}
          autoComplete="username"
          isNeeded
        />
        <SecretField
          label="Password"
          value={password}
          onChange={setPassword}
          error={fields.password}
          autoComplete="current-password"
          what="the password"
          isNeeded
        />
      </Form>
      <AnchorLink to="/forgot-password" size="sm" w="fit-content">
        Forgot your password?
      </AnchorLink>
    </Stack>
  );
}
