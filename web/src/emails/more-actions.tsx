/** The menu with the less frequent actions on an email. */
import { ActionIcon } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import type { Email } from "../../../src/gen/v1/email_pb.ts";
import { copyText } from "../parts/copy-button.tsx";
import { Menu } from "../parts/menu.tsx";

export function MoreActions({ email }: { email: Email }) {
  const navigate = useNavigate();
  // The menu stays open after copying, so that its entry can show the result.
  const [result, setResult] = useState({ name: "", text: "" });
  const copyItem = (name: string, value: string) => (
    <Menu.Item
      closeMenuOnClick={false}
      onClick={async () =>
        setResult({ name, text: (await copyText(value)) ? `Copied ${name}` : `Copying ${name} failed` })
      }
    >
      {result.name === name ? result.text : `Copy ${name}`}
    </Menu.Item>
  );
  return (
    <>
      <Menu position="bottom-end" onOpen={() => setResult({ name: "", text: "" })}>
        <Menu.Target>
          <ActionIcon variant="default" size={36} aria-label="More actions">
            <span aria-hidden="true">···</span>
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          {copyItem("link", location.href)}
          {copyItem("email id", email.id)}
          {copyItem("Message-ID", email.messageId)}
          <Menu.Item onClick={() => void navigate({ to: "/events", search: { email: email.id, from: "0" } })}>
            Show as event log
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <span className="hidden" role="status">
        {result.text}
      </span>
    </>
  );
}
