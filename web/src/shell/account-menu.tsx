/** The menu of the signed-in person or key: account, color scheme, sign-out. */
import { Text, UnstyledButton } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { type Caller, endSession, signOut } from "../api/session.ts";
import { KeyIcon } from "../parts/icons.tsx";
import { Menu } from "../parts/menu.tsx";
import { ColorSchemeItems } from "./color-scheme-switch.tsx";

export function AccountMenu({ caller }: { caller: Caller }) {
  const isKey = caller.kind === "key";
  return (
    <Menu position="bottom-end" width={260}>
      <Menu.Target>
        <UnstyledButton
          className="avatar"
          aria-label={isKey ? "Session of an API key" : `Account: ${caller.person.email}`}
          data-initials={isKey ? undefined : initials(caller.person.name || caller.person.email)}
        >
          {isKey && <KeyIcon />}
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        <Text size="sm" c="dimmed" px="sm" py={6} className="wrap">
          {isKey ? "Signed in with an API key" : `${caller.person.name} · ${caller.person.email}`}
        </Text>
        {!isKey && (
          <Menu.Item component={Link} to="/account">
            Your account
          </Menu.Item>
        )}
        <Menu.Divider />
        <ColorSchemeItems />
        <Menu.Divider />
        <Menu.Item onClick={isKey ? () => endSession() : signOut}>Sign out</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

/** The first letters of the first and the last word. */
function initials(name: string): string {
  const words = name.trim().split(/\s+/);
  const letters = [words[0], ...(words.length > 1 ? [words.at(-1)] : [])].map((word) => [...(word ?? "")][0] ?? "");
  return letters.join("").toUpperCase();
}
