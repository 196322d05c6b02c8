/** The help menu of every page: the documentation of the page, all of it, and the keyboard shortcuts. */
import { ActionIcon } from "@mantine/core";
import { helpFor } from "../docs/help.ts";
import { HelpIcon } from "../parts/icons.tsx";
import { Menu } from "../parts/menu.tsx";

export function HelpMenu({ path, onShortcuts }: { path: string; onShortcuts?: () => void }) {
  const help = helpFor(path);
  return (
    <Menu position="bottom-end" width={240}>
      <Menu.Target>
        <ActionIcon size={34} aria-label="Help">
          <HelpIcon />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>About this page</Menu.Label>
        <Menu.Item component="a" href={help.address}>
          {help.label}
        </Menu.Item>
        <Menu.Divider />
        <Menu.Item component="a" href="/docs">
          Documentation
        </Menu.Item>
        <Menu.Item component="a" href="/docs/reference">
          API reference
        </Menu.Item>
        {onShortcuts && (
          <Menu.Item onClick={onShortcuts} rightSection={<kbd>?</kbd>}>
            Keyboard shortcuts
          </Menu.Item>
        )}
      </Menu.Dropdown>
    </Menu>
  );
}
