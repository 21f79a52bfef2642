import { ChartColumn, Table2 } from "lucide-react";
import { type ReactNode, Suspense, useState } from "react";
import { useTexts } from "@/text";
import { IconButton } from "../Button";
import { SkeletonChart } from "../states";
import { kitTexts } from "../texts";

export interface Tabular {
  head: readonly ReactNode[];
  rows: readonly { key: string; cells: readonly string[] }[];
}
/** What every chart has around it: its name for a screen reader, a legend, and the same numbers as a table. */
export function ChartFrame(props: {
  label: string;
  height: number;
  legend?: ReactNode;
  table: Tabular;
  children: ReactNode;
}) {
  const t = useTexts(kitTexts);
  const [asTable, setAsTable] = useState(false);
  return (
    <figure
      aria-label={props.label}
      // The browser rings a drawing that was clicked; only who comes by keyboard needs to see where they are.
      className="m-0 min-w-0 [&_svg_:focus:not(:focus-visible)]:outline-none [&_svg:focus:not(:focus-visible)]:outline-none"
    >
      <div className="mb-2 flex min-h-8 items-start justify-between gap-3">
        <div className="min-w-0 flex-1 pt-1.5">{props.legend}</div>
        <IconButton
          label={asTable ? t.chart : t.table}
          aria-pressed={asTable}
          icon={asTable ? <ChartColumn aria-hidden /> : <Table2 aria-hidden />}
          onClick={() => setAsTable(!asTable)}
        />
      </div>
      <div style={{ height: props.height }} className="min-w-0">
        {asTable ? (
          // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
          <div className="h-full overflow-auto" tabIndex={0}>
            <table className="w-full border-separate border-spacing-0 text-[13px]">
              <thead>
                <tr>
                  {props.table.head.map((head, index) => (
                    <th
                      // biome-ignore lint/suspicious/noArrayIndexKey: the columns of a table never change places
                      key={index}
                      scope="col"
                      className="sticky top-0 border-b border-line bg-surface px-3 py-1.5 text-right text-xs font-medium whitespace-nowrap text-ink-3 first:pl-0 first:text-left"
                    >
                      {head}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {props.table.rows.map((row) => (
                  <tr key={row.key}>
                    {row.cells.map((cell, index) => (
                      <td
                        // biome-ignore lint/suspicious/noArrayIndexKey: the columns of a table never change places
                        key={index}
                        className="num border-b border-line px-3 py-1.5 text-right whitespace-nowrap text-ink-2 first:pl-0 first:text-left first:font-sans"
                      >
                        {cell}
                      </td>
                    ))}
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        ) : (
          <Suspense
            fallback={
              <div data-coming>
                <SkeletonChart height={props.height} />
              </div>
            }
          >
            {props.children}
          </Suspense>
        )}
      </div>
    </figure>
  );
}

export function Legend({
  entries,
  onPick,
}: {
  entries: readonly { name: string; label: string; colour: string }[];
  onPick?: ((name: string) => void) | undefined;
}) {
  return (
    <ul className="flex flex-wrap gap-x-4 gap-y-1 text-xs text-ink-2">
      {entries.map((entry) => {
        const inside = (
          <>
            <span aria-hidden className="size-2 shrink-0 rounded-[2px]" style={{ background: entry.colour }} />
            <span className="max-w-48 truncate">{entry.label}</span>
          </>
        );
        return (
          <li key={entry.name} className="min-w-0">
            {onPick === undefined ? (
              <span className="flex items-center gap-1.5">{inside}</span>
            ) : (
              <button
                type="button"
                className="flex items-center gap-1.5 rounded hover:text-ink hover:underline"
                onClick={() => onPick(entry.name)}
              >
                {inside}
              </button>
            )}
          </li>
        );
      })}
    </ul>
  );
}
