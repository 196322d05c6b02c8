/** The help menu of every page. */
import { ActionIcon, Menu } from "@mantine/core";
import { HelpIcon } from "../parts/icons.tsx";

export function HelpMenu({ onShortcuts }: { onShortcuts(): void }) {
  return (
    <Menu position="bottom-end" width={220}>
      <Menu.Target>
        <ActionIcon size={34} aria-label="Help">
          <HelpIcon />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item onClick={onShortcuts} rightSection={<kbd>?</kbd>}>
          Keyboard shortcuts
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
