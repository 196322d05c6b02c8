/** Makes an account: at once, with a link, or by asking for the mail that brings one. */
import { Alert, Text } from "@mantine/core";
import { useState } from "react";
import type { Session } from "../api/auth.ts";
import { signInAs } from "../api/session.ts";
import { Form, TextField } from "../parts/form.tsx";
import { NewPassword } from "./new-password.tsx";
import { useAuth } from "./use-auth.ts";

type Sent = { sent: true; message: string };

export function SignUpForm(props: { token?: string; email?: string; act?: string }) {
  const { token, email: fixed, act = "Create account" } = props;
  const [email, setEmail] = useState(fixed ?? "");
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  const { send, isPending, fields, error } = useAuth<Session>("sign-up", signInAs);
  const submit = () => send({ email: email.trim(), name: name.trim(), password, ...(token ? { token } : {}) });
  return (
    <Form act={act} isPending={isPending} error={error} onSubmit={submit} isWide>
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
      <TextField
        label="Your name"
        value={name}
        onChange={setName}
        error={fields.name}
        autoComplete="name"
        maxLength={100}
        isNeeded
      />
      <NewPassword value={password} onChange={setPassword} error={fields.password} />
      {fields.token && (
        <Alert color="red" role="alert">
          {fields.token}
        </Alert>
      )}
    </Form>
  );
}

/** Where accounts are made by a link in a mail, the address is all that is asked for. */
export function SignUpByMail() {
  const [email, setEmail] = useState("");
  const [said, setSaid] = useState<string>();
  const { send, isPending, fields, error } = useAuth<Sent>("sign-up", ({ message }) => setSaid(message));
  if (said !== undefined)
    return (
      <Alert color="green" role="alert">
        {said}
      </Alert>
    );
  return (
    <Form
      act="Send me the link"
      isPending={isPending}
      error={error}
      onSubmit={() => send({ email: email.trim() })}
      isWide
    >
      <Text size="sm">We send you a mail with a link; with it you choose a name and a password.</Text>
      <TextField
        label="Email address"
        type="email"
        value={email}
        onChange={setEmail}
        error={fields.email}
        autoComplete="username"
        isNeeded
      />
    </Form>
  );
}
