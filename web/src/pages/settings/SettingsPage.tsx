import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, type ReactNode, useState } from "react";
import { type AccountRef, ApiError, api, type Session } from "@/api";
import { SESSION_KEY, useRight, useSession } from "@/app/session";
import { appTexts } from "@/app/texts";
import { setTheme, type ThemeChoice, useTheme } from "@/app/theme";
import { Badge, Button, Field, Input, Page, Problem, Segments, toast } from "@/kit";
import { PasswordField } from "@/pages/sign-in/parts";
import { type LanguageChoice, setLanguage, useLanguageChoice, useTexts } from "@/text";
import { Devices } from "./Devices";
import { Routes } from "./Routes";
import { settingsTexts } from "./texts";

export default function SettingsPage() {
  const t = useTexts(settingsTexts);
  const session: Session = useSession();
  return (
    <Page title={t.title} lead={t.lead}>
      <div className="divide-y divide-line">
        <Part title={t.profile} text={t.profileText}>
          <Profile />
        </Part>
        <Part title={t.organisation} text={t.organisationText}>
          <Organisation />
        </Part>
        <Part title={t.routes} text={t.routesText}>
          <Routes />
        </Part>
        <Part title={t.password} text={t.passwordText}>
          <Password />
        </Part>
        {session.second_factor != null && (
          <Part title={t.secondFactor} text={t.secondFactorText}>
            <div className="flex items-center gap-3">
              <Badge tone={session.second_factor.is_enabled ? "ok" : "neutral"}>
                {session.second_factor.is_enabled ? t.secondFactorOn : t.secondFactorOff}
              </Badge>
              <Button href="/settings/second-factor">
                {session.second_factor.is_enabled ? t.secondFactorManage : t.secondFactorSetUp}
              </Button>
            </div>
          </Part>
        )}
        <Part title={t.look} text={t.lookText}>
          <Look />
        </Part>
        <Part title={t.devices} text={t.devicesText} wide>
          <Devices />
        </Part>
      </div>
    </Page>
  );
}

/** What it is at the left, the form at the right. */
function Part({
  title,
  text,
  children,
  wide = false,
}: {
  title: string;
  text: string;
  children: ReactNode;
  wide?: boolean;
}) {
  return (
    <section className="grid gap-x-12 gap-y-4 py-8 first:pt-2 lg:grid-cols-[260px_minmax(0,1fr)]">
      <div>
        <h2 className="font-semibold">{title}</h2>
        <p className="mt-1 text-ink-2">{text}</p>
      </div>
      <div className={wide ? "min-w-0" : "max-w-md min-w-0"}>{children}</div>
    </section>
  );
}

function onSubmit(act: () => void) {
  return (event: FormEvent) => {
    event.preventDefault();
    act();
  };
}

function Profile() {
  const t = useTexts(settingsTexts);
  const { person } = useSession();
  const client = useQueryClient();
  const [name, setName] = useState(person?.name ?? "");
  const save = useMutation({
    mutationFn: () => api.patch<Session>("/api/person", { name: name.trim() }),
    onSuccess: (session) => {
      client.setQueryData(SESSION_KEY, session);
      toast(t.saved);
    },
  });
  if (person === null) return null;
  return (
    <form className="space-y-4" onSubmit={onSubmit(() => save.mutate())}>
      <Field label={t.name} error={fieldError(save.error, "name")}>
        <Input name="name" autoComplete="name" value={name} onChange={(event) => setName(event.target.value)} />
      </Field>
      <Field
        label={t.email}
        aside={
          person.email_verified ? <Badge tone="ok">{t.verified}</Badge> : <Badge tone="warn">{t.unverified}</Badge>
        }
      >
        <Input value={person.email} readOnly disabled />
      </Field>
      <Rest error={save.error} params={["name"]} />
      <Button type="submit" busy={save.isPending} disabled={name.trim() === "" || name.trim() === person.name}>
        {t.save}
      </Button>
    </form>
  );
}

function Organisation() {
  const t = useTexts(settingsTexts);
  const { account } = useSession();
  const may = useRight("account.write");
  const client = useQueryClient();
  const [name, setName] = useState(account?.name ?? "");
  const save = useMutation({
    mutationFn: () => api.patch<AccountRef>("/api/account", { name: name.trim() }),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: SESSION_KEY });
      toast(t.saved);
    },
  });
  if (account === null) return null;
  return (
    <form className="space-y-4" onSubmit={onSubmit(() => save.mutate())}>
      <Field
        label={t.organisationName}
        error={fieldError(save.error, "name")}
        hint={may ? undefined : t.organisationMay}
      >
        <Input
          name="organisation"
          autoComplete="off"
          value={name}
          disabled={!may}
          onChange={(event) => setName(event.target.value)}
        />
      </Field>
      <Rest error={save.error} params={["name"]} />
      {may && (
        <Button type="submit" busy={save.isPending} disabled={name.trim() === "" || name.trim() === account.name}>
          {t.save}
        </Button>
      )}
    </form>
  );
}

function Password() {
  const t = useTexts(settingsTexts);
  const { person } = useSession();
  const client = useQueryClient();
  const [current, setCurrent] = useState("");
  const [password, setPassword] = useState("");
  const change = useMutation({
    mutationFn: () => api.post("/api/password/change", { current, password }),
    onSuccess: () => {
      setCurrent("");
      setPassword("");
      toast(t.changed);
      void client.invalidateQueries({ queryKey: ["sessions"] });
    },
  });
  if (person === null) return null;
  if (!person.has_password) {
    return (
      <div className="space-y-4">
        <p className="text-ink-2">{t.noPassword}</p>
        <Button href="/forgot">{t.forgot}</Button>
      </div>
    );
  }
  return (
    <form className="space-y-4" onSubmit={onSubmit(() => change.mutate())}>
      <input type="email" name="email" autoComplete="username" value={person.email} readOnly hidden />
      <PasswordField
        label={t.current}
        value={current}
        onChange={setCurrent}
        error={fieldError(change.error, "current")}
      />
      <PasswordField
        fresh
        label={t.next}
        value={password}
        onChange={setPassword}
        known={[person.email, person.name]}
        error={fieldError(change.error, "password")}
      />
      <Rest error={change.error} params={["current", "password"]} />
      <Button type="submit" busy={change.isPending} disabled={current === "" || password === ""}>
        {t.change}
      </Button>
    </form>
  );
}

function Look() {
  const t = useTexts(settingsTexts);
  const words = useTexts(appTexts);
  const theme = useTheme();
  const language = useLanguageChoice();
  const themes: ThemeChoice[] = ["system", "light", "dark"];
  const languages: LanguageChoice[] = ["browser", "en", "zh"];
  return (
    <div className="space-y-5">
      <div>
        <div className="mb-1.5 font-medium">{t.theme}</div>
        <Segments
          label={t.theme}
          value={theme}
          onChange={setTheme}
          options={themes.map((value) => ({ value, label: words.themes[value] }))}
        />
      </div>
      <div>
        <div className="mb-1.5 font-medium">{t.language}</div>
        <Segments
          label={t.language}
          value={language}
          onChange={setLanguage}
          options={languages.map((value) => ({ value, label: words.languages[value] }))}
        />
      </div>
    </div>
  );
}

function fieldError(error: unknown, param: string): string | undefined {
  return error instanceof ApiError && error.param === param ? error.message : undefined;
}
/** The problem, unless one of the fields already shows it. */
function Rest({ error, params }: { error: unknown; params: readonly string[] }) {
  if (error === null || (error instanceof ApiError && error.param !== null && params.includes(error.param)))
    return null;
  return <Problem error={error} compact />;
}
