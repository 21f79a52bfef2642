import { defineTexts } from "@/text";

export const alarmsTexts = defineTexts(
  {
    title: "Alarms",
    lead: "Problems that need attention. An alarm is resolved automatically when its condition ends.",
    columns: { name: "Alarm", subject: "Subject", summary: "Details", state: "Status", changed: "Since" },
    firing: "Firing",
    over: "Resolved",
    empty: "No alarms",
    emptyText: "Rejected credentials, money at risk, calls sold below cost and unreachable services appear here.",
    whatToDo: "What to do",
    all: "All nodes",
  },
  {
    title: "告警",
    lead: "需要处理的问题。问题消除后告警自动解除。",
    columns: { name: "告警", subject: "对象", summary: "详情", state: "状态", changed: "状态变更" },
    firing: "触发中",
    over: "已解除",
    empty: "没有告警",
    emptyText: "凭证被拒、资金风险、低于成本的调用和无法连接的服务会显示在这里。",
    whatToDo: "如何处理",
    all: "所有节点",
  },
);
