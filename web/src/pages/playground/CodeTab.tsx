/** The same call from a program. The key stays hidden until it is asked for. */
import { useState } from "react";
import { Code, Link, Segments } from "@/kit";
import { useTexts } from "@/text";
import { type Call, CODE_LANGUAGES, type CodeLanguage, codeFor } from "./code";
import { heldKey } from "./dataPlaneClient";
import { playgroundTexts } from "./texts";

/** Stands in code where no key was made yet. */
const KEY_VARIABLE = "YOUR_TRUNKLINE_KEY";

export function CodeTab({ call }: { call: Call | null }) {
  const t = useTexts(playgroundTexts);
  const [language, setLanguage] = useState<CodeLanguage>("curl");
  const key = heldKey();
  if (call === null) return null;
  const text = codeFor(language, call, key ?? KEY_VARIABLE);
  return (
    <>
      <div className="mb-3 flex flex-wrap items-center justify-between gap-3">
        <p className="text-ink-2">{t.codeLead}</p>
        <Segments
          label={t.tabs.code}
          value={language}
          onChange={setLanguage}
          options={CODE_LANGUAGES.map((value) => ({ value, label: t.languages[value] }))}
        />
      </div>
      <Code
        language={t.codeNeeds[language] === "" ? t.languages[language] : t.codeNeeds[language]}
        text={text}
        secret={key ?? undefined}
        tall
      />
      <p className="mt-3 text-xs text-ink-3">
        {t.codeKey}{" "}
        <Link href="/keys/new" className="text-accent-ink underline underline-offset-2">
          {t.codeMakeKey}
        </Link>
      </p>
    </>
  );
}
