import { defineTexts } from "@/text";

export const emailsTexts = defineTexts(
  {
    title: "Outgoing email",
    lead: "Emails that are queued or could not be sent. Copy a link to share it yourself.",
    noMail: "No mail server is configured; emails are queued here. Set mail.smtp to send them.",
    columns: { to: "To", kind: "Type", state: "Status", created: "Created", expires: "Expires", link: "Link" },
    kinds: { verify: "Verify email", reset: "Reset password", invitation: "Invitation" },
    states: { waiting: "Queued", sent: "Sent", failed: "Failed", kept: "Not sent" },
    copyLink: (to: string) => `Copy link for ${to}`,
    copy: "Copy link",
    secret: "Each link works once for anyone who has it. Share it only with its recipient.",
    empty: "No emails",
    emptyText: "Invitations, email verifications and password resets appear here.",
    operatorsOnly: "Operators only",
    operatorsOnlyText: "Ask the operator of this server if you are expecting an email.",
  },
  {
    title: "外发邮件",
    lead: "排队中或未能发送的邮件。可复制链接自行转交。",
    noMail: "尚未配置邮件服务器，邮件在此排队。设置 mail.smtp 后即可发送。",
    columns: { to: "收件人", kind: "类型", state: "状态", created: "创建时间", expires: "有效期至", link: "链接" },
    kinds: { verify: "验证邮箱", reset: "重置密码", invitation: "邀请" },
    states: { waiting: "排队中", sent: "已发送", failed: "失败", kept: "未发送" },
    copyLink: (to: string) => `复制给 ${to} 的链接`,
    copy: "复制链接",
    secret: "任何持有链接的人都可使用一次，请只转交给收件人。",
    empty: "没有邮件",
    emptyText: "邀请、邮箱验证和密码重置邮件会显示在这里。",
    operatorsOnly: "仅限运营者",
    operatorsOnlyText: "如果您在等待邮件，请联系此服务器的运营者。",
  },
);
