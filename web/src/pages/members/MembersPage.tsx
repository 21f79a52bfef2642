import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Ellipsis, LogOut, UserMinus, UserPlus } from "lucide-react";
import { useState } from "react";
import { api, type Invitation, type Member, type Role } from "@/api";
import { SESSION_KEY, useRight, useSession } from "@/app/session";
import { appTexts } from "@/app/texts";
import {
  Badge,
  Button,
  type Column,
  Confirm,
  DataTable,
  Empty,
  IconButton,
  Menu,
  Page,
  Section,
  Select,
  toast,
  useGo,
  useSearch,
  When,
} from "@/kit";
import { useTexts } from "@/text";
import { InviteDialog } from "./InviteDialog";
import { ROLES } from "./roles";
import { membersTexts } from "./texts";

interface Answer {
  data: Member[];
  invitations: Invitation[];
}

export default function MembersPage() {
  const t = useTexts(membersTexts);
  const { account } = useSession();
  const may = useRight("members.write");
  const [search, setSearch] = useSearch();
  const [leaving, setLeaving] = useState<Member | null>(null);
  const { data, error, refetch } = useQuery({
    queryKey: ["members"],
    queryFn: ({ signal }) => api.get<Answer>("/api/members", { signal }),
  });
  const inviteButton = may && (
    <Button variant="primary" icon={<UserPlus aria-hidden />} onClick={() => setSearch({ invite: 1 })}>
      {t.invite}
    </Button>
  );
  return (
    <Page title={t.title} lead={t.lead(account?.name ?? "")} action={inviteButton}>
      <DataTable
        label={t.title}
        columns={useColumns(setLeaving)}
        rows={data?.data}
        error={error}
        retry={() => void refetch()}
        rowKey={(row) => row.id}
        skeletonRows={4}
        cardFields={["name", "role", "seen", "actions"]}
        empty={<Empty title={t.alone} text={t.aloneText} />}
      />
      {data !== undefined && data.data.length === 1 && data.invitations.length === 0 && (
        <p className="mt-3 text-xs text-ink-3">{t.aloneNote}</p>
      )}
      {data !== undefined && data.invitations.length > 0 && <Invitations invitations={data.invitations} />}
      {may && <InviteDialog open={search["invite"] !== undefined} onClose={() => setSearch({ invite: undefined })} />}
      <Leave member={leaving} onClose={() => setLeaving(null)} />
    </Page>
  );
}

function useColumns(onLeave: (member: Member) => void): Column<Member>[] {
  const t = useTexts(membersTexts);
  const may = useRight("members.write");
  return [
    {
      id: "name",
      head: t.columns.name,
      primary: true,
      cell: (row) => (
        <span className="flex min-w-0 flex-wrap items-center gap-x-2 gap-y-0.5 py-1">
          <span className="max-w-full truncate">{row.name === "" ? row.email : row.name}</span>
          {row.you && <Badge>{t.you}</Badge>}
          {row.name !== "" && (
            <span className="w-full max-w-full truncate text-xs font-normal text-ink-3">{row.email}</span>
          )}
        </span>
      ),
    },
    { id: "role", head: t.columns.role, cell: (row) => <RoleCell member={row} />, width: 170, bare: true },
    {
      id: "seen",
      head: t.columns.seen,
      cell: (row) => (row.last_seen_at === null ? t.never : <When at={row.last_seen_at} />),
      width: 150,
    },
    { id: "joined", head: t.columns.joined, cell: (row) => <When at={row.joined_at} />, width: 150 },
    {
      id: "actions",
      head: t.columns.actions,
      align: "right",
      width: 56,
      cell: (row) =>
        may || row.you ? (
          <Menu
            trigger={
              <IconButton
                label={t.actionsFor(row.name === "" ? row.email : row.name)}
                icon={<Ellipsis aria-hidden />}
              />
            }
            items={[
              {
                label: row.you ? t.leave : t.remove,
                icon: row.you ? <LogOut aria-hidden /> : <UserMinus aria-hidden />,
                danger: true,
                onSelect: () => onLeave(row),
              },
            ]}
          />
        ) : null,
    },
  ];
}

function RoleCell({ member }: { member: Member }) {
  const t = useTexts(membersTexts);
  const roles = useTexts(appTexts).roles;
  const { account } = useSession();
  const may = useRight("members.write");
  const client = useQueryClient();
  const name = member.name === "" ? member.email : member.name;
  const change = useMutation({
    mutationFn: (role: Role) => api.patch<Member>(`/api/members/${member.id}`, { role }),
    onSuccess: (changed) => {
      toast(t.changed(name, roles[changed.role]));
      void client.invalidateQueries({ queryKey: ["members"] });
      if (member.you) void client.invalidateQueries({ queryKey: SESSION_KEY });
    },
    onError: (problem) => toast(problem.message, "bad"),
  });
  const owner = account?.role === "owner";
  // An admin may do everything but touch owners.
  if (!may || (member.role === "owner" && !owner))
    return <span data-tip={t.roleMeans[member.role]}>{roles[member.role]}</span>;
  return (
    <Select
      size="small"
      className="h-7! min-w-32"
      aria-label={t.roleOf(name)}
      value={change.isPending ? (change.variables ?? member.role) : member.role}
      disabled={change.isPending}
      onChange={(role) => change.mutate(role)}
      options={ROLES.filter((role) => role !== "owner" || owner).map((value) => ({
        value,
        label: roles[value],
        hint: t.roleMeans[value],
      }))}
    />
  );
}

function Leave({ member, onClose }: { member: Member | null; onClose: () => void }) {
  const t = useTexts(membersTexts);
  const { account } = useSession();
  const client = useQueryClient();
  const go = useGo();
  const name = member === null ? "" : member.name === "" ? member.email : member.name;
  const you = member?.you === true;
  return (
    <Confirm
      open={member !== null}
      onClose={onClose}
      title={you ? t.leaveTitle(account?.name ?? "") : t.removeTitle(name)}
      consequence={you ? t.leave : t.removeDo(name)}
      onConfirm={async () => {
        if (member === null) return;
        await api.delete(`/api/members/${member.id}`);
        if (you) {
          await client.invalidateQueries();
          go("/");
        } else {
          await client.invalidateQueries({ queryKey: ["members"] });
          toast(t.removed(name));
        }
      }}
    >
      {you ? t.leaveText : t.removeText}
    </Confirm>
  );
}

function Invitations({ invitations }: { invitations: Invitation[] }) {
  const t = useTexts(membersTexts);
  const roles = useTexts(appTexts).roles;
  const may = useRight("members.write");
  const client = useQueryClient();
  const [taking, setTaking] = useState<Invitation | null>(null);
  return (
    <Section title={t.invitations} lead={t.invitationsText}>
      <ul className="rounded-card border border-line bg-surface">
        {invitations.map((one) => (
          <li key={one.id} className="flex items-center gap-3 border-b border-line px-4 py-2.5 last:border-b-0">
            <div className="min-w-0 flex-1">
              <div className="truncate font-medium">{one.email}</div>
              <div className="flex flex-wrap gap-x-3 text-xs text-ink-3">
                <span>{roles[one.role]}</span>
                <span className="max-w-full truncate">{t.invitedBy(one.invited_by)}</span>
                <span>
                  {t.until} <When at={one.expires_at} />
                </span>
              </div>
            </div>
            {may && (
              <Button size="small" onClick={() => setTaking(one)}>
                {t.withdraw}
              </Button>
            )}
          </li>
        ))}
      </ul>
      <Confirm
        open={taking !== null}
        onClose={() => setTaking(null)}
        title={t.withdrawTitle}
        consequence={t.withdrawDo}
        onConfirm={async () => {
          if (taking === null) return;
          await api.delete(`/api/members/invitations/${taking.id}`);
          await client.invalidateQueries({ queryKey: ["members"] });
          toast(t.withdrawn);
        }}
      >
        {taking !== null && t.withdrawText(taking.email)}
      </Confirm>
    </Section>
  );
}
