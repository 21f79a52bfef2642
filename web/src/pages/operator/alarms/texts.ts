import { defineTexts } from "@/text";

export const alarmsTexts = defineTexts(
  {
    title: "Alarms",
    lead: "Conditions that need a person. An alarm ends by itself when its condition is gone.",
    columns: { name: "Alarm", subject: "About", summary: "What happens", state: "Status", changed: "Since" },
    firing: "Firing",
    over: "Over",
    empty: "No alarms",
    emptyText: "Lost credentials, money at risk, calls sold below cost and unreachable engines appear here.",
    whatToDo: "What to do",
    all: "all nodes",
  },
  {
    title: "告警",
    lead: "需要人工处理的情况。情况消除后告警自动结束。",
    columns: { name: "告警", subject: "对象", summary: "情况", state: "状态", changed: "自" },
    firing: "触发中",
    over: "已结束",
    empty: "没有告警",
    emptyText: "凭证失效、资金风险、低于成本的调用和不可用的组件会显示在这里。",
    whatToDo: "如何处理",
    all: "所有节点",
  },
);
