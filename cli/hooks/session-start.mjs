#!/usr/bin/env node
// A SessionStart hook of Claude Code: tells chat-recovery which process drives the session (`chat-recovery hooks` installs it).
// Prints nothing (what a SessionStart hook prints goes to the model), ends well within two seconds, and always with 0.
import { readFileSync } from 'node:fs';

const ANSWER_WITHIN_MS = 1_500;
const [url = '', tokenVariable = ''] = process.argv.slice(2);

/** The process's start in ticks since boot: with the number alone a later process could be taken for it. */
function startTicks(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null;
  } catch {
    return null; // No /proc here.
  }
}

async function tell() {
  const payload = JSON.parse(readFileSync(0, 'utf8'));
  const pid = Number(process.env['CLAUDE_PID']);
  if (Number.isInteger(pid) && pid > 0) payload.claude_process = { pid, startTicks: startTicks(pid) };
  const token = process.env[tokenVariable];
  await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(token ? { authorization: `Bearer ${token}` } : {}) },
    body: JSON.stringify(payload),
    signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
  });
}

const leave = () => process.exit(0);
tell().then(leave, leave);
