import { defineTexts } from "@/text";

export const emailsTexts = defineTexts(
  {
    title: "Letters",
    lead: "Mails this server wants to send. Where no mail server takes them, pass the link on yourself.",
    noMail: "No mail server is configured: letters are kept here. Set console.smtp to send them.",
    columns: { to: "To", kind: "What for", state: "State", created: "Written", expires: "Works until", link: "Link" },
    kinds: { verify: "Confirm address", reset: "Reset password", invitation: "Invitation" },
    states: { waiting: "Waiting", sent: "Sent", failed: "Failed", kept: "Kept" },
    copyLink: (to: string) => `Copy link for ${to}`,
    copy: "Copy link",
    secret: "Whoever has a link can use it once. Give it only to the person it is for.",
    empty: "No letters",
    emptyText: "Invitations, confirmations and password resets appear here when somebody asks for one.",
    operatorsOnly: "Only operators see letters",
    operatorsOnlyText: "Ask the operator of this server if you wait for one.",
  },
  {
    title: "信件",
    lead: "服务器要发送的邮件。没有邮件服务器时，请自行转交链接。",
    noMail: "尚未配置邮件服务器：信件保留在此。设置 console.smtp 后即可发送。",
    columns: { to: "收件人", kind: "用途", state: "状态", created: "写于", expires: "有效期至", link: "链接" },
    kinds: { verify: "验证邮箱", reset: "重置密码", invitation: "邀请" },
    states: { waiting: "等待", sent: "已发送", failed: "失败", kept: "保留" },
    copyLink: (to: string) => `复制给 ${to} 的链接`,
    copy: "复制链接",
    secret: "持有链接的人可以使用一次。请只交给本人。",
    empty: "没有信件",
    emptyText: "有人请求邀请、验证或重置密码时，信件会出现在这里。",
    operatorsOnly: "只有运营者能查看信件",
    operatorsOnlyText: "如果你在等一封信，请询问此服务器的运营者。",
  },
);
