import { clsx } from "clsx";
import { X } from "lucide-react";
import { AlertDialog, Dialog as RadixDialog } from "radix-ui";
import { type ReactNode, useState } from "react";
import { useTexts } from "@/text";
import { Button, IconButton } from "./Button";
import { Problem } from "./states";
import { kitTexts } from "./texts";

const box =
  "anim-rise fixed z-50 flex flex-col border-line bg-surface shadow-raised outline-none " +
  "inset-x-0 bottom-0 max-h-[92dvh] rounded-t-xl border-t " +
  "sm:inset-auto sm:top-[12vh] sm:left-1/2 sm:max-h-[80vh] sm:w-[calc(100vw-2rem)] sm:-translate-x-1/2 sm:rounded-xl sm:border";

export interface DialogProps {
  open: boolean;
  onClose: () => void;
  title: ReactNode;
  lead?: ReactNode;
  children?: ReactNode;
  /** Buttons, the main one last. */
  footer?: ReactNode;
  wide?: boolean;
  /** Stays until a button is pressed: for a secret that is shown once. */
  modal?: boolean;
}
export function Dialog({ open, onClose, title, lead, children, footer, wide = false, modal = false }: DialogProps) {
  const t = useTexts(kitTexts);
  const keep = (event: Event) => {
    if (modal) event.preventDefault();
  };
  return (
    <RadixDialog.Root open={open} onOpenChange={(next) => !next && onClose()}>
      <RadixDialog.Portal>
        <RadixDialog.Overlay className="anim-fade fixed inset-0 z-50 bg-overlay" />
        <RadixDialog.Content
          className={clsx(box, wide ? "sm:max-w-2xl" : "sm:max-w-md")}
          onInteractOutside={keep}
          onEscapeKeyDown={keep}
          {...(lead === undefined ? { "aria-describedby": undefined } : {})}
        >
          <div className="flex items-start justify-between gap-4 px-5 pt-5">
            <div className="min-w-0">
              <RadixDialog.Title className="text-base font-semibold text-ink">{title}</RadixDialog.Title>
              {lead !== undefined && (
                <RadixDialog.Description className="mt-1 text-ink-2">{lead}</RadixDialog.Description>
              )}
            </div>
            {!modal && (
              <IconButton label={t.close} icon={<X aria-hidden />} onClick={onClose} className="-mt-1 -mr-2" />
            )}
          </div>
          <div className="min-h-0 flex-1 overflow-y-auto px-5 py-4">{children}</div>
          {footer !== undefined && (
            <div className="flex flex-wrap justify-end gap-2 border-t border-line px-5 py-3">{footer}</div>
          )}
        </RadixDialog.Content>
      </RadixDialog.Portal>
    </RadixDialog.Root>
  );
}

export interface ConfirmProps {
  open: boolean;
  onClose: () => void;
  title: ReactNode;
  /** What follows, in the button itself: "Revoke key, 3 callers this hour". */
  consequence: string;
  children?: ReactNode;
  onConfirm: () => Promise<unknown> | unknown;
  tone?: "danger" | "primary";
}
/** Asks before something that cannot be undone. Stays open with the problem when it fails. */
export function Confirm({ open, onClose, title, consequence, children, onConfirm, tone = "danger" }: ConfirmProps) {
  const t = useTexts(kitTexts);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const act = async () => {
    setBusy(true);
    setError(null);
    try {
      await onConfirm();
      onClose();
    } catch (problem) {
      setError(problem);
    } finally {
      setBusy(false);
    }
  };
  return (
    <AlertDialog.Root
      open={open}
      onOpenChange={(next) => {
        if (!next && !busy) {
          setError(null);
          onClose();
        }
      }}
    >
      <AlertDialog.Portal>
        <AlertDialog.Overlay className="anim-fade fixed inset-0 z-50 bg-overlay" />
        <AlertDialog.Content className={clsx(box, "sm:max-w-md")}>
          <div className="px-5 pt-5 pb-4">
            <AlertDialog.Title className="text-base font-semibold text-ink">{title}</AlertDialog.Title>
            <AlertDialog.Description asChild>
              <div className="mt-2 text-ink-2">{children}</div>
            </AlertDialog.Description>
            {error !== null && <Problem error={error} compact className="mt-3" />}
          </div>
          <div className="flex flex-wrap justify-end gap-2 border-t border-line px-5 py-3">
            <AlertDialog.Cancel asChild>
              <Button disabled={busy}>{t.cancel}</Button>
            </AlertDialog.Cancel>
            <Button
              variant={tone}
              busy={busy}
              onClick={() => void act()}
              className="h-auto! min-h-9 py-1.5 whitespace-normal!"
            >
              {consequence}
            </Button>
          </div>
        </AlertDialog.Content>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  );
}
