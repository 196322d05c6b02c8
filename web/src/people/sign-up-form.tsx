/** The forms that create an account: with a name and password, or by requesting a sign-up link by email. */
import { Alert, Text } from "@mantine/core";
import { useState } from "react";
import type { Session } from "../api/auth.ts";
import { signInAs } from "../api/session.ts";
import { Form, TextField } from "../parts/form.tsx";
import { NewPassword } from "./new-password.tsx";
import { useAuth } from "./sign-in-form.tsx";

type Sent = { sent: true; message: string };

export function SignUpForm(props: { token?: string; email?: string; submitLabel?: string }) {
  const { token, email: fixed, submitLabel = "Create account" } = props;
  const [email, setEmail] = useState(fixed ?? "");
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  const { send, isPending, fields, error } = useAuth<Session>("sign-up", signInAs);
  const submit = () => send({ email: email.trim(), name: name.trim(), password, ...(token ? { token } : {}) });
  return (
    <Form submitLabel={submitLabel} isPending={isPending} error={error} onSubmit={submit} isWide>
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
      <TextField
        label="Your name"
        value={name}
        onChange={setName}
        error={fields.name}
        autoComplete="name"
        maxLength={100}
        isRequired
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

/** Requests a sign-up link, on servers where people confirm their address before they create an account. */
export function SignUpByMail() {
  const [email, setEmail] = useState("");
  const [doneMessage, setDoneMessage] = useState<string>();
  const { send, isPending, fields, error } = useAuth<Sent>("sign-up", ({ message }) => setDoneMessage(message));
  if (doneMessage !== undefined)
    return (
      <Alert color="green" title={email.trim()} className="wrap" role="alert">
        {doneMessage}
      </Alert>
    );
  return (
    <Form
      submitLabel="Send sign-up link"
      isPending={isPending}
      error={error}
      onSubmit={() => send({ email: email.trim() })}
      isWide
    >
      <Text c="dimmed">You will get an email with a link to finish signing up.</Text>
      <TextField
        label="Email address"
        type="email"
        value={email}
        onChange={setEmail}
        error={fields.email}
        autoComplete="username"
        isRequired
      />
    </Form>
  );
}
