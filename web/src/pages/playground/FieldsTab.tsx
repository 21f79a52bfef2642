/** What becomes of each field, why, and one button that mends it. */
import { CircleCheck, CircleMinus, PencilLine, Plus, Wrench } from "lucide-react";
import type { ReactNode } from "react";
import { Badge, Button, format, type Tone } from "@/kit";
import { useTexts } from "@/text";
import type { Body } from "./forms";
import { InlineCode } from "./InlineCode";
import { type Fate, type FieldReport, type Fix, fixOf, type Quote } from "./quote";
import { playgroundTexts } from "./texts";

const TONES: Record<Fate, Tone> = { read: "ok", defaulted: "info", rewritten: "warn", ignored: "warn" };
const ICONS: Record<Fate, ReactNode> = {
  read: <CircleCheck aria-hidden />,
  defaulted: <Plus aria-hidden />,
  rewritten: <PencilLine aria-hidden />,
  ignored: <CircleMinus aria-hidden />,
};
const ORDER: Fate[] = ["ignored", "rewritten", "defaulted", "read"];

/** How many fields want a look: for the mark on the tab. */
export function troubled(fields: FieldReport[]): number {
  return fields.filter(
    (field) => field.fate === "ignored" || field.fate === "rewritten" || field.code === "unknown_field",
  ).length;
}

export function FieldsTab(props: { quote: Quote | null; body: Body | null; hint: string; onFix: (fix: Fix) => void }) {
  const { quote, body, hint, onFix } = props;
  const t = useTexts(playgroundTexts);
  if (quote === null) return <p className="py-6 text-center text-ink-3">{hint}</p>;
  const plain = quote.fields.filter((field) => field.fate === "read" && field.code === undefined);
  const rest = quote.fields
    .filter((field) => !plain.includes(field))
    .sort((a, b) => ORDER.indexOf(a.fate) - ORDER.indexOf(b.fate));
  return (
    <>
      <p className="mb-3 text-ink-2">{rest.length === 0 ? t.fieldsOk : t.fieldsLead}</p>
      <ul className="divide-y divide-line border-y border-line">
        {rest.map((field) => (
          <li key={field.field} className="py-3">
            <Report field={field} fix={body === null ? null : fixOf(field, body)} onFix={onFix} />
          </li>
        ))}
        {plain.length > 0 && (
          <li className="flex flex-wrap items-center gap-2 py-3">
            <span data-tip={t.fateHints.read}>
              <Badge tone="ok" icon={ICONS.read}>
                {t.fates.read}
              </Badge>
            </span>
            {plain.map((field) => (
              <span key={field.field} className="num text-[13px] text-ink-2">
                {field.field}
              </span>
            ))}
          </li>
        )}
      </ul>
    </>
  );
}

function Report({ field, fix, onFix }: { field: FieldReport; fix: Fix | null; onFix: (fix: Fix) => void }) {
  const t = useTexts(playgroundTexts);
  return (
    <div className="flex flex-wrap items-start justify-between gap-x-4 gap-y-2">
      <div className="min-w-0 flex-1 basis-64">
        <div className="flex flex-wrap items-center gap-2">
          <span data-tip={t.fateHints[field.fate]}>
            <Badge tone={field.code === "unknown_field" ? "warn" : TONES[field.fate]} icon={ICONS[field.fate]}>
              {t.fates[field.fate]}
            </Badge>
          </span>
          <span className="num min-w-0 font-medium [overflow-wrap:anywhere] text-ink">{field.field}</span>
          {field.value !== undefined && (
            <span className="num min-w-0 [overflow-wrap:anywhere] text-ink-2">{field.value}</span>
          )}
        </div>
        {field.reason !== undefined && (
          <p className="mt-1 text-[13px] text-ink-2">
            <InlineCode text={format.sentence(field.reason)} />
            {field.fix !== undefined && (
              <span className="text-ink-3">
                {" "}
                <InlineCode text={format.sentence(field.fix)} />
              </span>
            )}
          </p>
        )}
      </div>
      {fix !== null && (
        <Button size="small" icon={<Wrench aria-hidden />} className="max-w-full" onClick={() => onFix(fix)}>
          <span className="truncate">{t.fix[fix.what](fix.text)}</span>
        </Button>
      )}
    </div>
  );
}
