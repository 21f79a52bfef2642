import { ArrowLeft, X } from "lucide-react";
import { Dialog } from "radix-ui";
import type { ReactNode } from "react";
import { useTexts } from "@/text";
import { Button, IconButton } from "./Button";
import { usePhone } from "./hooks";
import { useTitle } from "./Page";
import { kitTexts } from "./texts";

export interface SidePanelProps {
  title: ReactNode;
  onClose: () => void;
  children: ReactNode;
  /** Under the title: ids, badges. */
  lead?: ReactNode;
  action?: ReactNode;
  footer?: ReactNode;
  /** The tab's title where `title` is not plain text. */
  name?: string;
}
/** A detail beside its list, with an address of its own. On a phone it covers the page and has a way back. */
export function SidePanel({ title, onClose, children, lead, action, footer, name }: SidePanelProps) {
  const t = useTexts(kitTexts);
  const phone = usePhone();
  useTitle(name ?? (typeof title === "string" ? title : undefined));
  return (
    <Dialog.Root open modal={phone} onOpenChange={(next) => !next && onClose()}>
      <Dialog.Portal>
        <Dialog.Content
          aria-describedby={undefined}
          onInteractOutside={(event) => event.preventDefault()}
          // The panel itself takes the focus, not its first button: its title is read, and no ring or hover stands on a copy button.
          onOpenAutoFocus={(event) => {
            event.preventDefault();
            if (event.currentTarget instanceof HTMLElement) event.currentTarget.focus({ preventScroll: true });
          }}
          className="anim-slide fixed inset-0 z-30 flex flex-col border-line bg-surface outline-none sm:top-14 sm:left-auto sm:w-[min(640px,calc(100vw-5rem))] sm:border-l sm:shadow-raised"
        >
          {phone && (
            <div className="flex h-12 shrink-0 items-center border-b border-line px-2">
              <Button variant="link" className="h-10 px-2" icon={<ArrowLeft aria-hidden />} onClick={onClose}>
                {t.back}
              </Button>
            </div>
          )}
          <header className="flex shrink-0 items-start justify-between gap-3 border-b border-line px-4 py-3 sm:px-6 sm:py-4">
            <div className="min-w-0 flex-1">
              <Dialog.Title className="text-base leading-6 font-semibold [overflow-wrap:anywhere] text-ink">
                {title}
              </Dialog.Title>
              {lead !== undefined && (
                <div className="mt-1 flex flex-wrap items-center gap-2 text-xs text-ink-3">{lead}</div>
              )}
            </div>
            <div className="flex shrink-0 items-center gap-1">
              {action}
              {!phone && <IconButton label={t.close} icon={<X aria-hidden />} onClick={onClose} />}
            </div>
          </header>
          <div className="min-h-0 flex-1 overflow-y-auto px-4 py-4 sm:px-6 sm:py-5">{children}</div>
          {footer !== undefined && footer !== false && (
            <footer className="flex shrink-0 flex-wrap justify-end gap-2 border-t border-line px-4 py-3 sm:px-6">
              {footer}
            </footer>
          )}
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
